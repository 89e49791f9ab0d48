"""The verbs: one call each, with the default configuration, and nothing left behind on disk.

A program that asks more than once makes an :class:`agenticiqa.AgenticIQA` and keeps it: models stay loaded, replies
and scores are cached, runs are recorded and can be resumed.
"""

from __future__ import annotations

from collections.abc import Generator

from typing_extensions import Unpack

from agenticiqa.api.arguments import AssessOptions, in_thread, spelled_out
from agenticiqa.api.assessor import AgenticIQA, EventListener
from agenticiqa.api.measure import measure
from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.pictures.inputs import PictureInput
from agenticiqa.vocabulary import DEFAULT_QUERY

__all__ = ["aassess", "acompare", "ameasure", "assess", "compare", "measure", "stream"]


@spelled_out
def assess(
    image: PictureInput,
    query: str = DEFAULT_QUERY,
    *,
    backend: str | None = None,
    on_event: EventListener | None = None,
    **options: Unpack[AssessOptions],
) -> Assessment:
    """Answer one question about one picture.

    ``mode="direct"`` asks the model alone; ``without`` leaves parts of the agents' work out, for ablations
    (docs/evaluating/evaluation.md).

    Arguments of a wrong kind raise. Whatever goes wrong with a picture or a model is in the result, whose status is
    then ``error``.
    """
    with AgenticIQA(backend, record=False) as assessor:
        return assessor.assess(image, query, on_event=on_event, **options)


@spelled_out
def stream(
    image: PictureInput, query: str = DEFAULT_QUERY, *, backend: str | None = None, **options: Unpack[AssessOptions]
) -> Generator[PipelineEvent | Assessment, None, None]:
    """:func:`assess` as it happens: every step of the agents, and last the result."""
    with AgenticIQA(backend, record=False) as assessor:
        yield from assessor.stream(image, query, **options)


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


aassess = in_thread(assess)
acompare = in_thread(compare)
ameasure = in_thread(measure)
