"""A region that the user gave and named in the question is a fact: a plan that overlooks it is corrected."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agenticiqa.pictures.regions import find_region, without_article
from agenticiqa.state import PlannerOutput
from agenticiqa.vocabulary import GLOBAL

logger = logging.getLogger(__name__)

Regions = Mapping[str, Sequence[int]]

_LEFT_OUT = (
    r"(?:ignor\w+|except(?:\s+for)?|exclud\w+|disregard\w*|without|outside(?:\s+of)?|besides|apart\s+from|"
    r"other\s+than|not)\s+(?:(?:the|a|an|this|that|my)\s+)?$"
)
_WHOLE = re.compile(r"\b(?:image|picture|photo|photograph|shot|frame|whole|overall|entire|entirely)s?\b", re.IGNORECASE)
_TIES = frozenset(
    [
        "of",
        "on",
        "in",
        "at",
        "by",
        "near",
        "behind",
        "beside",
        "under",
        "over",
        "above",
        "below",
        "with",
        "without",
        "around",
        "next",
        "to",
        "from",
    ]
)


def hold_to_regions(
    plan: PlannerOutput, question: str, regions: Regions | None, *, keep_switches: bool
) -> PlannerOutput:
    """The plan with every given region that the question names in its scope.

    One region alone is also meant by a question that names nothing at all ("Is it sharp?"). ``keep_switches`` is for
    replans, whose switches may differ from the rules.
    """
    wanted = named_regions(question, regions or {}) or _only_one(plan, question, regions or {})
    missing = [name for name in wanted if not _covered(name, plan)]
    if not missing:
        return plan
    logger.info("Plan corrected: the question is about the given region %s", ", ".join(map(repr, missing)))
    for name in missing:
        plan = _with_region(plan, name, question)
    if keep_switches or plan.query_type == "Other":
        return plan
    switches = {"tool_selection": False, "tool_execution": bool(plan.named_tools)}
    return plan.model_copy(update={"plan": plan.plan.model_copy(update=switches)})


def named_regions(question: str, regions: Regions) -> list[str]:
    """Those whose names stand in the question and are not to be left out, in its order.

    >>> named_regions("Is the spot sharper than my cat?", {"cat": [0, 0, 9, 9], "Spot": [9, 9, 9, 9], "at": []})
    ['Spot', 'cat']
    >>> named_regions("Ignoring the sky, is it sharp?", {"sky": [0, 0, 9, 9]})
    []
    """
    places = {name: _place(name, question) for name in regions}
    return sorted((name for name, at in places.items() if at is not None), key=lambda name: places[name] or 0)


def _place(name: str, question: str) -> int | None:
    words = r"\s+".join(map(re.escape, without_article(name).split()))
    if not words:
        return None
    for match in re.finditer(rf"(?<!\w){words}(?!\w)", question, re.IGNORECASE):
        if not re.search(_LEFT_OUT, question[: match.start()], re.IGNORECASE):
            return match.start()
    return None


def _only_one(plan: PlannerOutput, question: str, regions: Regions) -> list[str]:
    """The one region there is, where neither it nor anything else is named.

    A region that is to be left out is named, and so is the picture in "Rate the picture".
    """
    names_something = plan.scope_names != [GLOBAL] or _WHOLE.search(question)
    return [
        name
        for name in regions
        if len(regions) == 1 and not names_something and without_article(name) not in question.casefold()
    ]


def _covered(name: str, plan: PlannerOutput) -> bool:
    return any(find_region(each, {name: (0, 0, 1, 1)}) for each in plan.scope_names)


def _with_region(plan: PlannerOutput, name: str, question: str) -> PlannerOutput:
    scope = [each for each in plan.scope_names if each != GLOBAL]
    same = [each for each in scope if _says_more_of(each, name)]
    replaced = same if len(same) == 1 else [] if scope else [GLOBAL]
    distortions = dict(plan.distortions or {})
    said_of_others = list(dict.fromkeys(kind for kinds in distortions.values() for kind in kinds))
    kinds = distortions.get(replaced[0], []) if replaced else said_of_others
    if kinds:
        distortions = {key: value for key, value in distortions.items() if key not in replaced} | {name: kinds}
    names = [each for each in scope if each not in replaced] + [name]
    updates: dict[str, Any] = {
        "query_scope": sorted(names, key=lambda each: _position(each, question)),
        "distortions": distortions or None,
    }
    return plan.model_copy(update=updates)


def _says_more_of(longer: str, name: str) -> bool:
    """ "purple flowers" are the region "flowers"; "the edge of the flowers" is something else."""
    before, found, after = without_article(longer).rpartition(f" {without_article(name)}")
    return bool(found) and not after and not _TIES & set(before.split())


def _position(name: str, question: str) -> int:
    at = question.casefold().find(without_article(name))
    return at if at >= 0 else len(question)
