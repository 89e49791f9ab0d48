"""The summarizer: judges whether the evidence suffices, answers, fuses scores, and explains."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field, replace
from typing import Any, Optional

from langchain_core.runnables import RunnableConfig

from agenticiqa.advice import advice_from_analysis
from agenticiqa.answers import asked_scale, asks_for_rating
from agenticiqa.errors import AgenticIQAError, BadResponseError, ImageError
from agenticiqa.nodes.ablation import may_replan
from agenticiqa.nodes.evidence import find_contradictions, find_gaps, should_replan
from agenticiqa.nodes.joint_answer import JointAnswer, ask_each, join
from agenticiqa.nodes.model_calls import Answered, Step
from agenticiqa.nodes.prompts import (
    EXPLANATION,
    EXPLANATION_PROMPT_TEMPLATE,
    SCORING,
    SCORING_PROMPT_TEMPLATE,
    views_section,
)
from agenticiqa.nodes.rating import RATING_OPTIONS, AnswerForm, ParsedAnswer, Rating, fusion_of, joined_sentences, rate
from agenticiqa.nodes.run_context import RunContext, context_of, step_reporter
from agenticiqa.score_fusion import softmax
from agenticiqa.state import (
    DEFAULT_MAX_REPLAN_ITERATIONS,
    MAX_REPLAN_HISTORY,
    AgenticIQAState,
    ExecutorOutput,
    Gap,
    PlannerOutput,
    ScoreConflict,
    SummarizerOutput,
)
from agenticiqa.vlm_client import Mode, ModelReply, ModelRequest, TypedBackend
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

# The documents put should_replan and the two templates here.
__all__ = ["EXPLANATION_PROMPT_TEMPLATE", "SCORING_PROMPT_TEMPLATE", "select_mode", "should_replan", "summarizer_node"]

logger = logging.getLogger(__name__)

PARSING_FAILED = "VLM output parsing failed"
NO_EVIDENCE_SENTENCE = "No tool or distortion evidence was available; this answer rests on direct visual analysis."
# "There is evidence of blur" does not say that evidence is lacking.
_SAYS_NO_EVIDENCE = re.compile(
    r"\b(?:no|without|lack\w*|missing|absence|insufficient)\b[^.]*\bevidence\b"
    r"|\bevidence\b[^.]*\b(?:not|un)\s?available\b|\bevidence\b[^.]*\b(?:missing|lacking|absent)\b",
    re.IGNORECASE,
)

# An executor that fails the same way twice in a row will fail a third time.
MAX_UNCHANGED_PLANS = 2

CONFLICT = "Measurements and model contradict each other"
"""How the reason of such a replan begins."""


def summarizer_node(state: AgenticIQAState, config: Optional[RunnableConfig] = None) -> dict[str, Any]:
    """Answer from the evidence, or ask the planner for more."""
    plan = state.get("plan")
    if plan is None:
        return {"error": "The summarizer was called without a plan."}
    if "executor_evidence" not in state:
        return {"error": "The summarizer was called without executor_evidence."}
    context = context_of(config)
    with context.timed("summarizer"):
        update = _Summary(state, plan, state.get("executor_evidence") or ExecutorOutput(), context).run()
    if "summarizer_result" in update:
        step_reporter()("answer", {"result": update["summarizer_result"].model_dump(mode="json")})
    return update


def select_mode(plan: PlannerOutput, query: str, *, has_options: bool, strict: bool = False) -> Mode:
    """Scoring for IQA questions that ask for a rating; everything else is a question to answer."""
    if plan.query_type != "IQA":
        return "explanation"
    if strict:
        return "scoring"
    if has_options or not asks_for_rating(query):
        logger.info("Explanation mode although the query type is IQA: the question does not ask for a rating")
        return "explanation"
    return "scoring"


def failed_result(reasoning: str, error: AgenticIQAError) -> SummarizerOutput:
    """The result of a run that has no answer."""
    return SummarizerOutput(
        final_answer=UNABLE_TO_DETERMINE, quality_reasoning=reasoning, error=f"{error.kind}: {error}"
    )


@dataclass
class _Summary:
    """One pass of the summarizer."""

    state: AgenticIQAState
    plan: PlannerOutput
    evidence: ExecutorOutput
    context: RunContext
    used: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.asked = self.context.asked(self.state)
        query, options = self.state["query"], self.asked.options
        strict = self.context.settings.pipeline.strict_mode_selection
        self.mode: Mode = select_mode(self.plan, query, has_options=bool(options), strict=strict)
        self.form = AnswerForm(query, self.mode, options)
        self.options = dict(self.form.options)
        self.without = self.state.get("without", [])
        fuses = "fusion" not in self.without
        self.tool_scores = self.evidence.tool_scores(self.plan.scope_names) if fuses else []
        distortions = sum(map(len, (self.evidence.distortion_analysis or {}).values()))
        scores = sum(map(len, (self.evidence.quality_scores or {}).values()))
        self.evidence_summary = f"{distortions} distortions, {scores} tool scores"
        self.joint: JointAnswer | None = None
        self.is_put = False
        self.conflict: ScoreConflict | None = None
        self.interval: tuple[float, float] | None = None
        self.iteration = self.state.get("iteration_count", 0)
        self.earlier_gaps = self.state.get("replan_gaps", [])
        self.limit = self.state.get("max_replan_iterations", DEFAULT_MAX_REPLAN_ITERATIONS)

    def run(self) -> dict[str, Any]:
        logger.info(
            "Summarizer: query type %s, %s mode; %s; image %s, reference %s",
            self.plan.query_type, self.mode, self.evidence_summary,
            self.state["image_path"], self.state.get("reference_path"),
        )  # fmt: skip
        step = Step("answer", self._request, self._parsed, self._typed_answer, log_context=self.evidence_summary)
        try:
            said, failed = ask_each(self.context, self.asked, step)
        except AgenticIQAError as error:
            return self._failure(error)
        settings = self.context.settings
        if len(settings.answering) == 1:
            return self._conclude(said[0])
        bare = self.mode == "scoring" and not self.tool_scores
        confidence = 1.0 if bare else settings.pipeline.fusion.class_confidence
        self.joint = join(self.form, said, failed, settings.summarizer, self._rated, confidence)
        return self._conclude(Answered(self.joint.answer, ", ".join(settings.answering.values())))

    def _parsed(self, reply: ModelReply) -> ParsedAnswer:
        """By the form at that time: an embedded model that is asked first may have settled another one."""
        return self.form.parse(reply)

    def _request(self) -> ModelRequest:
        scores, distortions = self.evidence.quality_scores, self._distortions()
        notes = dict.fromkeys(log.note for log in self.evidence.tool_logs if log.note)
        fields = {
            "options": self.form.options_section(),
            "distortion_analysis": json.dumps(distortions, ensure_ascii=False) if distortions else "",
            "tool_response": json.dumps(scores, ensure_ascii=False) if scores else "",
            "notes": "\n\n".join(f"Note: {note}." for note in notes) if scores else "",
            # A score is asked of the whole picture: views beside it would be judged with it.
            "views": views_section(self.evidence.views, attached=self.mode != "scoring"),
            "fused_tools": self._fused_tools() if self.mode == "scoring" and self.tool_scores else "",
        }
        self.is_put = True
        template = SCORING if self.mode == "scoring" else EXPLANATION
        schema, letters = self.form.schema(), tuple(self.options)
        views = () if self.mode == "scoring" else self.evidence.views
        return self.context.request("summarizer", self.state, template, fields, schema, letters, views=views)

    def _distortions(self) -> dict[str, list[dict[str, str]]]:
        """What was judged, in the documents' evidence format."""
        analysis = self.evidence.distortion_analysis or {}
        return {name: [entry.for_prompt() for entry in entries] for name, entries in analysis.items()}

    def _fused_tools(self) -> str:
        """What the tools alone say, so that the model can weigh it before it chooses."""
        fusion = fusion_of(self.context.settings.pipeline.fusion)
        score = fusion.fuse_scores(self.tool_scores, fusion.extract_vlm_probabilities({}, mode="uniform"))
        letter = fusion.map_to_level(score)
        self.used["tools_only_score"] = round(score, 4)
        return f"{score:.2f}, level {letter}. {RATING_OPTIONS[letter]}"

    def _typed_answer(self, backend: TypedBackend) -> ParsedAnswer:
        settings = self.context.settings
        # Several models are asked for the same: the first of them decides for what.
        is_decided = self.is_put and len(settings.answering) > 1
        if not settings.pipeline.strict_mode_selection and not is_decided:
            self.mode = backend.mode(self.mode)
            self.form = AnswerForm(self.state["query"], self.mode, self.asked.options)
            self.options = dict(self.form.options)
        self.is_put = True
        verdict = backend.answer(self.mode, self.plan, self.evidence)
        return replace(self.form.from_verdict(verdict), own_tools=backend.own_tools)

    def _rated(self, answer: ParsedAnswer) -> Rating | None:
        """The score of an answer with the tools, where a rating is asked for."""
        if self.mode != "scoring":
            return None
        counted = self.evidence.tool_scores(self.plan.scope_names, without=answer.own_tools)
        fusion = self.context.settings.pipeline.fusion
        return rate(fusion, self.tool_scores, answer.answer, answer.logprobs, counted if self.tool_scores else None)

    def _conclude(self, answered: Answered[ParsedAnswer]) -> dict[str, Any]:
        reply = answered.value
        reasoning = [reply.reasoning, *([self.joint.agreement] if self.joint else [])]
        score, answer = self._fused(answered, reasoning)
        contradictions = find_contradictions(self.evidence)
        if contradictions:
            self.used["contradictions"] = contradictions
            reasoning += [f"{text}." for text in contradictions]
        answered_at_all = reply.answer != UNABLE_TO_DETERMINE
        if reply.measured:
            self.used["measured"] = list(reply.measured)
        elif self.evidence.is_empty and answered_at_all and not _SAYS_NO_EVIDENCE.search(reply.reasoning):
            reasoning.append(NO_EVIDENCE_SENTENCE)
        gap = self._gap_to_replan_for(reasoning)
        if len(reasoning) > 1:
            self.used["model_reasoning"] = reply.reasoning
        result = SummarizerOutput(
            final_answer=answer,
            quality_reasoning=joined_sentences(reasoning),
            need_replan=gap is not None,
            replan_reason=gap.reason if gap else None,
            used_evidence=self._used_evidence(answered),
            quality_score=score,
            score_interval=self.interval,
            conflict=self.conflict,
            advice=list(reply.advice or advice_from_analysis(self.evidence.distortion_analysis or {})),
            doubt=reply.doubt,
            models=self.joint.models if self.joint else [],
            agreement=self.joint.agreement if self.joint else None,
        )
        return {"summarizer_result": result, "error": None, **self._iteration_update(gap)}

    def _fused(self, answered: Answered[ParsedAnswer], reasoning: list[str]) -> tuple[float | None, str]:
        logprobs, letter = answered.value.logprobs, answered.value.answer
        rating = self._rated(answered.value)
        if rating is None:
            if logprobs:
                self.used["option_probabilities" if self.options else "answer_probabilities"] = softmax(logprobs)
            return None, letter
        from_probabilities = answered.value.from_probabilities
        self.used["fusion"], self.conflict, self.interval = rating.details, rating.conflict, rating.interval
        if self.joint:
            rating.details["p_source"] = "several models"
            if not self.tool_scores and not any(each.probabilities for each in self.joint.models):
                # Bare letters only: how far they lie apart says nothing about what people would say.
                self.interval = None
        if scale := asked_scale(self.state["query"]):
            self.used["asked_scale"] = scale.text(rating.score)
            reasoning.insert(0, f"On the scale asked for: {scale.text(rating.score)}.")
        chosen = f"{letter} ({RATING_OPTIONS[letter]})"
        if self.conflict:
            low, high = self.conflict.interval
            reasoning.append(f"Conflict: {self.conflict} ({chosen}); the score is between {low:.2f} and {high:.2f}.")
        elif rating.letter != letter:
            fused = f"{rating.score:.2f} corresponds to {rating.letter} ({RATING_OPTIONS[rating.letter]})"
            verb = "alone says" if from_probabilities else "chose"
            who = "the models together say" if self.joint else f"the model {verb}"
            reasoning.append(f"The fused score {fused}, {who} {chosen}.")
            letter = rating.letter if from_probabilities else letter
        return rating.score, letter

    def _used_evidence(self, answered: Answered[ParsedAnswer]) -> dict[str, Any]:
        scores = self.evidence.quality_scores or {}
        return {
            "mode": self.mode,
            "backend": answered.backend,
            "distortions": self._distortions(),
            "quality_scores": {n: {k: list(v) for k, v in by.items()} for n, by in scores.items()},
            **({"options": self.options} if self.mode == "explanation" and self.options else {}),
            **self.used,
        }

    def _gap_to_replan_for(self, reasoning: list[str]) -> Gap | None:
        """The most critical gap, if planning again may close it; gaps that stay open are recorded."""
        gaps = self._gaps()
        if not gaps:
            return None
        reason, unchanged = gaps[0].reason, self.state.get("unchanged_plans", 0)
        recent = [gap.reason for gap in self.earlier_gaps[-MAX_UNCHANGED_PLANS:]]
        if not may_replan(self.without):
            pass
        elif self.iteration >= self.limit:
            logger.warning("Max replanning iterations reached")
        elif recent == [reason] * MAX_UNCHANGED_PLANS and unchanged >= MAX_UNCHANGED_PLANS:
            reasoning.append(f"Planning again was given up: the same plan left the same gap ({reason}).")
            logger.warning("Same plan and same reason again, replanning stops: %s", reason)
        else:
            logger.info("need_replan=true, reason: %s, iteration_count: %d", reason, self.iteration)
            return gaps[0]
        self.used["evidence_gaps"] = [gap.reason for gap in gaps]
        return None

    def _gaps(self) -> list[Gap]:
        """Gaps that may still be closed: a contradiction, and a conflict, is worth one replan only."""
        gaps = find_gaps(self.evidence, self.plan.query_scope, self.plan)
        if not may_replan(self.without):
            return [gap for gap in gaps if gap.kind != "contradiction"]
        # What a conflict's readings are may differ from pass to pass, so only its kind is compared. Tools that the user
        # named are the ones to measure with: there are no others to ask.
        had_conflict = any(gap.kind == "conflict" for gap in self.earlier_gaps)
        allowed = self.context.settings.pipeline.replan_on_conflict and not self.plan.named_tools
        if self.conflict and allowed and not had_conflict:
            gaps.append(Gap("conflict", f"{CONFLICT}: {self.conflict}"))
        return [gap for gap in gaps if gap.kind != "contradiction" or gap not in self.earlier_gaps]

    def _iteration_update(self, gap: Gap | None) -> dict[str, Any]:
        if gap is None:
            return {"iteration_count": self.iteration}
        count = self.iteration + 1
        history = [*self.state.get("replan_history", []), f"[Iteration {count}] {gap.reason}"]
        if len(history) > MAX_REPLAN_HISTORY:
            logger.warning("Excessive replanning: more than %d entries, the oldest are dropped", MAX_REPLAN_HISTORY)
        return {
            "iteration_count": count,
            "replan_history": history[-MAX_REPLAN_HISTORY:],
            "replan_gaps": [*self.earlier_gaps, gap][-MAX_REPLAN_HISTORY:],
        }

    def _failure(self, error: AgenticIQAError) -> dict[str, Any]:
        """A result without an answer; on a replan, the earlier pass's answer."""
        self.context.error_kind = error.kind
        if isinstance(error, BadResponseError):
            reasoning, detail = PARSING_FAILED, f"the model's full output: {error.output}"
        elif isinstance(error, ImageError):
            reasoning, detail = f"A picture could not be loaded: {error}", "a picture could not be loaded"
        else:
            reasoning, detail = "The summarizer's model could not be asked", "its model could not be asked"
        logger.error(
            "Summarizer failed with %s (%s) on %s; %s",
            type(error).__name__, error.message, self.evidence_summary, detail,
        )  # fmt: skip
        run_error = {"error": f"{reasoning}: {error}"}
        earlier = self.state.get("summarizer_result")
        if earlier is not None and earlier.error is None:
            return run_error
        result = {"summarizer_result": failed_result(reasoning, error), "iteration_count": self.iteration}
        return result if isinstance(error, (BadResponseError, ImageError)) else result | run_error
