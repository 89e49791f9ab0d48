"""Which property a question is about: every word votes, those that ask more than those beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agenticiqa.models.offline.language.meaning.asking import AskedText
from agenticiqa.models.offline.language.meaning.properties import GENERAL, HINT, Property, properties, senses
from agenticiqa.models.offline.language.meaning.scales import plain, words_in
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
    if votes[best] <= HINT or _is_outside(text, said):
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
    return offered or (bool(CHOOSING & set(text.plain)) and not plainly)


def _is_outside(text: AskedText, said: Mapping[str, float]) -> bool:
    """Who, when, how much it costs: nothing that is asked of the picture as a picture."""
    return not any(weight > _STRONGLY for weight in said.values()) and text.says("outside")


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
    answers = [plain(option) for option in text.options.values()]
    for other in sorted(properties()[name].gives_way_to):
        own = bool(answers) and all(answer in properties()[other].degrees for answer in answers)
        if other in claimed or other in said or own:
            return other
    for each in properties().values():
        if each.between and each.between <= set(said) and "and" not in text.plain:
            return each.name
    if any(sense.end for sense in text.senses if sense.property == name and text.is_asked(sense)):
        return name
    for wider in properties().values():
        family = name == wider.name or name in wider.implied_by
        if wider.good == "middle" and family and {0, 1} <= _ends_offered(text, wider, claimed):
            return wider.name
    return name


def _ends_offered(text: AskedText, wider: Property, claimed: Mapping[str, float]) -> set[float]:
    said = [plain(option) for option in text.options.values()]
    implied = {wider.implied_by[other] for other in claimed if other in wider.implied_by}
    return implied | {wider.degrees[answer] for answer in said if answer in wider.degrees}
