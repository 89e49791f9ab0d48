"""Which of two pictures is better: assess both, measure both with the same tools, decide, and say why.

Two pictures of one scene are easier to put in order than two scores are to predict: errors that the scene causes are
shared. How often an order is right for a given lead was measured with ``training/fit_comparison.py`` and
``training/embedded/pair_slopes.py`` on pairs of distorted versions of one photograph, and on pairs of photographs of
different scenes; a logistic curve without offset follows it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.errors import AgenticIQAError, ImageError
from agenticiqa.nodes.results import Assessment, Comparison, Side, ToolComparison, Winner
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.pictures.images import LoadedImage, UInt8Image
from agenticiqa.pictures.inputs import GivenPicture, PictureInput, given_picture
from agenticiqa.reports.comparison import Pictures, difference_of
from agenticiqa.runtime.memory import given as memory_given
from agenticiqa.state import DistortionAnalysis
from agenticiqa.tools.aiqa_fr import explain, measure
from agenticiqa.tools.catalogue import default_tools
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.metrics import Views
from agenticiqa.tools.needs import assessing_need
from agenticiqa.tools.registry import Tool
from agenticiqa.vocabulary import DEFAULT_QUERY, SEVERITIES, damage_in_words

CALL_FROM = 0.65
"""Below this chance a lead is called a tie."""
SUREST = 0.999
"""The curve was checked on some 1,500 pairs of its far end: of a chance beyond this, they say nothing."""


@dataclass(frozen=True)
class Reliability:
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
ONE_SCENE_FROM = 0.75
"""Correlation of two pictures at 32×32 pixels: of versions of one photograph hardly any lie below, however damaged, and
of photographs of different scenes one pair in three hundred above."""


def show_one_scene(a: UInt8Image, b: UInt8Image) -> bool:
    """Whether two pictures are versions of one photograph, as far as their coarse layout tells."""
    one, other = (_layout(picture) for picture in (a, b))
    return float((one * other).sum()) >= ONE_SCENE_FROM


def _layout(picture: UInt8Image) -> npt.NDArray[np.float32]:
    small = Image.fromarray(picture).convert("L").resize((32, 32), Image.Resampling.BOX)
    values = np.asarray(small, np.float32)
    centred = values - values.mean()
    return np.asarray(centred / max(float(np.linalg.norm(centred)), 1e-6), np.float32)


def winner_of(chance_a: float) -> Winner:
    """
    >>> winner_of(0.9), winner_of(0.5), winner_of(0.2)
    ('A', 'tie', 'B')
    """
    if max(chance_a, 1 - chance_a) < CALL_FROM:
        return "tie"
    return "A" if chance_a > 0.5 else "B"


def less_certain(chance_a: float) -> float:
    """A chance that independent evidence contradicts: half as far from even.

    >>> less_certain(0.9)
    0.7
    """
    return 0.5 + (chance_a - 0.5) / 2


def as_reported(chance: float) -> float:
    """A chance as it is reported: four digits, and never nearer to certainty than was checked.

    >>> as_reported(0.93456), as_reported(0.9999999), as_reported(0.0000001)
    (0.9346, 0.999, 0.001)
    """
    return round(min(max(chance, 1 - SUREST), SUREST), 4)


# --- the verdict and its reasons in words, each with the number behind it ---


PLACES_NAMED = 2
DISSENTERS_NAMED = 3


def verdict_for(found: Comparison) -> str:
    """One sentence that a person can act on."""
    chance = _percent(found.confidence or 0)
    scores = f"{found.decided_by} {found.score_a or 0:.2f} against {found.score_b or 0:.2f}"
    if found.winner == "tie":
        if round(found.confidence or 0, 2) == 0.5:
            return f"Too close to call: {scores}; neither is ahead."
        ahead = "A" if (found.chance_a or 0) >= 0.5 else "B"
        return f"Too close to call: {scores}; {ahead} would be preferred with a chance of only {chance}."
    return f"{found.winner} is better: {scores}; people would agree with a chance of {chance}."


def _percent(chance: float) -> str:
    """Nothing is certain: the curve's far end was never measured.

    >>> _percent(0.934), _percent(0.9999)
    ('93 %', 'more than 99 %')
    """
    return "more than 99 %" if chance > 0.99 else f"{chance:.0%}".replace("%", " %")


def reasons_for(found: Comparison, a: LoadedImage, b: LoadedImage, reference: LoadedImage | None) -> list[str]:
    """What speaks for the verdict, and what against it."""
    return [*_findings(found), *_losses(a, b, reference), *_agreement(found), *_where(found)]


def _findings(found: Comparison) -> list[str]:
    """Distortions whose severity differs between the two, the largest difference first."""
    sides = {"A": _severities(found.a), "B": _severities(found.b)}
    lines = []
    for kind in dict.fromkeys([*sides["A"], *sides["B"]]):
        ranks = {side: _rank(known.get(kind)) for side, known in sides.items()}
        if ranks["A"] != ranks["B"]:
            worse: Side = "A" if ranks["A"] > ranks["B"] else "B"
            better: Side = "B" if worse == "A" else "A"
            entry, other = sides[worse][kind], sides[better].get(kind)
            calm = f"{other.severity}" if other else "none found"
            verdict = f"{damage_in_words(kind).capitalize()}: {entry.severity} in {worse}, {calm} in {better}"
            line = f"{verdict}. {worse}: {entry.explanation}"
            lines.append((abs(ranks["A"] - ranks["B"]), line))
    return [line for _, line in sorted(lines, key=lambda each: -each[0])]


def _severities(result: Assessment | None) -> dict[str, DistortionAnalysis]:
    evidence = result.executor_evidence if result else None
    entries = [entry for entries in ((evidence and evidence.distortion_analysis) or {}).values() for entry in entries]
    return {entry.type: entry for entry in sorted(entries, key=_rank)}


def _rank(entry: DistortionAnalysis | None) -> int:
    return SEVERITIES.index(entry.severity) if entry else 0


def _losses(a: LoadedImage, b: LoadedImage, reference: LoadedImage | None) -> list[str]:
    """With a reference: which parts of the fused score took the points."""
    if reference is None:
        return []
    lines = []
    for side, picture in (("A", a), ("B", b)):
        parts = explain(measure(Views(picture.measurable, reference.measurable)))
        lines.append(
            f"Against the reference, {side} lost: {'; '.join(parts[:2])}." if parts else f"{side} lost nothing."
        )
    return lines


def _agreement(found: Comparison) -> list[str]:
    """How many of the other tools see it the same way, and those that do not."""
    others = [row for row in found.tools if row.tool != found.decided_by and row.better is not None]
    if not others:
        return []
    if found.winner == "tie":
        return [f"The other tools: {'; '.join(map(_numbers, others))}."]
    against = [row for row in others if row.better not in (found.winner, "tie")]
    for_it = [row for row in others if row.better == found.winner]
    named = f" ({'; '.join(map(_numbers, for_it))})" if for_it else ""
    lines = [f"{len(for_it)} of {len(others)} other tools agree{named}."]
    if against:
        lines.append(f"Against it: {'; '.join(map(_numbers, against[:DISSENTERS_NAMED]))}.")
    return lines


def _numbers(row: ToolComparison) -> str:
    return f"{row.tool} {row.raw_a:.4g} and {row.raw_b:.4g}"


def _where(found: Comparison) -> list[str]:
    leading = [place for place in found.places if place.better != "tie"]
    if not leading:
        return ["No part of the frame stands out."] if found.places else []
    if all(place.better == leading[0].better for place in leading) and len(leading) > len(found.places) / 2:
        spread = f"{leading[0].better} is ahead in {len(leading)} of {len(found.places)} parts of the frame"
        return [f"{spread}, most at the {leading[0].name} ({found.map_shows})."]
    named = ", ".join(f"{place.better} at the {place.name}" for place in leading[:PLACES_NAMED])
    return [f"The lead is largest for {named} ({found.map_shows})."]


# --- assessing both ---


logger = logging.getLogger(__name__)

SideListener = Callable[[Side, PipelineEvent], None]

SAME_POINTS = 0.05
"""Calibrated scores closer than this count as equal."""
CONTRADICTION_POINTS = 0.25
"""The agents' own scores contradict the verdict when they differ the other way by more than this."""


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
    given = {"A": given_picture(image_a), "B": given_picture(image_b)}
    original = given_picture(reference) if reference is not None else None
    found = Comparison(
        status="error",
        image_a=given["A"].name,
        image_b=given["B"].name,
        reference_path=original.name if original else None,
        metadata=_accounts([]),
    )
    with ExitStack() as stack:
        try:
            memory = stack.enter_context(_admitted(assessor, given, original))
            pictures = _opened(assessor, given, original)
        except AgenticIQAError as error:
            return found.model_copy(update={"error": str(error)})
        results: list[Assessment] = []
        for side, picture in pictures.sides:
            listener = None if on_event is None else partial(on_event, side)
            result = assessor.assess(picture, query, reference=pictures.reference, on_event=listener)
            results.append(result)
            found = found.model_copy(update={side.lower(): result, "metadata": _accounts(results)})
            if result.status == "error":
                return found.model_copy(update={"error": f"Picture {side} could not be assessed: {result.error}"})
        return _decided(assessor, pictures, found, memory)


