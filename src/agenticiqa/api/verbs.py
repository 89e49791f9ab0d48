"""The verbs: one call each, with the default configuration, and nothing left behind on disk.

A program that asks more than once makes an :class:`agenticiqa.AgenticIQA` and keeps it: models stay loaded, replies
and scores are cached, runs are recorded and can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from agenticiqa.api.assessor import AgenticIQA, EventListener, Regions
from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.pictures.inputs import Align, PictureInput
from agenticiqa.state import RunMode
from agenticiqa.vocabulary import DEFAULT_QUERY

if TYPE_CHECKING:
    from agenticiqa.api.measure import Measurements


def assess(  # noqa: PLR0913 - each says what it is
    image: PictureInput,
    query: str = DEFAULT_QUERY,
    *,
    reference: PictureInput | None = None,
    options: Sequence[str] | None = None,
    regions: Regions | None = None,
    backend: str | None = None,
    max_replan_iterations: int | None = None,
    align: Align = "none",
    mode: RunMode | None = None,
    without: Collection[str] | None = None,
    on_event: EventListener | None = None,
) -> Assessment:
    """Answer one question about one picture.

    ``mode="direct"`` asks the model alone; ``without`` leaves parts of the agents' work out, for ablations
    (docs/evaluation.md).

    Arguments of a wrong kind raise. Whatever goes wrong with a picture or a model is in the result, whose status is
    then ``error``.
    """
    with AgenticIQA(backend, record=False) as assessor:
        return assessor.assess(
            image,
            query,
            reference=reference,
            options=options,
            regions=regions,
            max_replan_iterations=max_replan_iterations,
            align=align,
            mode=mode,
            without=without,
            on_event=on_event,
        )


def stream(
    image: PictureInput,
    query: str = DEFAULT_QUERY,
    *,
    reference: PictureInput | None = None,
    options: Sequence[str] | None = None,
    regions: Regions | None = None,
    backend: str | None = None,
    max_replan_iterations: int | None = None,
    align: Align = "none",
    mode: RunMode | None = None,
    without: Collection[str] | None = None,
) -> Generator[PipelineEvent | Assessment, None, None]:
    """:func:`assess` as it happens: every step of the agents, and last the result."""
    with AgenticIQA(backend, record=False) as assessor:
        yield from assessor.stream(
            image,
            query,
            reference=reference,
            options=options,
            regions=regions,
            max_replan_iterations=max_replan_iterations,
            align=align,
            mode=mode,
            without=without,
        )


def compare(
    image_a: PictureInput,
    image_b: PictureInput,
    *,
    reference: PictureInput | None = None,
    query: str = DEFAULT_QUERY,
    backend: str | None = None,
) -> Comparison:
    """Which of two pictures is better, how sure that is, where they differ, and why."""
    with AgenticIQA(backend, record=False) as assessor:
        return assessor.compare(image_a, image_b, reference=reference, query=query)


def measure(
    image: PictureInput,
    *,
    reference: PictureInput | None = None,
    tools: Sequence[str] | None = None,
    all_tools: bool = False,
    regions: Mapping[str, Sequence[int]] | None = None,
    align: Align = "none",
    maps: bool = False,
) -> Measurements:
    """Measure one picture without any model: the tools named, all that run here, or the usual ones.

    ``maps`` keeps each tool's map, where it has one, in its record.
    """
    from agenticiqa.api.measure import measure_picture

    return measure_picture(
        image, reference=reference, tools=tools, all_tools=all_tools, regions=regions, align=align, maps=maps
    )


# --- without blocking an event loop ---


async def aassess(  # noqa: PLR0913 - each says what it is
    image: PictureInput,
    query: str = DEFAULT_QUERY,
    *,
    reference: PictureInput | None = None,
    options: Sequence[str] | None = None,
    regions: Regions | None = None,
    backend: str | None = None,
    max_replan_iterations: int | None = None,
    align: Align = "none",
    mode: RunMode | None = None,
    without: Collection[str] | None = None,
    on_event: EventListener | None = None,
) -> Assessment:
    """:func:`assess` for programs with an event loop."""
    return await asyncio.to_thread(
        assess,
        image,
        query,
        reference=reference,
        options=options,
        regions=regions,
        backend=backend,
        max_replan_iterations=max_replan_iterations,
        align=align,
        mode=mode,
        without=without,
        on_event=on_event,
    )


async def acompare(
    image_a: PictureInput,
    image_b: PictureInput,
    *,
    reference: PictureInput | None = None,
    query: str = DEFAULT_QUERY,
    backend: str | None = None,
) -> Comparison:
    """:func:`compare` for programs with an event loop."""
    return await asyncio.to_thread(compare, image_a, image_b, reference=reference, query=query, backend=backend)


async def ameasure(
    image: PictureInput,
    *,
    reference: PictureInput | None = None,
    tools: Sequence[str] | None = None,
    all_tools: bool = False,
    regions: Mapping[str, Sequence[int]] | None = None,
    align: Align = "none",
    maps: bool = False,
) -> Measurements:
    """:func:`measure` for programs with an event loop."""
    return await asyncio.to_thread(
        measure, image, reference=reference, tools=tools, all_tools=all_tools, regions=regions, align=align, maps=maps
    )
