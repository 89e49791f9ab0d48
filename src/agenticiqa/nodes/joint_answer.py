"""Several models, one answer: each is asked the same from the same evidence, and their chances are weighed together.

The joint chances are the weighted mean of the models' own. They take the place of one model's in everything that
follows, so that a joint score comes about, is doubted and is explained like any other. The words are those of the model
that is nearest to the joint answer.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from agenticiqa.answers import is_yes_no
from agenticiqa.errors import AgenticIQAError
from agenticiqa.nodes.model_calls import Answered, Step
from agenticiqa.nodes.rating import AnswerForm, ParsedAnswer, Rating
from agenticiqa.nodes.run_context import RunContext
from agenticiqa.runtime.config import SummarizerSettings
from agenticiqa.score_fusion import softmax
from agenticiqa.state import ModelAnswer
from agenticiqa.vlm_client import Question
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE

logger = logging.getLogger(__name__)

T = TypeVar("T")
_COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def ask_each(
    context: RunContext, asked: Question, step: Step[T]
) -> tuple[list[Answered[T]], dict[str, AgenticIQAError]]:
    """What each model that answers says to one step, and how others failed, by backend; raises where none answers."""
    answering = context.settings.answering
    said: list[Answered[T]] = []
    failed: dict[str, AgenticIQAError] = {}
    for role, backend in answering.items():
        try:
            answered = context.model_caller(role, asked).ask(step)
        except AgenticIQAError as error:
            if len(answering) == 1:
                raise
            logger.warning("%s gives no answer: %s", backend, error)
            failed[backend] = error
        else:
            said.append(answered if len(answering) == 1 else replace(answered, backend=backend))
    if not said:
        first, *others = failed.items()
        first[1].message += "".join(f" {name} failed too: {error.message}" for name, error in others)
        raise first[1]
    return said, failed


@dataclass(frozen=True)
class JointAnswer:
    """What several models say together: one answer as if one model had given it, and what it is made of."""

    answer: ParsedAnswer
    models: list[ModelAnswer]
    agreement: str
    """Who says what, in words."""


@dataclass(frozen=True)
class _Voice:
    """One model's part in the joint answer."""

    backend: str
    said: ParsedAnswer
    weight: float
    """0 where it cannot tell."""
    chances: Mapping[str, float]
    """Of the choices; its own, or what is assumed around a bare answer."""
    rating: Rating | None

    @property
    def choice(self) -> str:
        """Which of the choices it means: of "Yes, on the whole" the yes."""
        return self.said.answer if self.said.answer in self.chances else max(self.chances, key=self.chances.__getitem__)

    @property
    def letter(self) -> str:
        return self.rating.letter if self.rating and self.said.from_probabilities else self.choice

    def as_model(self) -> ModelAnswer:
        return ModelAnswer(
            backend=self.backend,
            weight=round(self.weight, 6),
            answer=self.letter if self.rating else self.said.answer,
            reasoning=self.said.reasoning,
            probabilities=softmax(self.said.logprobs) if self.said.logprobs else None,
            quality_score=self.rating.score if self.rating else None,
        )


