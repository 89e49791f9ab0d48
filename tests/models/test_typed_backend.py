"""A backend that is no language model: what its verdict makes of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from agenticiqa.state import ExecutorOutput, PlanControlFlags, PlannerOutput
from agenticiqa.vlm_client import (
    Analysis,
    Distortions,
    Mode,
    OfferedTool,
    Question,
    Selection,
    TypedBackend,
    Verdict,
    VLMClient,
)

DOUBT = "Nobody has ever measured that."


class Plugged(TypedBackend):
    """Answers everything alike."""

    name = "plugged"

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    def plan(self, previous: PlannerOutput | None = None) -> PlannerOutput:
        return PlannerOutput(
            query_type="Other",
            query_scope="Global",
            distortion_source="Inferred",
            distortions=None,
            reference_mode="No-Reference",
            required_tool=None,
            plan=PlanControlFlags(
                distortion_detection=False, distortion_analysis=False, tool_selection=False, tool_execution=False
            ),
        )

    def detect(self, scope: Sequence[str]) -> Distortions:
        return {}

    def analyse(self, distortions: Mapping[str, Sequence[str]]) -> Analysis:
        return {}

    def select(self, distortions: Mapping[str, Sequence[str]], tools: Sequence[OfferedTool]) -> Selection:
        return {}

    def answer(self, mode: Mode, plan: PlannerOutput, evidence: ExecutorOutput) -> Verdict:
        return self.verdict


class PluggedClient(VLMClient):
    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict

    @property
    def backend(self) -> str:
        return "plugged"

    def generate(self, prompt, images, **kwargs):
        pytest.fail("no prompt is sent to a typed backend")

    def typed_backend_for(self, asked: Question) -> TypedBackend:
        return Plugged(self.verdict)


@pytest.mark.parametrize(
    ("verdict", "status", "reasoning"),
    [
        (Verdict("Yes", "It is striped."), "ok", "It is striped."),
        (Verdict("Yes", "It is striped.", doubt=DOUBT), "partial", f"{DOUBT} It is striped."),
        (Verdict("Yes", f"Striped. {DOUBT}", doubt=DOUBT), "partial", f"Striped. {DOUBT}"),
    ],
)
def test_a_doubt_makes_the_run_partial_and_is_told_once(assessor, pair, verdict, status, reasoning):
    result = assessor(PluggedClient(verdict)).assess(pair.test, "Is it striped?")
    assert (result.status, result.answer) == (status, "Yes")
    assert result.reasoning.startswith(reasoning)
    assert result.reasoning.count(DOUBT) == (verdict.doubt is not None)
    assert result.summarizer_result.doubt == verdict.doubt


class FormerPlugIn(VLMClient):
    """Written for the version before."""

    backend = "former"

    def generate(self, prompt, images=None, **kwargs):
        pytest.fail("no prompt is sent to a typed backend")

    def mind_for(self, asked: Question) -> TypedBackend:
        return Plugged(Verdict("Yes", f"Asked: {asked.query}"))


def test_a_plug_in_that_defines_the_former_name_works_with_a_warning(assessor, pair):
    with pytest.warns(DeprecationWarning, match="typed_backend_for"):
        result = assessor(FormerPlugIn()).assess(pair.test, "Is it striped?")
    assert result.answer == "Yes"
