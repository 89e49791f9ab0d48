"""Which of two pictures is better: assess both, measure both with the same tools, decide, and say why.

Two pictures of one scene are easier to put in order than two scores are to predict: errors that the scene causes are
shared. How often an order is right for a given lead was measured with ``training/fit_comparison.py`` and
``training/embedded/pair_slopes.py`` on pairs of distorted versions of one photograph, and on pairs of photographs of
different scenes; a logistic curve without offset follows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.embedded.answering.pictures import AskedLead, asked_lead
from agenticiqa.errors import AgenticIQAError, ImageError
from agenticiqa.nodes.results import Assessment, Comparison, Side, ToolComparison, Winner
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.pictures.images import UInt8Image
from agenticiqa.pictures.inputs import GivenPicture, PictureInput, given_picture
from agenticiqa.reports.comparison import Pictures, difference_of
from agenticiqa.runtime.memory import given as memory_given
from agenticiqa.state import DistortionAnalysis
from agenticiqa.tools.aiqa_fr import explain, measure
from agenticiqa.tools.catalogue import default_tools
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.metrics import Views
from agenticiqa.tools.needs import assessing_need
from agenticiqa.vocabulary import DEFAULT_QUERY, SEVERITIES, damage_in_words

SideListener = Callable[[Side, PipelineEvent], None]

MIN_WIN_PROBABILITY = 0.65
"""Below this chance a lead is called a tie."""
MAX_PROBABILITY = 0.999
"""The curve was checked on some 1,500 pairs of its far end: of a chance beyond this, they say nothing."""
SAME_POINTS = 0.05
"""Calibrated scores closer than this count as equal."""
CONTRADICTION_POINTS = 0.25
"""The agents' own scores contradict the verdict when they differ the other way by more than this."""
ONE_SCENE_FROM = 0.75
"""Correlation of two pictures at 32×32 pixels: of versions of one photograph hardly any lie below, however damaged, and
of photographs of different scenes one pair in three hundred above."""
PLACES_NAMED = 2
MAX_DISSENTING_TOOLS = 3


class Reliability(NamedTuple):
    """How a lead of one tool turns into a chance: the slope per point of lead."""

    tool: str
    slope: float

    def chance(self, lead: float) -> float:
        """
        >>> round(Reliability("toy", 2.0).chance(0.0), 2), round(Reliability("toy", 2.0).chance(1.0), 2)
        (0.5, 0.88)
        """
        return 1 / (1 + math.exp(-self.slope * lead))


# From `training/fit_comparison.py` and `training/embedded/pair_slopes.py`; tables in docs/one-picture/comparison.md.
WITH_REFERENCE = Reliability("AIQA_FR", 3.02)
WITHOUT_REFERENCE = Reliability("AIQA_NR", 4.97)
OTHER_SCENES = Reliability("AIQA_NR", 1.92)


def as_reported(chance: float) -> float:
    """A chance as it is reported: four digits, and never nearer to certainty than was checked."""
    return round(min(max(chance, 1 - MAX_PROBABILITY), MAX_PROBABILITY), 4)


# --- assessing both ---


def compare_pictures(
    assessor: AgenticIQA,
    image_a: PictureInput,
    image_b: PictureInput,
    *,
    reference: PictureInput | None = None,
    query: str = DEFAULT_QUERY,
    on_event: SideListener | None = None,
) -> Comparison:
    """Which of two pictures is better. A comparison that fails returns status ``error`` instead of raising.

    Nothing is asked once it is known that there will be no verdict: not of A when B cannot be opened, and not of B when
    A's assessment failed.
    """
    a, b = given_picture(image_a), given_picture(image_b)
    original = given_picture(reference) if reference is not None else None
    found = Comparison(
        status="error", image_a=a.name, image_b=b.name, reference_path=original.name if original else None
    )
    _account(found)
    with ExitStack() as stack:
        try:
            pictures, memory = stack.enter_context(_opened(assessor, a, b, original))
        except AgenticIQAError as error:
            found.error = str(error)
            return found
        lead = None if query == DEFAULT_QUERY else asked_lead(query, pictures.a, pictures.b)
        for side, picture in pictures.sides:
            listener = None if on_event is None else partial(on_event, side)
            # "Which is brighter?" is a question about the two, not about either.
            own = query if lead is None else DEFAULT_QUERY
            result = assessor.assess(picture, own, reference=pictures.reference, on_event=listener)
            setattr(found, side.lower(), result)
            _account(found)
            if result.status == "error":
                found.error = f"Picture {side} could not be assessed: {result.error}"
                return found
        if pictures.identical:
            found.status, found.winner, found.confidence, found.chance_a = "ok", "tie", 1.0, 0.5
            found.decided_by, found.verdict = "pixels", "The two pictures are identical, pixel by pixel."
            found.reasons = ["No pixel differs, so nothing can be better in one of them."]
            return found
        found.tools = _measured(assessor, pictures, found, memory)
        _decide(found, pictures)
        if lead is not None and found.status != "error":
            _decide_as_asked(found, lead)
        return found