def join(
    form: AnswerForm,
    said: Sequence[Answered[ParsedAnswer]],
    failed: Mapping[str, AgenticIQAError],
    settings: SummarizerSettings,
    rate: Callable[[ParsedAnswer], Rating | None],
    confidence: float,
) -> JointAnswer:
    """The joint answer of the models that answered; a model that cannot tell has no voice in it.

    ``rate`` makes the score of an answer, where a rating is asked for. ``confidence`` is the chance of an answer that
    came without chances; the other choices share the rest.
    """
    choices = tuple(form.options) or (("Yes", "No") if is_yes_no(form.query) else ())
    able = [each.backend for each in said if each.value.answer != UNABLE_TO_DETERMINE]
    # Beside a choice, words that make none have no voice.
    chosen = [each.backend for each in said if each.value.logprobs or each.value.answer in choices]
    able = [name for name in able if name in chosen] or able
    weights = settings.weight_of(able or [each.backend for each in said])
    voices = [
        _Voice(
            each.backend,
            each.value,
            weights.get(each.backend, 0.0),
            _chances(choices, each.value, confidence),
            rate(each.value),
        )
        for each in said
    ]
    mixed: dict[str, float] = {}
    counted = [voice for voice in voices if voice.weight]
    for voice in counted:
        for choice, chance in voice.chances.items():
            mixed[choice] = mixed.get(choice, 0.0) + voice.weight * chance
    best = max(mixed, key=mixed.__getitem__)
    logprobs = {choice: math.log(chance) if chance else -math.inf for choice, chance in mixed.items()}
    joint = ParsedAnswer(
        best,
        "",
        logprobs if best in choices else None,
        from_probabilities=True,
        own_tools=frozenset().union(*(voice.said.own_tools for voice in counted)),
    )
    rating = rate(joint)

    def distance(voice: _Voice) -> tuple[float, float]:
        far = abs(voice.rating.score - rating.score) if voice.rating and rating else float(voice.choice != best)
        # Of those that say the same, the weightiest speaks.
        return far, -voice.weight

    voice = min(counted, key=distance)
    nearest, is_said = voice.said, not rating and voice.choice == best
    lost = [f"{name} gave no answer ({error.kind}): this one is of the others." for name, error in failed.items()]
    answer = replace(
        joint,
        answer=nearest.answer if is_said else best,
        reasoning=nearest.reasoning,
        advice=nearest.advice,
        measured=nearest.measured,
        doubt=" ".join(filter(None, [nearest.doubt, *lost])) or None,
    )
    models = {voice.backend: voice.as_model() for voice in voices}
    for name, error in failed.items():
        models[name] = ModelAnswer(backend=name, weight=0.0, error=f"{error.kind}: {error}")
    in_order = [models[name] for name in settings.backends]
    return JointAnswer(answer, in_order, " ".join([_agreement(voices, form.options), *lost]))


def _chances(choices: Collection[str], said: ParsedAnswer, confidence: float) -> dict[str, float]:
    if said.logprobs:
        return softmax(said.logprobs)
    if said.answer not in choices:
        return {said.answer: 1.0}
    rest = (1 - confidence) / max(1, len(choices) - 1)
    return {choice: confidence if choice == said.answer else rest for choice in choices}


def _agreement(voices: Sequence[_Voice], options: Mapping[str, str]) -> str:
    """Who says what: "Two of three say A. Blur; embedded says B. Noise (38 %)."."""
    groups: dict[str, list[_Voice]] = {}
    for voice in voices:
        groups.setdefault(voice.letter, []).append(voice)
    parts = []
    for letter, group in sorted(groups.items(), key=lambda each: -len(each[1])):
        text = f"{letter}. {options[letter]}" if letter in options else letter
        if letter == UNABLE_TO_DETERMINE:
            parts.append(f"{_listed([voice.backend for voice in group])} cannot tell")
        elif len(group) == len(voices) > 1:
            parts.append(f"{'Both' if len(group) == 2 else f'All {_number(len(group))}'} models say {text}")
        elif len(group) > 1:
            count = _number(len(group))
            parts.append(f"{count if parts else count.capitalize()} of {_number(len(voices))} say {text}")
        else:
            parts.append(f"{group[0].backend} says {text}{_strength(group[0])}")
    return f"{'; '.join(parts)}."


def _strength(voice: _Voice) -> str:
    """How sure one model is of what it says, where it says so; of a rating its score."""
    if voice.rating:
        return f" ({voice.rating.score:.2f})"
    return f" ({voice.chances[voice.choice]:.0%})".replace("%", " %") if voice.said.logprobs else ""


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _number(count: int) -> str:
    return _COUNTED[count] if count < len(_COUNTED) else str(count)
