"""Which property a question is about: every word votes, those that ask more than those beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agenticiqa.models.offline.language.meaning.asking import AskedText
from agenticiqa.models.offline.language.meaning.properties import GENERAL, HINT, Property, properties, senses
from agenticiqa.models.offline.language.meaning.scales import plain, words_in
from agenticiqa.models.offline.language.tokens import base_forms
from agenticiqa.models.offline.language.word_lists import word_set

# What a word in an option counts; general ones hardly, where the question names anything.
_IN_OPTIONS, _GENERAL_IN_OPTIONS, _MOST_IN_OPTIONS = 0.45, 0.1, 2.0
_SEVERAL_FLAWS = 1.6
# Said again, and said first: of two words of the same weight the first is the predicate more often.
# "Is the pattern resolved?" is about resolving.
_AGAIN, _FIRST, _CLAIM = 0.1, 0.04, 0.06
_PLAINLY = 0.8
_STRONGLY = 1.0

CHOOSING = word_set("which what following except one kind sort type whats")
_CAUSING = word_set(
    "cause affect reduce degrade spoil hurt harm limit damage impair ruin lower make responsible reason explain prevent"
)
_TRUE_TO_LIFE = word_set("natural unnatural realistic unrealistic")
_LIT = ("bright", "well_exposed", "evenly_lit", "contrasty", "colour_scheme", "colour_cast", "composition")
_OF_PICTURES = word_set("print enough example shape job way capture idea condition use work one")
# What is counted in a picture as a picture.
_COUNTED = ("flaw_count", "flaw", "quality", "resolution", "file_format", "printable", "colour_scheme", "aspect")
_RATING = word_set("rate score grade scale mark rating")
# Without a word for a property these ask for a verdict on the whole.
_JUDGING = word_set("assess assessment evaluate evaluation judge judgement opinion think thoughts verdict")
_SCALE = re.compile(
    r"\b(?:how many|in|five|ten|of) (?:stars|points)\b|\bstars (?:out )?of\b|"
    r"\b(?:between|from) \w+ (?:and|to) \d+\b|\bout of (?:\d+|five|ten|a hundred)\b|\bper ?cent\b|\bquality factor\b"
)


def property_asked(text: AskedText) -> Property | None:
    """The property with the most votes; None for what is not asked of a picture as a picture."""
    said = _votes_of_question(text)
    claimed = claimed_by_options(text.options)
    votes = dict(said)
    for name, weight in claimed.items():
        each = _GENERAL_IN_OPTIONS if said and properties()[name].weight < GENERAL else _IN_OPTIONS
        votes[name] = votes.get(name, 0) + each * min(_MOST_IN_OPTIONS, weight)
    if _offers_flaws(text, claimed, said):
        votes["flaw"] = votes.get("flaw", 0) + _SEVERAL_FLAWS
    best = max(votes, key=lambda name: votes[name], default=None)
    if best is None:
        judged = asks_rating(text) or bool(_JUDGING & set(text.plain))
        only = "quality" if judged else "flaw" if text.says("advice") else _by_degrees(text)
        return properties()[only] if only else None
    if votes[best] <= HINT or _is_outside(text, said) or _counts_things(text, best):
        return None
    return properties()[_of_family(text, best, claimed, said)]


def asks_rating(text: AskedText) -> bool:
    return bool(_RATING & set(text.plain)) or bool(_SCALE.search(" ".join(text.words)))


def claimed_by_options(options: Mapping[str, str]) -> dict[str, float]:
    """How strongly the options speak of each property."""
    claimed: dict[str, float] = {}
    for text in options.values():
        best: dict[str, float] = {}
        for sense in senses(words_in(text)):
            best[sense.property] = max(best.get(sense.property, 0), sense.weight)
        for name, weight in best.items():
            claimed[name] = claimed.get(name, 0) + weight
    return claimed


def _votes_of_question(text: AskedText) -> dict[str, float]:
    votes: dict[str, float] = {}
    first = next((sense for sense in text.senses if text.is_asked(sense) and sense.weight > HINT), None)
    for sense in text.senses:
        claims = bool(sense.end) and not sense.is_name and text.is_asked(sense)
        bonus = (_FIRST if sense is first else 0) + (_CLAIM if claims else 0)
        weight = (sense.weight + bonus) * text.standing(sense)
        known = votes.get(sense.property)
        votes[sense.property] = weight if known is None else max(known, weight) + _AGAIN
    return votes


def _offers_flaws(text: AskedText, claimed: Mapping[str, float], said: Mapping[str, float]) -> bool:
    """Several kinds of damage to choose from, and nothing else that is asked about."""
    flaws = {name for name in claimed if properties()[name].good == "little" or name in ("sharp", "in_focus")}
    plainly = {name for name, weight in said.items() if weight >= _PLAINLY and properties()[name].weight >= GENERAL}
    if len(flaws) < 2:
        return False
    # "Is it blurry or compressed?" offers what it names.
    offered = "or" in text.plain and plainly == flaws == set(claimed) and not {"both", "only"} & set(text.plain)
    return offered or _asks_cause(text) or (bool(CHOOSING & set(text.plain)) and not plainly)


def _asks_cause(text: AskedText) -> bool:
    """ "What makes the sign hard to read?": with flaws to choose from, the one that does it is wanted."""
    said = {form for word in text.plain for form in base_forms(word)}
    return (bool({"what", "which"} & set(text.plain[:3])) and bool(said & _CAUSING)) or text.plain[:1] == ["why"]


def _is_outside(text: AskedText, said: Mapping[str, float]) -> bool:
    """Who, when, how much it costs: nothing that is asked of the picture as a picture."""
    return not any(weight > _STRONGLY for weight in said.values()) and text.says("outside")


def _counts_things(text: AskedText, best: str) -> bool:
    """ "How many people are clearly visible?" asks for a number of things, whatever else it says of them."""
    return text.plain[:2] == ["how", "many"] and best not in _COUNTED


def praised_thing(text: AskedText, asked: Property) -> str | None:
    """ "A good sense of space": praise of something that nobody reads is not praise of the picture."""
    if asked.name != "quality":
        return None
    praise = [s for s in text.senses_of(asked) if s.end and not s.is_name and text.is_asked(s)]
    if len(praise) != 1 or len(praise[0]) != 1 or any(s.is_name for s in text.senses_of(asked)):
        return None
    at = text.item_of[praise[0].start] + 1
    item = text.items[at] if at < text.stop else None
    if item is None or item.tag not in ("abstract", "unknown") or item.plain in _OF_PICTURES:
        return None
    return item.plain.removesuffix(" of")


def _by_degrees(text: AskedText) -> str | None:
    """ "Under, over, or about right?": no word for a property, but answers that only one of them has."""
    said = [plain(option) for option in text.options.values()]
    for each in properties().values():
        if said and all(answer in each.degrees for answer in said) and len({each.degrees[a] for a in said}) > 1:
            return each.name
    return None


def _of_family(text: AskedText, name: str, claimed: Mapping[str, float], said: Mapping[str, float]) -> str:
    """The neighbour that is meant.

    "The exposure? Over, under, correct" lies on the axis of brightness; "neither too dark nor too bright" asks
    whether the exposure is right.
    """
    nearer = _given_way_to(text, name, claimed, said) or _meant_by_predicate(text, name, said)
    if nearer:
        return nearer
    for each in properties().values():
        if each.between and each.between <= set(said) and "and" not in text.plain:
            return each.name
    if _claims_end(text, name):
        return name
    for wider in properties().values():
        family = name == wider.name or name in wider.implied_by
        if wider.good == "middle" and family and {0, 1} <= _ends_offered(text, wider, claimed):
            return wider.name
    return name


def _given_way_to(text: AskedText, name: str, claimed: Mapping[str, float], said: Mapping[str, float]) -> str | None:
    """The one neighbour that the question or its options speak of; of two that are offered neither is asked about."""
    answers = [plain(option) for option in text.options.values()]
    meant = [
        other
        for other in properties()[name].gives_way_to
        if other in claimed
        or other in said
        or (answers and all(answer in properties()[other].degrees for answer in answers))
    ]
    return meant[0] if len(meant) == 1 else None


def _meant_by_predicate(text: AskedText, name: str, said: Mapping[str, float]) -> str | None:
    """ "Do the skin tones look natural?" is about colours, "Is the lighting dramatic?" about the mood."""
    if name == "real" and said.get("colour_cast", 0) >= _PLAINLY and _TRUE_TO_LIFE & set(text.plain):
        return "colour_cast"
    return "mood" if said.get("mood") and name in _LIT and not _claims_end(text, name) else None


def _claims_end(text: AskedText, name: str) -> bool:
    return any(sense.end for sense in text.senses if sense.property == name and text.is_asked(sense))


def _ends_offered(text: AskedText, wider: Property, claimed: Mapping[str, float]) -> set[float]:
    said = [plain(option) for option in text.options.values()]
    implied = {wider.implied_by[other] for other in claimed if other in wider.implied_by}
    named = [sense for option in text.options.values() for sense in senses(words_in(option))]
    implied |= {float(sense.end > 0) for sense in named if sense.property == wider.name and sense.end}
    return implied | {wider.degrees[answer] for answer in said if answer in wider.degrees}
