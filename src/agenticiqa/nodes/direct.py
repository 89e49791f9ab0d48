"""The bare model: the same question and pictures, put to the summarizer's model without agents and tools.

What the agents are worth shows only beside it, so everything else is the same: how replies are parsed, probabilities
read, calls counted and scores made.
"""

from __future__ import annotations

import logging
from typing import Any, Optional

from langchain_core.runnables import RunnableConfig

from agenticiqa.answers import asks_for_rating
from agenticiqa.errors import AgenticIQAError, BadResponseError
from agenticiqa.nodes.model_calls import Answered, Step
from agenticiqa.nodes.prompts import DIRECT_ANSWER, DIRECT_RATING
from agenticiqa.nodes.rating import AnswerForm, ParsedAnswer, rate
from agenticiqa.nodes.run_context import RunContext, context_of, step_reporter
from agenticiqa.nodes.summarizer import PARSING_FAILED, select_mode
from agenticiqa.score_fusion import softmax
from agenticiqa.state import AgenticIQAState, ExecutorOutput, SummarizerOutput
from agenticiqa.vlm_client import Mode, ModelRequest, TypedBackend, create_vlm_client
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

logger = logging.getLogger(__name__)


def direct_node(state: AgenticIQAState, config: Optional[RunnableConfig] = None) -> dict[str, Any]:
    """Ask once and keep the answer in the summarizer's form; there is no plan and no evidence."""
    context = context_of(config)
    report = step_reporter()
    with context.timed("direct"):
        update = _DirectQuestion(state, context).run()
    if "summarizer_result" in update:
        report("answer", {"result": update["summarizer_result"].model_dump(mode="json")})
    return update


class _DirectQuestion:
    """One question to one model."""

    def __init__(self, state: AgenticIQAState, context: RunContext) -> None:
        self.state, self.context = state, context

    def run(self) -> dict[str, Any]:
        try:
            self.asked = self.context.asked(self.state)
            rating = not self.asked.options and asks_for_rating(self.state["query"])
            self.form = self._form("scoring" if rating else "explanation")
            answered = self._ask()
        except AgenticIQAError as error:
            logger.error("The direct question failed: %s", error)  # noqa: TRY400 - the message says it all
            return self._failed(error)
        return {"summarizer_result": self._result(answered), "error": None}

    def _form(self, mode: Mode) -> AnswerForm:
        return AnswerForm(self.state["query"], mode, self.asked.options)

    def _ask(self) -> Answered[ParsedAnswer]:
        step = Step("direct", request=self._request, parse=self.form.parse, typed_call=self._typed_answer)
        return self.context.asker("summarizer", self.asked, create_vlm_client).ask(step)

    def _request(self) -> ModelRequest:
        role = self.context.settings.summarizer
        fields = {"query": self.state["query"].strip(), "options": self.form.options_section()}
        template = DIRECT_RATING if self.form.mode == "scoring" else DIRECT_ANSWER
        system, user = self.context.prompts.fill(template, fields)
        return ModelRequest(
            system=system,
            user=user,
            images=self.context.labelled_pictures(self.state),
            schema=self.form.schema(),
            answer_letters=tuple(self.form.options),
            temperature=role.temperature,
            top_p=role.top_p,
            max_tokens=role.max_tokens,
            timeout_s=role.timeout_s,
        )

    def _typed_answer(self, backend: TypedBackend) -> ParsedAnswer:
        """A typed backend needs no prompt, but its own reading of the question: that is its plan."""
        plan = backend.plan()
        self.form = self._form(select_mode(plan, self.state["query"], has_options=bool(self.asked.options)))
        return self.form.understood(backend.answer(self.form.mode, plan, ExecutorOutput()))

    def _result(self, answered: Answered[ParsedAnswer]) -> SummarizerOutput:
        answer, form = answered.value, self.form
        used: dict[str, Any] = {"mode": form.mode, "backend": answered.backend}
        score = None
        if form.mode == "scoring":
            rating = rate(self.context.settings.pipeline.fusion, [], answer.answer, answer.logprobs)
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

    def _failed(self, error: AgenticIQAError) -> dict[str, Any]:
        """A result that says that there is no answer; a model that could not be asked is the run's error too."""
        self.context.note_failure(error)
        unreadable = isinstance(error, BadResponseError)
        reasoning = PARSING_FAILED if unreadable else "The model could not be asked"
        result = SummarizerOutput(
            final_answer=UNABLE_TO_DETERMINE, quality_reasoning=reasoning, error=f"{error.kind}: {error}"
        )
        return {"summarizer_result": result, **({} if unreadable else {"error": f"{reasoning}: {error}"})}
