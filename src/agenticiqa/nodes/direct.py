"""The bare model: the same question and pictures, put to the summarizer's model without agents and tools.

It is the baseline that the agents are compared with, so everything else is the same: how replies are parsed,
probabilities read, calls counted and scores made.
"""

from __future__ import annotations

import logging
from typing import Any, Optional

from langchain_core.runnables import RunnableConfig

from agenticiqa.answers import asks_for_rating
from agenticiqa.errors import AgenticIQAError, BadResponseError
from agenticiqa.nodes.joint_answer import ask_each, join
from agenticiqa.nodes.model_calls import Answered, Step
from agenticiqa.nodes.prompts import DIRECT_ANSWER, DIRECT_RATING
from agenticiqa.nodes.rating import AnswerForm, ParsedAnswer, Rating, joined_sentences, rate
from agenticiqa.nodes.run_context import RunContext, context_of, step_reporter
from agenticiqa.nodes.summarizer import PARSING_FAILED, failed_result, select_mode
from agenticiqa.score_fusion import softmax
from agenticiqa.state import AgenticIQAState, ExecutorOutput, SummarizerOutput
from agenticiqa.vlm_client import ModelRequest, TypedBackend

logger = logging.getLogger(__name__)


def direct_node(state: AgenticIQAState, config: Optional[RunnableConfig] = None) -> dict[str, Any]:
    """Ask once and keep the answer in the summarizer's form; there is no plan and no evidence."""
    context = context_of(config)
    with context.timed("direct"):
        try:
            update: dict[str, Any] = {"summarizer_result": _answer(state, context), "error": None}
        except AgenticIQAError as error:
            logger.error("The direct question failed: %s", error)  # noqa: TRY400 - the message says it all
            context.error_kind = error.kind
            # A model that could not be asked is, unlike a bad reply, the run's error too.
            bad_reply = isinstance(error, BadResponseError)
            reasoning = PARSING_FAILED if bad_reply else "The model could not be asked"
            update = {"summarizer_result": failed_result(reasoning, error)}
            update |= {} if bad_reply else {"error": f"{reasoning}: {error}"}
    step_reporter()("answer", {"result": update["summarizer_result"].model_dump(mode="json")})
    return update


def _answer(state: AgenticIQAState, context: RunContext) -> SummarizerOutput:
    asked, query = context.asked(state), state["query"]
    settings, rating = context.settings, not asked.options and asks_for_rating(query)
    several = len(settings.answering) > 1
    form = AnswerForm(query, "scoring" if rating else "explanation", asked.options)

    def request() -> ModelRequest:
        template = DIRECT_RATING if rating else DIRECT_ANSWER
        fields = {"options": form.options_section()}
        return context.request("summarizer", state, template, fields, form.schema(), tuple(form.options))

    def typed_answer(backend: TypedBackend) -> tuple[AnswerForm, ParsedAnswer]:
        """A typed backend needs no prompt, but its own reading of the question: that is its plan."""
        plan = backend.plan()
        own = form
        if not several:
            own = AnswerForm(query, select_mode(plan, query, has_options=bool(asked.options)), asked.options)
        return own, own.from_verdict(backend.answer(own.mode, plan, ExecutorOutput()))

    step = Step("direct", request, parse=lambda reply: (form, form.parse_plain(reply)), typed_call=typed_answer)
    said, failed = ask_each(context, asked, step)
    if not several:
        return _result(*said[0].value, said[0].backend, context)
    replies = [Answered(each.value[1], each.backend) for each in said]
    confidence = 1.0 if rating else settings.pipeline.fusion.class_confidence
    joint = join(form, replies, failed, settings.summarizer, lambda answer: _rated(form, answer, context), confidence)
    result = _result(form, joint.answer, ", ".join(settings.answering.values()), context)
    rated = _rated(form, joint.answer, context)
    return result.model_copy(
        update={
            "final_answer": rated.letter if rated else result.final_answer,
            "quality_reasoning": joined_sentences([result.quality_reasoning, joint.agreement]),
            "models": joint.models,
            "agreement": joint.agreement,
        }
    )


def _rated(form: AnswerForm, answer: ParsedAnswer, context: RunContext) -> Rating | None:
    rated = form.mode == "scoring"
    return rate(context.settings.pipeline.fusion, [], answer.answer, answer.logprobs) if rated else None


def _result(form: AnswerForm, answer: ParsedAnswer, backend: str, context: RunContext) -> SummarizerOutput:
    used: dict[str, Any] = {"mode": form.mode, "backend": backend}
    score = None
    if rating := _rated(form, answer, context):
        score, used["fusion"] = rating.score, rating.details
    elif form.options:
        used["options"] = dict(form.options)
        if answer.logprobs:
            used["option_probabilities"] = softmax(answer.logprobs)
    return SummarizerOutput(
        final_answer=answer.answer,
        quality_reasoning=answer.reasoning,
        used_evidence=used,
        quality_score=score,
        advice=list(answer.advice),
        doubt=answer.doubt,
    )
