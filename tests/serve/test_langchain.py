"""The LangChain tool: an agent gets answers with evidence, and errors as errors."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from agenticiqa import AgenticIQA, Assessment
from agenticiqa.serve.langchain import image_quality_tool
from support.pictures import save, scene

pytestmark = pytest.mark.usefixtures("isolated")

PICTURE = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion_compressed.jpg"


@pytest.fixture
def tool():
    with AgenticIQA("embedded") as assessor:
        yield image_quality_tool(assessor)


def called(tool, **arguments) -> ToolMessage:
    return tool.invoke({"type": "tool_call", "name": tool.name, "args": arguments, "id": "1"})


def test_an_agent_gets_the_answer_and_the_whole_result(tool):
    message = called(tool, image=str(PICTURE), query="Which dominates?", options=["Noise", "Compression"])
    assert message.status == "success"
    assert message.content.startswith("Answer: B")
    assert isinstance(message.artifact, Assessment)
    assert message.artifact.plan is not None


def test_a_failed_run_is_a_tool_error(tool):
    message = called(tool, image="/nowhere.png")
    assert message.status == "error"
    assert "no file" in message.content


def test_a_picture_is_scaled_to_its_reference_where_told(tool, tmp_path):
    small = str(save(tmp_path / "small.png", scene(64, 80)))
    large = str(save(tmp_path / "large.png", scene(96, 120)))
    refused = called(tool, image=small, reference=large)
    assert refused.status == "error"
    assert "align: resize" in refused.content
    scaled = called(tool, image=small, reference=large, align="resize")
    assert scaled.artifact.metadata["image_size"] == [120, 96]
    assert called(tool, image=small, align="stretch").status == "error"


def test_a_question_that_cannot_be_asked_is_a_tool_error(tool):
    """What the package refuses before a run begins must not end the agent either."""
    message = called(tool, image=str(PICTURE), query="lone surrogate: \ud800")
    assert message.status == "error"
    assert "Unicode" in message.content


def test_it_works_inside_a_tool_node_without_blocking(tool):
    asking = AIMessage("", tool_calls=[{"name": tool.name, "args": {"image": str(PICTURE)}, "id": "7"}])
    graph = StateGraph(MessagesState).add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "tools").add_edge("tools", END)
    state = anyio.run(lambda: graph.compile().ainvoke({"messages": [asking]}))
    assert state["messages"][-1].content.startswith("Answer: ")


def test_a_notebook_shows_the_result():
    with AgenticIQA("embedded") as assessor:
        html = assessor.assess(PICTURE)._repr_html_()
    assert html.startswith('<div class="agenticiqa">')
    assert "data:image/jpeg;base64," in html
    assert "<script" not in html
    assert "body {" not in html


def test_unknown_arguments_are_refused_and_named():
    said = image_quality_tool().invoke({"image": "photo.jpg", "querry": "Is it sharp?"})
    assert "querry" in said
    assert "image, query, reference, options" in said
