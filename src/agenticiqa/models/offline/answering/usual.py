"""Where nothing was read: what is usual of such parts. Lenses are mostly set to what is near, and eyes go there too."""

from __future__ import annotations

from agenticiqa.models.offline.answering.chances import MIDDLE
from agenticiqa.models.offline.answering.parts import wants_much
from agenticiqa.models.offline.answering.problem import Problem
from agenticiqa.models.offline.language.meaning.reader import OptionMeaning
from agenticiqa.models.offline.language.meaning.scales import words_in
from agenticiqa.models.offline.language.tokens import base_forms
from agenticiqa.models.offline.language.word_lists import word_list

WHICHEVER, LIKELIER, UNLIKELIER = 0.2, 0.35, 0.1
_OF_DISTANCE = frozenset({"sharp", "in_focus", "detailed", "emphasised", "legible"})
_NEAR = ("people", "body", "clothes", "animals", "vehicles", "things")


def usual_weight(problem: Problem, option: OptionMeaning) -> float:
    """How likely an option is before anything is read; the same for all where nothing is known of them."""
    if problem.meaning.property not in _OF_DISTANCE:
        return WHICHEVER
    of_first = option.amount is not None and option.property == problem.meaning.property
    near = _is_near(problem.parts[0] if of_first else option.text)
    if near is None:
        return WHICHEVER
    wanted = (option.amount or 0.0) > MIDDLE if of_first else wants_much(problem)
    return LIKELIER if near == wanted else UNLIKELIER


def _is_near(text: str) -> bool | None:
    said = {form for word in words_in(text) for form in base_forms(word)}
    if said & word_list("usual_parts", "far"):
        return False
    near = word_list("usual_parts", "near").union(*(word_list("picture_nouns", group) for group in _NEAR))
    return True if said & near else None