@contextmanager
def _admitted(assessor: AgenticIQA, given: Mapping[str, GivenPicture], original: GivenPicture | None) -> Iterator[int]:
    """Memory for all pictures at once and whatever tool one of the two assessments chooses."""
    sizes = [assessor.picture_size(original)] if original else []
    for side, picture in given.items():
        with _named(side):
            sizes.append(assessor.picture_size(picture))
    need = assessing_need(sizes, assessor.tools, assessor.memory.largest, has_reference=original is not None)
    with assessor.memory.hold(need, "Comparing pictures of this size") as memory, memory_given(memory):
        yield memory


def _opened(assessor: AgenticIQA, given: Mapping[str, GivenPicture], original: GivenPicture | None) -> Pictures:
    """What is compared, decoded once and before any model is asked."""
    reference = assessor.open_picture(original) if original else None
    opened = {}
    for side, each in given.items():
        with _named(side):
            picture = assessor.open_picture(each)
        if reference is not None and picture.size != reference.size:
            sizes = [f"{width}×{height}" for width, height in (picture.size, reference.size)]
            why = f"picture {side} has {sizes[0]} pixels and the reference {sizes[1]}"
            raise ImageError(_cannot(why, with_reference=True))
        opened[side] = picture
    return Pictures(opened["A"], opened["B"], reference)