@contextmanager
def _opened(
    assessor: AgenticIQA, a: GivenPicture, b: GivenPicture, original: GivenPicture | None
) -> Iterator[tuple[Pictures, int]]:
    """Both pictures and the reference, decoded once, with memory reserved for all of the comparison."""
    sizes = [assessor.picture_size(original)] if original else []
    for side, given in (("A", a), ("B", b)):
        with _named(side):
            sizes.append(assessor.picture_size(given))
    need = assessing_need(sizes, assessor.tools, assessor.memory.largest, has_reference=original is not None)
    with assessor.memory.hold(need, "Comparing pictures of this size") as memory, memory_given(memory):
        reference = assessor.open_picture(original) if original else None
        opened = []
        for side, given in (("A", a), ("B", b)):
            with _named(side):
                picture = assessor.open_picture(given)
            if reference is not None and picture.size != reference.size:
                own, other = (f"{width}×{height}" for width, height in (picture.size, reference.size))
                raise ImageError(_cannot(f"picture {side} has {own} pixels and the reference {other}", True))
            opened.append(picture)
        yield Pictures(opened[0], opened[1], reference), memory


@contextmanager
def _named(side: str) -> Iterator[None]:
    """Failures inside say which picture it is."""
    try:
        yield
    except ImageError as error:
        error.message = f"Picture {side} could not be opened: {error.message}"
        raise


def _account(found: Comparison) -> None:
    about = [result.metadata for result in (found.a, found.b) if result]
    costs: list[Any] = [each.get("cost_usd") for each in about]
    found.metadata = {
        "run_ids": [each.get("run_id") for each in about],
        "calls": sum(each.get("calls", 0) for each in about),
        "cost_usd": None if None in costs else sum(costs, 0.0),
        "seconds": round(sum((each.get("timings", {}).get("total", 0.0) for each in about), 0.0), 3),
    }


# --- measuring both ---


def _measured(assessor: AgenticIQA, pictures: Pictures, found: Comparison, memory: int) -> list[ToolComparison]:
    """By the tool that decides, the usual ones, and every tool that either assessment chose."""
    with_reference = pictures.reference is not None
    names = [(WITH_REFERENCE if with_reference else WITHOUT_REFERENCE).tool]
    names += default_tools("compare", has_reference=with_reference)
    evidence = [result.executor_evidence for result in (found.a, found.b) if result]
    names += [log.tool for each in evidence if each for log in each.tool_logs]
    known = [tool for tool in map(assessor.tools.get, dict.fromkeys(names)) if tool is not None]
    tools = [tool for tool in known if tool.calibration and (with_reference or not tool.needs_reference)]
    settings = assessor.settings.pipeline.tools
    sides = [
        ToolRunner(picture, pictures.reference, assessor.cache, memory=memory).run(
            [ToolJob(tool) for tool in tools], max_workers=settings.max_workers, timeout_s=settings.timeout_s
        )
        for picture in (pictures.a, pictures.b)
    ]
    return [
        ToolComparison(
            tool=tool.name,
            type="FR" if tool.needs_reference else "NR",
            raw_a=a.raw,
            raw_b=b.raw,
            calibrated_a=a.calibrated,
            calibrated_b=b.calibrated,
            better=_better(a.calibrated, b.calibrated),
            error=a.error or b.error,
        )
        for tool, a, b in zip(tools, *sides, strict=True)
    ]


def _better(a: float | None, b: float | None) -> Winner | None:
    if a is None or b is None:
        return None
    return "tie" if abs(a - b) < SAME_POINTS else "A" if a > b else "B"


# --- deciding ---


