"""The summarizer: judges whether the evidence suffices, answers, fuses scores, and explains."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, field
from typing import Any, Optional

from langchain_core.runnables import RunnableConfig

from agenticiqa.advice import advice_from_analysis
from agenticiqa.answers import asked_scale, asks_for_rating
from agenticiqa.errors import AgenticIQAError, BadResponseError, ImageError
from agenticiqa.models.backends import create_vlm_client
from agenticiqa.nodes.ablation import may_replan
from agenticiqa.nodes.evidence import Gap, find_contradictions, find_gaps, should_replan
from agenticiqa.nodes.model_calls import Answered, Step
from agenticiqa.nodes.prompts import EXPLANATION, EXPLANATION_PROMPT_TEMPLATE, SCORING, SCORING_PROMPT_TEMPLATE
from agenticiqa.nodes.rating import RATING_OPTIONS, AnswerForm, ParsedAnswer, fusion_of, joined_sentences, rate
from agenticiqa.nodes.run_context import RunContext, context_of, step_reporter
from agenticiqa.score_fusion import softmax
from agenticiqa.state import (
    DEFAULT_MAX_REPLAN_ITERATIONS,
    MAX_REPLAN_HISTORY,
    AgenticIQAState,
    ExecutorOutput,
    PlannerOutput,
    ScoreConflict,
    SummarizerOutput,
)
from agenticiqa.vlm_client import Mode, ModelRequest, TypedBackend
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
"""How the reason of such a replan begins; what was read may differ from pass to pass."""


def summarizer_node(state: AgenticIQAState, config: Optional[RunnableConfig] = None) -> dict[str, Any]:
    """Answer from the evidence, or ask the planner for more."""
    plan = state.get("plan")
    if plan is None:
        return {"error": "The summarizer was called without a plan."}
    if "executor_evidence" not in state:
        return {"error": "The summarizer was called without executor_evidence."}
    context = context_of(config)
    report = step_reporter()
    with context.timed("summarizer"):
        update = _Summary(state, plan, state.get("executor_evidence") or ExecutorOutput(), context).run()
    if "summarizer_result" in update:
        report("answer", {"result": update["summarizer_result"].model_dump(mode="json")})
    return update


def select_mode(plan: PlannerOutput, query: str, *, has_options: bool, strict: bool = False) -> Mode:
    """Scoring for IQA questions that ask for a rating; everything else is a question to answer.

    >>> from agenticiqa.state import PlannerOutput
    >>> plan = PlannerOutput.model_validate(PlannerOutput.model_config["json_schema_extra"]["examples"][0])
    >>> select_mode(plan, "Is the vehicle blurry?", has_options=False)
    'explanation'
    >>> select_mode(plan, "Is the vehicle blurry?", has_options=False, strict=True)
    'scoring'
    """
    if plan.query_type != "IQA":
        return "explanation"
    if strict:
        return "scoring"
    if has_options or not asks_for_rating(query):
        logger.info("Explanation mode although the query type is IQA: the question does not ask for a rating")
        return "explanation"
    return "scoring"


@dataclass
class _Summary:
    """One pass of the summarizer."""

    state: AgenticIQAState
    plan: PlannerOutput
    evidence: ExecutorOutput
    context: RunContext
    used: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pipeline = self.context.settings.pipeline
        self.asked = self.context.asked(self.state)
        query, options = self.state["query"], self.asked.options
        self.mode: Mode = select_mode(
            self.plan, query, has_options=bool(options), strict=pipeline.strict_mode_selection
        )
        self.form = AnswerForm(query, self.mode, options)
        self.options = dict(self.form.options)
        self.without = self.state.get("without", [])
        fuses = "fusion" not in self.without
        self.tool_scores = self.evidence.tool_scores(self.plan.scope_names) if fuses else []
        self.counted_scores: list[float] | None = None
        self.conflict: ScoreConflict | None = None
        self.interval: tuple[float, float] | None = None
        self.iteration = self.state.get("iteration_count", 0)
        self.limit = self.state.get("max_replan_iterations", DEFAULT_MAX_REPLAN_ITERATIONS)

    def run(self) -> dict[str, Any]:
        self._log_start()
        try:
            answered = self._ask()
        except BadResponseError as error:
            self._log_failure(error, f"the model's full output: {error.output}")
            return self._failure(PARSING_FAILED, error)
        except ImageError as error:
            self._log_failure(error, "a picture could not be loaded")
            return self._failure(f"A picture could not be loaded: {error}", error)
        except AgenticIQAError as error:
            self._log_failure(error, "its model could not be asked")
            return self._no_model(error)
        return self._conclude(answered)

    # --- asking ---

    def _ask(self) -> Answered[ParsedAnswer]:
        step = Step(
            "answer",
            request=self._request,
            parse=self.form.parse,
            typed_call=self._typed_answer,
            about=self._evidence_summary(),
        )
        return self.context.asker("summarizer", self.asked, create_vlm_client).ask(step)

    def _request(self) -> ModelRequest:
        role = self.context.settings.summarizer
        system, user = self.context.prompts.fill(SCORING if self.mode == "scoring" else EXPLANATION, self._fields())
        return ModelRequest(
            system=system,
            user=user,
            images=self.context.labelled_pictures(self.state),
            schema=self.form.schema(),
            answer_letters=tuple(self.options),
            temperature=role.temperature,
            top_p=role.top_p,
            max_tokens=role.max_tokens,
            timeout_s=role.timeout_s,
        )

    def _fields(self) -> dict[str, str]:
        analysis, scores = self.evidence.distortion_analysis, self.evidence.quality_scores
        told = {name: [entry.for_prompt() for entry in entries] for name, entries in (analysis or {}).items()}
        return {
            "query": self.state["query"].strip(),
            "options": self.form.options_section(),
            "distortion_analysis": json.dumps(told, ensure_ascii=False) if told else "",
            "tool_response": json.dumps(scores, ensure_ascii=False) if scores else "",
            "notes": "\n\n".join(f"Note: {note}." for note in self._notes()) if scores else "",
            "fused_tools": self._fused_tools() if self.mode == "scoring" and self.tool_scores else "",
        }

    def _notes(self) -> list[str]:
        return list(dict.fromkeys(log.note for log in self.evidence.tool_logs if log.note))

    def _fused_tools(self) -> str:
        """What the tools alone say, so that the model can weigh it before it chooses."""
        fusion = fusion_of(self.context.settings.pipeline.fusion)
        score = fusion.fuse_scores(self.tool_scores, fusion.extract_vlm_probabilities({}, mode="uniform"))
        letter = fusion.map_to_level(score)
        self.used["tools_only_score"] = round(score, 4)
        return f"{score:.2f}, level {letter}. {RATING_OPTIONS[letter]}"

    def _typed_answer(self, backend: TypedBackend) -> ParsedAnswer:
        if self.tool_scores:
            self.counted_scores = self.evidence.tool_scores(self.plan.scope_names, without=backend.own_tools)
        return self.form.understood(backend.answer(self.mode, self.plan, self.evidence))

    # --- concluding ---

    def _conclude(self, answered: Answered[ParsedAnswer]) -> dict[str, Any]:
        reply = answered.value
        reasoning = [reply.reasoning]
        score, answer = self._fused(answered, reasoning)
        contradictions = find_contradictions(self.evidence)
        if contradictions:
            self.used["contradictions"] = contradictions
            reasoning += [f"{text}." for text in contradictions]
        answered_at_all = reply.answer != UNABLE_TO_DETERMINE
        if self.evidence.is_empty and answered_at_all and not _SAYS_NO_EVIDENCE.search(reply.reasoning):
            reasoning.append(NO_EVIDENCE_SENTENCE)
        need_replan, reason = self._replan_decision(reasoning)
        if len(reasoning) > 1:
            self.used["model_reasoning"] = reply.reasoning
        result = SummarizerOutput(
            final_answer=answer,
            quality_reasoning=joined_sentences(reasoning),
            need_replan=need_replan,
            replan_reason=reason,
            used_evidence=self._used_evidence(answered),
            quality_score=score,
            score_interval=self.interval,
            conflict=self.conflict,
            advice=list(reply.advice or advice_from_analysis(self.evidence.distortion_analysis or {})),
            doubt=reply.doubt,
        )
        return {"summarizer_result": result, "error": None, **self._iteration_update(result)}

    def _fused(self, answered: Answered[ParsedAnswer], reasoning: list[str]) -> tuple[float | None, str]:
        """The fused score of a rating, and the answer."""
        logprobs, letter = answered.value.logprobs, answered.value.answer
        if self.mode != "scoring":
            if logprobs:
                self.used["option_probabilities" if self.options else "answer_probabilities"] = softmax(logprobs)
            return None, letter
        fusion = self.context.settings.pipeline.fusion
        rating = rate(fusion, self.tool_scores, letter, logprobs, self.counted_scores)
        weighed = answered.value.weighed
        self.used["fusion"], self.conflict = rating.details, rating.conflict
        self.interval = rating.interval
        if scale := asked_scale(self.state["query"]):
            self.used["asked_scale"] = scale.text(rating.score)
            reasoning.insert(0, f"On the scale asked for: {scale.text(rating.score)}.")
        chosen = f"{letter} ({RATING_OPTIONS[letter]})"
        if self.conflict:
            low, high = self.conflict.interval
            reasoning.append(f"Conflict: {self.conflict} ({chosen}); the score is between {low:.2f} and {high:.2f}.")
        elif rating.letter != letter:
            fused = f"{rating.score:.2f} corresponds to {rating.letter} ({RATING_OPTIONS[rating.letter]})"
            reasoning.append(f"The fused score {fused}, the model {'alone says' if weighed else 'chose'} {chosen}.")
            letter = rating.letter if weighed else letter
        return rating.score, letter

    def _used_evidence(self, answered: Answered[ParsedAnswer]) -> dict[str, Any]:
        scores = self.evidence.quality_scores or {}
        analysis = self.evidence.distortion_analysis or {}
        return {
            "mode": self.mode,
            "backend": answered.backend,
            "distortions": {name: [e.for_prompt() for e in entries] for name, entries in analysis.items()},
            "quality_scores": {n: {k: list(v) for k, v in by.items()} for n, by in scores.items()},
            **({"options": self.options} if self.mode == "explanation" and self.options else {}),
            **self.used,
        }

    # --- planning again ---

    def _replan_decision(self, reasoning: list[str]) -> tuple[bool, str | None]:
        gaps = self._gaps()
        if not gaps:
            return False, None
        reason = gaps[0].reason
        if not may_replan(self.without):
            self.used["evidence_gaps"] = [gap.reason for gap in gaps]
            return False, None
        if self.iteration >= self.limit:
            logger.warning("Max replanning iterations reached")
            self.used["evidence_gaps"] = [gap.reason for gap in gaps]
            return False, None
        if self._going_in_circles(reason):
            self.used["evidence_gaps"] = [gap.reason for gap in gaps]
            reasoning.append(f"Planning again was given up: the same plan left the same gap ({reason}).")
            logger.warning("Same plan and same reason again, replanning stops: %s", reason)
            return False, None
        logger.info("need_replan=true, reason: %s, iteration_count: %d", reason, self.iteration)
        return True, reason

    def _gaps(self) -> list[Gap]:
        """Gaps that may still be closed: a contradiction, and a conflict, is worth one replan only."""
        history = self.state.get("replan_history", [])
        gaps = find_gaps(self.evidence, self.plan.query_scope, self.plan)
        if not may_replan(self.without):
            return [gap for gap in gaps if gap.kind != "contradiction"]
        # Tools that the user named are the ones to measure with: there are no others to ask.
        if self.conflict and not self.plan.named_tools and not any(CONFLICT in entry for entry in history):
            gaps.append(Gap("conflict", f"{CONFLICT}: {self.conflict}"))
        known = [gap for gap in gaps if gap.kind == "contradiction" and any(gap.reason in entry for entry in history)]
        return [gap for gap in gaps if gap not in known]

    def _going_in_circles(self, reason: str) -> bool:
        recent = self.state.get("replan_history", [])[-MAX_UNCHANGED_PLANS:]
        repeated = len(recent) == MAX_UNCHANGED_PLANS and all(entry.endswith(f"] {reason}") for entry in recent)
        return repeated and self.state.get("unchanged_plans", 0) >= MAX_UNCHANGED_PLANS

    def _iteration_update(self, result: SummarizerOutput) -> dict[str, Any]:
        if not result.need_replan:
            return {"iteration_count": self.iteration}
        count = self.iteration + 1
        history = [*self.state.get("replan_history", []), f"[Iteration {count}] {result.replan_reason}"]
        if len(history) > MAX_REPLAN_HISTORY:
            logger.warning("Excessive replanning: more than %d entries, the oldest are dropped", MAX_REPLAN_HISTORY)
            history = history[-MAX_REPLAN_HISTORY:]
        return {"iteration_count": count, "replan_history": history}

    # --- failing ---

    def _failure(self, reasoning: str, error: AgenticIQAError) -> dict[str, Any]:
        """A result that says that there is no answer; on a replan the earlier pass's answer is kept instead."""
        self.context.note_failure(error)
        earlier = self.state.get("summarizer_result")
        if earlier is not None and earlier.error is None:
            return {"error": f"{reasoning}: {error}"}
        result = SummarizerOutput(
            final_answer=UNABLE_TO_DETERMINE, quality_reasoning=reasoning, error=f"{error.kind}: {error}"
        )
        return {"summarizer_result": result, "iteration_count": self.iteration}

    def _no_model(self, error: AgenticIQAError) -> dict[str, Any]:
        """The model could not be reached: unlike a bad reply, that is the run's error too."""
        reasoning = "The summarizer's model could not be asked"
        return {"error": f"{reasoning}: {error}", **self._failure(reasoning, error)}

    def _evidence_summary(self) -> str:
        distortions = sum(len(entries) for entries in (self.evidence.distortion_analysis or {}).values())
        scores = sum(len(by_kind) for by_kind in (self.evidence.quality_scores or {}).values())
        return f"{distortions} distortions, {scores} tool scores"

    def _log_failure(self, error: AgenticIQAError, what: str) -> None:
        logger.error(
            "Summarizer failed with %s (%s) on %s; %s",
            type(error).__name__, error.message, self._evidence_summary(), what,
        )  # fmt: skip

    def _log_start(self) -> None:
        logger.info(
            "Summarizer: query type %s, %s mode; %s; image %s, reference %s",
            self.plan.query_type,
            self.mode,
            self._evidence_summary(),
            self.state["image_path"],
            self.state.get("reference_path"),
        )