@contextmanager
def _named(side: str) -> Iterator[None]:
    """Failures inside say which picture it is."""
    try:
        yield
    except ImageError as error:
        error.message = f"Picture {side} could not be opened: {error.message}"
        raise


def _decided(assessor: AgenticIQA, pictures: Pictures, found: Comparison, memory: int) -> Comparison:
    if pictures.identical:
        return found.model_copy(
            update={
                "status": "ok",
                "winner": "tie",
                "confidence": 1.0,
                "chance_a": 0.5,
                "verdict": "The two pictures are identical, pixel by pixel.",
                "reasons": ["No pixel differs, so nothing can be better in one of them."],
                "decided_by": "pixels",
            }
        )
    tools = _tools(assessor, pictures, found)
    # A lead says less where two pictures show different scenes.
    reliability = WITH_REFERENCE
    if pictures.reference is None:
        one_scene = show_one_scene(pictures.a.rgb, pictures.b.rgb)
        reliability = WITHOUT_REFERENCE if one_scene else OTHER_SCENES
    rows = _measured(assessor, pictures, tools, memory)
    found = _weighed(found.model_copy(update={"tools": rows}), reliability)
    if found.winner is None:
        return found
    difference = difference_of(pictures)
    found = found.model_copy(
        update={
            "places": difference.places() if difference else [],
            "map_shows": difference.shows if difference else None,
            "notes": [*found.notes, *_size_notes(pictures)],
        }
    )
    explained = reasons_for(found, pictures.a, pictures.b, pictures.reference)
    return found.model_copy(update={"verdict": verdict_for(found), "reasons": explained})


# --- measuring ---