def _decide(found: Comparison, pictures: Pictures) -> None:
    """The verdict by the tool whose reliability was measured; the agents' own scores may cast doubt on it."""
    wanted = WITH_REFERENCE
    if pictures.reference is None:
        # A lead says less where two pictures show different scenes.
        wanted = WITHOUT_REFERENCE if _show_one_scene(pictures.a.rgb, pictures.b.rgb) else OTHER_SCENES
    row = next((row for row in found.tools if row.tool == wanted.tool), None)
    if row is None:
        left_out = f"{wanted.tool} decides between pictures, and it cannot run here."
        found.error = f"The pictures could not be compared: {left_out} Do tools.allow or tools.deny say so?"
        return
    if row.calibrated_a is None or row.calibrated_b is None:
        found.error = _cannot(row.error or f"{wanted.tool} gave no score", pictures.reference is not None)
        return
    chance = wanted.chance(row.calibrated_a - row.calibrated_b)
    # A side whose tools and model contradict each other has no score of its own to lead with.
    own_a, own_b = (result.score if result and not result.conflict else None for result in (found.a, found.b))
    if own_a is not None and own_b is not None:
        own = own_a - own_b
        if own * (chance - 0.5) < 0 and abs(own) > CONTRADICTION_POINTS:
            # Half as far from even.
            chance = 0.5 + (chance - 0.5) / 2
            opposite = f"The agents' own scores say the opposite by {abs(own):.2f} points"
            found.notes.append(f"{opposite}; the confidence is lowered for it.")
    incomplete = [side for side, result in (("A", found.a), ("B", found.b)) if result and result.status == "partial"]
    found.notes += [f"The assessment of {side} is incomplete; see its own result." for side in incomplete]
    if pictures.a.size != pictures.b.size:
        sizes = " and ".join(f"{width}×{height}" for width, height in (pictures.a.size, pictures.b.size))
        found.notes.append(f"The pictures differ in size ({sizes}): each is judged as it is, without a map.")
    found.status = "partial" if incomplete else "ok"
    found.winner = "tie" if max(chance, 1 - chance) < MIN_WIN_PROBABILITY else "A" if chance > 0.5 else "B"
    found.confidence, found.chance_a = as_reported(max(chance, 1 - chance)), as_reported(chance)
    found.decided_by, found.score_a, found.score_b = wanted.tool, row.calibrated_a, row.calibrated_b
    difference = difference_of(pictures)
    if difference is not None:
        found.places, found.map_shows = difference.places(), difference.shows
    found.verdict = _verdict(found, row.calibrated_a, row.calibrated_b, found.confidence)
    found.reasons = [*_findings(found), *_losses(pictures), *_agreement(found), *_models(found), *_where(found)]


def _decide_as_asked(found: Comparison, lead: AskedLead) -> None:
    """The verdict on what was asked; which of the two is better on the whole becomes a reason."""
    chance, overall = lead.chance_a, found.verdict
    found.winner = "tie" if max(chance, 1 - chance) < MIN_WIN_PROBABILITY else "A" if chance > 0.5 else "B"
    found.confidence, found.chance_a = as_reported(max(chance, 1 - chance)), as_reported(chance)
    found.decided_by = lead.asked.title
    tie = found.winner == "tie"
    found.verdict = f"Neither is clearly {lead.word}." if tie else f"{found.winner} is {lead.word}."
    found.reasons = [*lead.reasons(), f"On the whole: {overall}"]
    if lead.a.guess or lead.b.guess:
        found.notes.append(f"What is said of {lead.asked.title} is a guess.")


def _show_one_scene(a: UInt8Image, b: UInt8Image) -> bool:
    """Whether two pictures are versions of one photograph, as far as their coarse layout tells."""
    layouts = []
    for picture in (a, b):
        small = Image.fromarray(picture).convert("L").resize((32, 32), Image.Resampling.BOX)
        centred = np.asarray(small, np.float32) - np.asarray(small, np.float32).mean()
        layouts.append(centred / max(float(np.linalg.norm(centred)), 1e-6))
    return float((layouts[0] * layouts[1]).sum()) >= ONE_SCENE_FROM


def _cannot(why: str, with_reference: bool) -> str:
    hint = "Give a reference of the same size as both pictures, or none."
    if not with_reference:
        hint = "Give pictures of at least 32×32 pixels."
    return f"The pictures could not be compared: {why.rstrip('.')}. {hint}"


# --- the verdict and its reasons in words, each with the number behind it ---


def _verdict(found: Comparison, score_a: float, score_b: float, confidence: float) -> str:
    """One sentence that a person can act on."""
    # Nothing is certain: the curve's far end was never measured.
    chance = "more than 99 %" if confidence > 0.99 else f"{confidence:.0%}".replace("%", " %")
    scores = f"{found.decided_by} {score_a:.2f} against {score_b:.2f}"
    if found.winner != "tie":
        return f"{found.winner} is better: {scores}; people would agree with a chance of {chance}."
    if round(confidence, 2) == 0.5:
        return f"Too close to call: {scores}; neither is ahead."
    ahead = "A" if score_a >= score_b else "B"
    return f"Too close to call: {scores}; {ahead} would be preferred with a chance of only {chance}."


