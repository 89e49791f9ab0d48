"""AgenticIQA as a tool for LangChain and LangGraph agents."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, ConfigDict, Field

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.errors import AgenticIQAError, client_messages
from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.inputs import Align
from agenticiqa.vocabulary import DEFAULT_QUERY

DESCRIPTION = (
    "Judge the technical quality of a picture: rate it from 1 to 5, say whether and where it is blurred, noisy, "
    "compressed or badly exposed, or choose between answer options. Gives the answer with the measurements behind it."
)


class QuestionInput(BaseModel):
    """What an agent may ask; a misspelled argument would change the question without a word."""

    model_config = ConfigDict(extra="forbid")

    image: str = Field(description="Path of the picture.")
    query: str = Field(DEFAULT_QUERY, description="The question about its quality.")
    reference: str | None = Field(None, description="Path of the undistorted original, if there is one.")
    options: list[str] | None = Field(None, description="Answer options to choose from.")
    align: Align = Field("none", description="'resize' scales the picture to its reference's size; 'none' refuses.")


def image_quality_tool(assessor: AgenticIQA | None = None) -> BaseTool:
    """A LangChain tool that answers questions about pictures.

    Args:
        assessor: What answers; by default one with the default configuration, made at the first question.
    Returns:
        A tool whose message is the answer and whose artifact is the :class:`Assessment`; a failed run is a tool error.

    >>> image_quality_tool().name
    'assess_image_quality'
    """
    opening = threading.Lock()
    first_opened = functools.cache(lambda: assessor or AgenticIQA())

    def opened() -> AgenticIQA:
        with opening:
            return first_opened()

    def ask(**question: Any) -> tuple[str, Assessment]:
        with _tool_errors():
            return _content_and_artifact(opened().assess(**question))

    async def ask_async(**question: Any) -> tuple[str, Assessment]:
        with _tool_errors():
            return _content_and_artifact(await opened().aassess(**question))

    return StructuredTool.from_function(
        func=ask,
        coroutine=ask_async,
        name="assess_image_quality",
        description=DESCRIPTION,
        args_schema=QuestionInput,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=_what_is_wrong,
    )


def _what_is_wrong(error: Any) -> str:
    """For the agent, which can ask again: which argument is wrong (by pydantic's error), and those there are."""
    first = error.errors()[0]
    name = ".".join(map(str, first["loc"]))
    known = ", ".join(QuestionInput.model_fields)
    return f"The argument {name!r} is wrong: {first['msg']}. The arguments are {known}."


@contextmanager
def _tool_errors() -> Iterator[None]:
    """An agent reads what went wrong and goes on; only a defect ends it."""
    with client_messages():
        try:
            yield
        except AgenticIQAError as error:
            raise ToolException(str(error)) from error


def _content_and_artifact(result: Assessment) -> tuple[str, Assessment]:
    if result.status == "error":
        raise ToolException(result.error or "The run failed.")
    score = "" if result.score is None else f" ({result.score_text})"
    return f"Answer: {result.answer}{score}. {result.reasoning}", result