def _tools(assessor: AgenticIQA, pictures: Pictures, found: Comparison) -> list[Tool]:
    """The tool that decides, the usual ones, and every tool that either assessment chose."""
    with_reference = pictures.reference is not None
    decides = WITH_REFERENCE if with_reference else WITHOUT_REFERENCE
    names = [decides.tool, *default_tools("compare", has_reference=with_reference)]
    evidence = [result.executor_evidence for result in (found.a, found.b) if result]
    names += [log.tool for each in evidence if each for log in each.tool_logs]
    tools = [tool for tool in map(assessor.tools.get, dict.fromkeys(names)) if tool is not None]
    return [tool for tool in tools if tool.calibration and (with_reference or not tool.needs_reference)]


def _measured(assessor: AgenticIQA, pictures: Pictures, tools: list[Tool], memory: int) -> list[ToolComparison]:
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
    if abs(a - b) < SAME_POINTS:
        return "tie"
    return "A" if a > b else "B"


# --- deciding ---


def _weighed(found: Comparison, wanted: Reliability) -> Comparison:
    """The verdict by the tool whose reliability was measured; the agents' own scores may cast doubt on it."""
    row = next((row for row in found.tools if row.tool == wanted.tool), None)
    if row is None:
        left_out = (
            f"{wanted.tool} decides between pictures, and it cannot run here. Do tools.allow or tools.deny say so?"
        )
        return found.model_copy(update={"status": "error", "error": f"The pictures could not be compared: {left_out}"})
    if row.calibrated_a is None or row.calibrated_b is None:
        why = row.error or f"{wanted.tool} gave no score"
        return found.model_copy(
            update={"status": "error", "error": _cannot(why, with_reference=found.reference_path is not None)}
        )
    chance = wanted.chance(row.calibrated_a - row.calibrated_b)
    notes = list(found.notes)
    own = _own_lead(found)
    if own is not None and own * (chance - 0.5) < 0 and abs(own) > CONTRADICTION_POINTS:
        chance = less_certain(chance)
        notes.append(
            f"The agents' own scores say the opposite by {abs(own):.2f} points; the confidence is lowered for it."
        )
    partial = [side for side, result in (("A", found.a), ("B", found.b)) if result and result.status == "partial"]
    notes += [f"The assessment of {side} is incomplete; see its own result." for side in partial]
    return found.model_copy(
        update={
            "status": "partial" if partial else "ok",
            "winner": winner_of(chance),
            "confidence": as_reported(max(chance, 1 - chance)),
            "chance_a": as_reported(chance),
            "decided_by": wanted.tool,
            "score_a": row.calibrated_a,
            "score_b": row.calibrated_b,
            "notes": notes,
        }
    )


def _cannot(why: str, *, with_reference: bool) -> str:
    hint = (
        "Give a reference of the same size as both pictures, or none."
        if with_reference
        else "Give pictures of at least 32×32 pixels."
    )
    return f"The pictures could not be compared: {why.rstrip('.')}. {hint}"


def _own_lead(found: Comparison) -> float | None:
    # A side whose tools and model contradict each other has no score of its own to lead with.
    scores = [result.score if result and not result.conflict else None for result in (found.a, found.b)]
    return None if scores[0] is None or scores[1] is None else scores[0] - scores[1]


def _size_notes(pictures: Pictures) -> list[str]:
    if pictures.a.size == pictures.b.size:
        return []
    sizes = [f"{width}×{height}" for width, height in (pictures.a.size, pictures.b.size)]
    return [f"The pictures differ in size ({sizes[0]} and {sizes[1]}): each is judged as it is, without a map."]


def _accounts(results: Sequence[Assessment]) -> dict[str, object]:
    costs: list[float | None] = [result.metadata.get("cost_usd") for result in results]
    known = [cost for cost in costs if cost is not None]
    return {
        "run_ids": [result.metadata.get("run_id") for result in results],
        "calls": sum(result.metadata.get("calls", 0) for result in results),
        "cost_usd": sum(known, 0.0) if len(known) == len(costs) else None,
        "seconds": round(sum((result.metadata.get("timings", {}).get("total", 0.0) for result in results), 0.0), 3),
    }
