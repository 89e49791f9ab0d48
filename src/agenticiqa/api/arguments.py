"""What the verbs take: the arguments of an assessment, written down once, and the async form of a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import wraps
from typing import Any, ParamSpec, TypedDict, TypeVar, cast

from agenticiqa.pictures.inputs import Align, PictureInput
from agenticiqa.state import RunMode
from agenticiqa.vocabulary import DEFAULT_QUERY

Regions = Mapping[str, Sequence[int]]
"""Boxes (x, y, width, height in pixels) by the names that the question uses."""

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class AssessOptions(TypedDict, total=False):
    """The keyword arguments of :class:`AssessRequest`, for signatures that hand them on."""

    reference: PictureInput | None
    options: Sequence[str] | None
    regions: Regions | None
    max_replan_iterations: int | None
    align: Align
    mode: RunMode | None
    without: Collection[str] | None


@dataclass(frozen=True)
class AssessRequest:
    """One question about one picture; None stands for what the configuration says."""

    image: PictureInput
    query: str = DEFAULT_QUERY
    _: KW_ONLY
    reference: PictureInput | None = None
    options: Sequence[str] | None = None
    regions: Regions | None = None
    max_replan_iterations: int | None = None
    align: Align = "none"
    mode: RunMode | None = None
    without: Collection[str] | None = None


def spelled_out(function: F) -> F:
    """Show the keywords that ``**options: Unpack[AssessOptions]`` stands for, and refuse others when called."""
    own = inspect.signature(function)
    keywords = [each for each in inspect.signature(AssessRequest).parameters.values() if each.kind is each.KEYWORD_ONLY]
    named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    return cast("F", _checked(function, own.replace(parameters=[*named, *keywords])))


def in_thread(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """The same function for programs with an event loop."""

    def call(*args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]:
        return asyncio.to_thread(function, *args, **kwargs)

    name = function.__name__
    call.__doc__ = f"``{name}`` for programs with an event loop."
    call.__module__, call.__name__ = function.__module__, f"a{name}"
    call.__qualname__ = function.__qualname__.replace(name, call.__name__)
    return _checked(call, inspect.signature(function))


def _checked(function: Callable[P, T], signature: inspect.Signature) -> Callable[P, T]:
    """A wrong argument raises when the function is called, also where its body runs later."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        signature.bind(*args, **kwargs)
        return function(*args, **kwargs)

    vars(call)["__signature__"] = signature
    return call
