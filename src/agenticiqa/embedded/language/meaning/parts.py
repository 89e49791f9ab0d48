"""Which property a question is about, and which parts of the picture it is asked of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from agenticiqa.embedded.language.meaning.amounts import plain, words_in
from agenticiqa.embedded.language.meaning.claims import AskedText
from agenticiqa.embedded.language.meaning.properties import GENERAL, HINT, Property, Sense, properties, senses
from agenticiqa.embedded.language.phrases import Mention, ScopeObject, mentions
from agenticiqa.embedded.language.words import base_forms, word_set

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


# --- Which parts of the picture a question is asked of ---


_PICTURES = word_set(
    "image picture photo photograph shot pic snapshot frame scan print painting drawing portrait poster"
)
_CAUSING_PART = word_set("from for by through like via")
_JOINING = word_set("and or vs versus than but nor as , with while whereas compared_with compared_to")
UNITS = word_set("star point percent mark")
_TOOLS = word_set("metric metrics index tool algorithm")
_IMAGINING = word_set("would could might will")
_PRONOUNS = word_set("it they them")
_TONAL = word_set("highlights shadows midtones")
_OF_A_NAME = ("determiner", "adjective", "noun", "unknown", "number")


def parts_asked(text: AskedText, asked: Property | None) -> tuple[ScopeObject, ...]:
    """Things in the clause that asks; several only where the sentence puts them side by side."""
    spoken = _spoken_of(text, asked)
    found = _named(text, spoken | _causes(text)) or _named(text, spoken)
    rated = asked is not None and asked.name == "quality"
    found = [m for m in found if not _is_no_part(text, m) and not (rated and m.object.noun in UNITS)]
    offered = _offered_pair(text, found)
    if offered:
        return tuple(mention.object for mention in offered)
    near = [mention for mention in found if _in_clause_of_property(text, mention)] or found
    meant = _side_by_side(text, near or _meant_by_pronoun(text, spoken))
    return tuple(mention.object for mention in meant) or _tonal_part(text)


def things_named(text: AskedText, asked: Property) -> set[str]:
    """The heads of all names in the asking part."""
    return {mention.object.noun for mention in _named(text, _spoken_of(text, asked))}


def _named(text: AskedText, beside: set[int]) -> list[Mention]:
    return [mention for mention in mentions(text.items, beside) if text.start <= mention.start < text.stop]


def _spoken_of(text: AskedText, asked: Property | None) -> set[int]:
    """The words that speak of properties, and so name no thing."""
    return {
        text.item_of[token]
        for sense in text.senses
        if sense.weight > HINT and (text.standing(sense) == 1 or (asked and sense.property == asked.name))
        for token in range(sense.start, sense.stop)
        if not _may_be_thing(text, sense, text.item_of[token]) or (asked and not asked.has_scale)
    }


def _may_be_thing(text: AskedText, sense: Sense, at: int) -> bool:
    """ "the horizon" and "detail in the shadows" name a thing though they speak of a property."""
    item = text.items[at]
    determined = at > 0 and text.items[at - 1].tag == "determiner"
    listed = item.tag == "noun" or (item.tag == "position" and item.base != "side")
    return listed and (not sense.is_name if len(sense) == 1 else determined)


def _causes(text: AskedText) -> set[int]:
    """ "a tinge from the tubes", "for a magazine": where something comes from or what it is for."""
    found: set[int] = set()
    for at, item in enumerate(text.items):
        place = at + 1
        while item.plain in _CAUSING_PART and place < len(text.items) and text.items[place].tag in _OF_A_NAME:
            found.add(place)
            place += 1
    return found


def _is_no_part(text: AskedText, mention: Mention) -> bool:
    """ "this painting", the kind of thing asked for ("in which city"), or who would judge ("would a painter …")."""
    before = text.items[mention.start - 1].plain if mention.start else ""
    if mention.end < len(text.items) and text.items[mention.end].plain in _TOOLS:
        return True
    if before in ("a", "an") and mention.start > 1 and text.items[mention.start - 2].plain in _IMAGINING:
        return True
    return before in ("which", "what") or (before == "this" and mention.object.noun in _PICTURES)


def _offered_pair(text: AskedText, found: Sequence[Mention]) -> Sequence[Mention]:
    """ "Which half is lighter, the top or the bottom?" is about the last two."""
    for left, right in pairwise(found):
        if "which" in text.plain and "or" in _between(text, left, right):
            return left, right
    return ()


def _in_clause_of_property(text: AskedText, mention: Mention) -> bool:
    places = [text.item_of[sense.start] for sense in text.senses if sense.weight > HINT and text.is_asked(sense)]
    for place in places:
        between = text.items[min(place, mention.start) : max(place, mention.end)]
        if not any(item.tag == "mark" and item.plain in ",;:." for item in between):
            return True
    return not places


def _meant_by_pronoun(text: AskedText, spoken: set[int]) -> list[Mention]:
    """ "Nothing to see in the doorway. Is it too dark?": it is the doorway, unless the picture was spoken of."""
    before = text.items[: text.start]
    picture = any(item.base in _PICTURES or item.plain in ("this", "these", "i", "my") for item in before)
    return [] if picture or not _PRONOUNS & set(text.plain) else mentions(before, spoken)[-1:]


def _side_by_side(text: AskedText, found: Sequence[Mention]) -> list[Mention]:
    kept = list(found[:1])
    for mention in found[1:]:
        between = _between(text, kept[-1], mention)
        if _JOINING & set(between) or (between and set(between) <= {",", "the", "a"}):
            kept.append(mention)
    return kept


def _between(text: AskedText, left: Mention, right: Mention) -> list[str]:
    return [item.plain for item in text.items[left.end : right.start]]


def _tonal_part(text: AskedText) -> tuple[ScopeObject, ...]:
    """ "the highlights" and "the shadows" are parts of a picture as well as words for its light."""
    for before, word in pairwise(text.words):
        if before == "the" and word in _TONAL:
            return (ScopeObject(word, word.removesuffix("s")),)
    return ()
