"""What the verbs take: the arguments of an assessment, written down once, and the async form of a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypedDict, TypeVar, cast

from agenticiqa.pictures.inputs import Align, PictureInput
from agenticiqa.state import RunMode, Turn, ViewsMode

Regions = Mapping[str, Sequence[int]]
"""Boxes (x, y, width, height in pixels) by the names that the question uses."""

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class AssessOptions(TypedDict, total=False):
    """The keyword arguments of an assessment; those left out, or None, are what the configuration says."""

    reference: PictureInput | None
    """How the picture should look."""
    options: Sequence[str] | None
    """The answers to choose from, if they are not part of the question."""
    regions: Regions | None
    max_replan_iterations: int | None
    align: Align
    """``resize`` scales the picture to its reference's size; ``none``, as usual, refuses another size."""
    mode: RunMode | None
    """``direct`` asks the model alone."""
    without: Collection[str] | None
    """Parts of the agents' work to leave out."""
    views: ViewsMode | None
    """Closer looks at pictures that a model sees reduced: ``off``, ``auto`` by rule, ``ask`` as the model asks too."""
    earlier: Sequence[Turn] | None
    """What was asked of the picture before, oldest first (``Assessment.turns``)."""


def spelled_out(function: F) -> F:
    """Show the keywords that ``**options: Unpack[AssessOptions]`` stands for, and refuse others when called."""
    own = inspect.signature(function)
    named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    keywords = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default="none" if name == "align" else None, annotation=kind
        )
        for name, kind in AssessOptions.__annotations__.items()
    ]
    signature = own.replace(parameters=[*named, *keywords])

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        # A wrong argument raises here, also where the function's body runs later.
        signature.bind(*args, **kwargs)
        return function(*args, **kwargs)

    vars(call)["__signature__"] = signature
    return cast("F", call)


def in_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """A coroutine function that runs ``function`` in a thread; a wrong argument raises when it is called."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        signature.bind(*args, **kwargs)
        return asyncio.to_thread(function, *args, **kwargs)

    call.__name__ = call.__qualname__ = f"a{function.__name__}"
    call.__doc__ = f"``{function.__name__}`` as a coroutine: the same arguments, result and errors."
    return call
