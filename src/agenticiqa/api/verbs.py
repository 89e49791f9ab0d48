"""The verbs: one call each, with the default configuration, and nothing left behind on disk.

A program that asks more than once makes an :class:`agenticiqa.AgenticIQA` and keeps it: models stay loaded, replies
and scores are cached, runs are recorded and can be resumed.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

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
    backends: Sequence[str] | None = None,
    on_event: EventListener | None = None,
    **options: Unpack[AssessOptions],
) -> Assessment:
    """Answer one question about one picture.

    Args:
        image: A path, bytes, an open file, a Pillow image, or an array or tensor of pixels.
        query: The question; by default, a rating of the overall quality.
        backend: The model, such as ``openai.gpt-4o``; by default the configured one, or the embedded model.
        backends: Several models that answer together; ``result.models`` has each one's answer.
        on_event: Called with every step of the agents.
        reference: The undistorted picture of the same size.
        options: The answers to choose from, if the question does not hold them.
        regions: Boxes (x, y, width, height) by the names that the question uses.
        max_replan_iterations: How often the agents may plan again.
        align: ``"resize"`` scales the picture to the reference; ``"none"`` refuses another size.
        mode: ``"direct"`` asks the model alone, without tools.
        without: Parts of the agents' work to leave out, for ablations (docs/evaluating/evaluation.md).
        views: Closer looks at pictures that a model sees reduced: ``"off"``, ``"auto"`` (by rule) or ``"ask"`` (the
            executor's model may ask for more); docs/guides/closer-look.md.
        earlier: What was asked of the picture before, oldest first; ``result.ask("why?")`` gives it by itself.
    Returns:
        The answer with its evidence. A picture or model that fails gives the status ``error``, not an exception.
    Raises:
        ConfigError: The configuration cannot be used.
        TypeError: An argument is unknown or of a wrong type.

    >>> from PIL import Image
    >>> assess(Image.linear_gradient("L"), "Rate the quality.", backend="embedded").score is None
    False
    """
    with AgenticIQA(backend, backends=backends, record=False) as assessor:
        return assessor.assess(image, query, on_event=on_event, **options)


@spelled_out
def stream(
    image: PictureInput,
    query: str = DEFAULT_QUERY,
    *,
    backend: str | None = None,
    backends: Sequence[str] | None = None,
    **options: Unpack[AssessOptions],
) -> Generator[PipelineEvent | Assessment, None, None]:
    """Run :func:`assess`, and yield every step of the agents as it ends.

    Args:
        image, query, backend, backends, options: As for :func:`assess`.
    Yields:
        :class:`PipelineEvent` for each step, and last the :class:`Assessment`.
    Raises:
        ConfigError: The configuration cannot be used.
    """
    with AgenticIQA(backend, backends=backends, record=False) as assessor:
        yield from assessor.stream(image, query, **options)


def compare(
    image_a: PictureInput,
    image_b: PictureInput,
    *,
    reference: PictureInput | None = None,
    query: str = DEFAULT_QUERY,
    backend: str | None = None,
    backends: Sequence[str] | None = None,
) -> Comparison:
    """Find out which of two pictures is better, how sure that is, where they differ, and why.

    Args:
        image_a, image_b: Pictures, given in any form that :func:`assess` takes.
        reference: The undistorted picture, of the same size as both.
        query: The question that each picture is assessed with.
        backend, backends: The model, or several, as for :func:`assess`.
    Returns:
        The winner with its probability. A picture that fails gives the status ``error``, not an exception.
    Raises:
        ConfigError: The configuration cannot be used.

    >>> from PIL import Image
    >>> grey = Image.new("RGB", (96, 96), "grey")
    >>> compare(grey, grey, backend="embedded").winner
    'tie'
    """
    with AgenticIQA(backend, backends=backends, record=False) as assessor:
        return assessor.compare(image_a, image_b, reference=reference, query=query)


aassess = in_thread(assess)
acompare = in_thread(compare)
ameasure = in_thread(measure)