def _findings(found: Comparison) -> list[str]:
    """Distortions whose severity differs between the two, the largest difference first."""
    of_a, of_b = _worst(found.a), _worst(found.b)
    lines = []
    for kind in dict.fromkeys([*of_a, *of_b]):
        ranks = [SEVERITIES.index(known[kind].severity) if kind in known else 0 for known in (of_a, of_b)]
        if ranks[0] != ranks[1]:
            sides = [("A", of_a), ("B", of_b)]
            (worse, worst), (better, others) = sides if ranks[0] > ranks[1] else sides[::-1]
            calm = others[kind].severity if kind in others else "none found"
            verdict = f"{damage_in_words(kind).capitalize()}: {worst[kind].severity} in {worse}, {calm} in {better}"
            lines.append((abs(ranks[0] - ranks[1]), f"{verdict}. {worse}: {worst[kind].explanation}"))
    return [line for _, line in sorted(lines, key=lambda each: -each[0])]


def _worst(result: Assessment | None) -> dict[str, DistortionAnalysis]:
    """Each distortion where it is worst."""
    analysis = (result and result.executor_evidence and result.executor_evidence.distortion_analysis) or {}
    entries = [entry for each in analysis.values() for entry in each]
    return {entry.type: entry for entry in sorted(entries, key=lambda entry: SEVERITIES.index(entry.severity))}


def _losses(pictures: Pictures) -> list[str]:
    """With a reference: which parts of the fused score took the points."""
    if pictures.reference is None:
        return []
    lines = []
    for side, picture in pictures.sides:
        parts = explain(measure(Views(picture.measurable, pictures.reference.measurable)))
        lost = f"Against the reference, {side} lost: {'; '.join(parts[:2])}."
        lines.append(lost if parts else f"{side} lost nothing.")
    return lines


def _agreement(found: Comparison) -> list[str]:
    """How many of the other tools see it the same way, and those that do not."""
    others = [row for row in found.tools if row.tool != found.decided_by and row.better is not None]
    numbers = {row.tool: f"{row.tool} {row.raw_a:.4g} and {row.raw_b:.4g}" for row in others}
    if not others:
        return []
    if found.winner == "tie":
        return [f"The other tools: {'; '.join(numbers.values())}."]
    agreeing = [numbers[row.tool] for row in others if row.better == found.winner]
    against = [numbers[row.tool] for row in others if row.better not in (found.winner, "tie")]
    named = f" ({'; '.join(agreeing)})" if agreeing else ""
    lines = [f"{len(agreeing)} of {len(others)} other tools agree{named}."]
    return [*lines, f"Against it: {'; '.join(against[:MAX_DISSENTING_TOOLS])}."] if against else lines


def _models(found: Comparison) -> list[str]:
    """Which of the two each of several models gives the better score."""
    of_b = {each.backend: each.quality_score for each in (found.b.models if found.b else [])}
    rated: dict[str, list[str]] = {}
    for each in found.a.models if found.a else []:
        a, b = each.quality_score, of_b.get(each.backend)
        if a is not None and b is not None:
            side = _better(a, b)
            said = "rates both alike" if side == "tie" else f"rates {side} higher"
            rated.setdefault(said, []).append(f"{each.backend} {a:.2f} and {b:.2f}")
    if not rated:
        return []
    count = sum(map(len, rated.values()))
    parts = [
        f"{len(own)} of {count} models {said.replace('rates', 'rate' if len(own) > 1 else 'rates')} ({'; '.join(own)})"
        for said, own in rated.items()
    ]
    return [f"{'; '.join(parts)}."]


def _where(found: Comparison) -> list[str]:
    leading = [place for place in found.places if place.better != "tie"]
    if not leading:
        return ["No part of the frame stands out."] if found.places else []
    if all(place.better == leading[0].better for place in leading) and len(leading) > len(found.places) / 2:
        spread = f"{leading[0].better} is ahead in {len(leading)} of {len(found.places)} parts of the frame"
        return [f"{spread}, most at the {leading[0].name} ({found.map_shows})."]
    named = ", ".join(f"{place.better} at the {place.name}" for place in leading[:PLACES_NAMED])
    return [f"The lead is largest for {named} ({found.map_shows})."]
