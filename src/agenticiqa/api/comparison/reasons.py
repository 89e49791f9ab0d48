"""The verdict and its reasons in words, each with the number behind it."""

from __future__ import annotations

from agenticiqa.nodes.results import Assessment, Comparison, Side, ToolComparison
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.state import DistortionAnalysis
from agenticiqa.tools.aiqa_fr import explain, measure
from agenticiqa.tools.metrics import Views
from agenticiqa.vocabulary import SEVERITIES, damage_in_words

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
    lines = [f"{len(for_it)} of {len(others)} other tools agree{_listed(for_it)}."]
    if against:
        lines.append(f"Against it: {'; '.join(map(_numbers, against[:DISSENTERS_NAMED]))}.")
    return lines


def _listed(rows: list[ToolComparison]) -> str:
    return f" ({'; '.join(map(_numbers, rows))})" if rows else ""


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
