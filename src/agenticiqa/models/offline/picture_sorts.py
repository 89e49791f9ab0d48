"""Questions about what sort of picture it is: photograph, painting, drawing, sketch or screen, generated or real."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agenticiqa.models.offline.choices import normalised
from agenticiqa.models.offline.language.question import Question
from agenticiqa.models.offline.language.word_lists import word_set
from agenticiqa.models.offline.overall import says_quality
from agenticiqa.vision.scene import Reading

GENERATED, REAL = "generated", "real"
_WORDS = {
    GENERATED: word_set("generated ai synthetic synthesized artificial diffusion cgi fake deepfake"),
    REAL: word_set("real authentic genuine camera"),
    "sketch": word_set("sketch sketches sketched pencil doodle charcoal"),
    "painting": word_set("painting paintings painted watercolor watercolour oil canvas"),
    "drawing": word_set("drawing drawings drawn cartoon cartoons comic comics anime illustration clipart animation"),
    "screen": word_set("screenshot screenshots screencap webpage"),
    "photograph": word_set("photo photos photograph photographs snapshot photography photographic"),
}
# The sort itself is asked for, not something about a picture of that sort: "a painting", not "the painting".
_ARTICLE = re.compile(r"\b(?:an?|or|from an?|by an?|with an?)\s+(?:[\w-]+\s+){0,2}$", re.IGNORECASE)
_WHICH_SORT = re.compile(
    r"\b(?:what|which)\s+(?:\w+\s+)?(?:sort|kind|type|category|medium)\s+of\s+(?:picture|image|visual|artwork|media)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|isn't|never)\b", re.IGNORECASE)


def sort_chances(question: Question, options: Mapping[str, str], reading: Reading) -> dict[str, float] | None:
    """Chances of the options, or of the possible answers in words; None when the question asks something else."""
    if question.distortions or says_quality(question.text):
        return None
    if not options:
        return _in_words(question.text, reading)
    meant = {letter: _meant(text) for letter, text in options.items()}
    if all(meant.values()):
        return normalised({letter: max(chance_of(str(name), reading), 1e-3) for letter, name in meant.items()})
    yes = _yes_chance(question.text, reading)
    kinds = {option.letter: option.claim.kind for option in question.options}
    if yes is None or set(kinds.values()) != {"yes", "no"}:
        return None
    return {letter: yes if kind == "yes" else 1 - yes for letter, kind in kinds.items()}


def chance_of(name: str, reading: Reading) -> float:
    if name in (GENERATED, REAL):
        return reading.generated if name == GENERATED else 1 - reading.generated
    return reading.sorts[name]


def _in_words(text: str, reading: Reading) -> dict[str, float] | None:
    if _WHICH_SORT.search(text):
        return {name.capitalize(): chance for name, chance in reading.sorts.items()}
    named = _asked_for(text)
    if len(named) > 1:  # "Is it a photograph or a painting?"
        return normalised({name.capitalize(): max(chance_of(name, reading), 1e-3) for name in named})
    yes = _yes_chance(text, reading)
    return None if yes is None else {"Yes": yes, "No": 1 - yes}


def _yes_chance(text: str, reading: Reading) -> float | None:
    named = _asked_for(text)
    if len(named) != 1:
        return None
    chance = chance_of(named[0], reading)
    return 1 - chance if _DENIED.search(text) else chance


def _asked_for(text: str) -> list[str]:
    """The sorts that a question asks for, in its order. "A real photograph" asks whether it is real."""
    found: list[str] = []
    for match in re.finditer(r"[a-z]+", text.casefold()):
        name = next((name for name, words in _WORDS.items() if match[0] in words), None)
        if name is None:
            continue
        if name == GENERATED or _ARTICLE.search(text[: match.start()]):
            found.append(name)
    told = [name for name in dict.fromkeys(found) if name != "photograph" or not {GENERATED, REAL} & set(found)]
    return told[:1] if GENERATED in told and " or " not in text.casefold() else told


def _meant(text: str) -> str | None:
    """What an option says: the first of the lists that holds one of its words."""
    words = set(re.findall(r"[a-z]+", text.casefold()))
    return next((name for name, known in _WORDS.items() if words & known), None)
