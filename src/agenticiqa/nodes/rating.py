"""How a model's answer is asked for, read, and fused with tool scores into one score or a conflict of both."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, create_model

from agenticiqa.answers import is_yes_no, parse_choice, parse_level, parse_plain_number, parse_plain_reply
from agenticiqa.errors import BadResponseError
from agenticiqa.nodes.model_calls import Name, Sentences, parse_json_object
from agenticiqa.runtime.config import FusionSettings
from agenticiqa.score_fusion import HARDLY_OVERLAP, ScoreFusion
from agenticiqa.score_interval import likely_interval
from agenticiqa.state import Advice, ScoreConflict, SummarizerOutput
from agenticiqa.vlm_client import Mode, ModelReply, Verdict
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_LETTERS, LEVEL_NAMES, UNABLE_TO_DETERMINE, same_name


@dataclass(frozen=True)
class Rating:
    """The fused score with its letter, how it came about, how sure it is, and the conflict where there is one."""

    score: float
    letter: str
    details: dict[str, Any]
    conflict: ScoreConflict | None = None
    interval: tuple[float, float] | None = None


def fusion_of(settings: FusionSettings) -> ScoreFusion:
    """As it is set, but always normalised: the printed form leaves the levels, so no answer is made of it."""
    return ScoreFusion(
        eta=settings.eta, class_confidence=settings.class_confidence, level_thresholds=settings.level_thresholds
    )


def rate(
    settings: FusionSettings,
    tool_scores: Sequence[float],
    letter: str,
    logprobs: Mapping[str, float] | None,
    counted: Sequence[float] | None = None,
) -> Rating:
    """Fuse what the tools measured with the letter that a model chose, or with its log-probabilities of all letters.

    ``counted`` are the scores that are fused, where that is not all of them: a tool that measures with the eye that the
    probabilities come from must not count twice.
    """
    fused = tool_scores if counted is None else counted
    fusion = fusion_of(settings)
    usable = any(math.isfinite(value) for value in (logprobs or {}).values())
    p = fusion.extract_vlm_probabilities({"logprobs": logprobs} if usable else letter)
    opinion = p if usable else {LETTER_LEVELS[letter]: 1.0}
    # A bare letter and no measurement: the spread of p would be our invention, so the letter's own level counts.
    bare = not usable and not tool_scores
    score = float(LETTER_LEVELS[letter]) if bare else fusion.fuse_scores(fused, p)
    fused_letter = fusion.map_to_level(score)
    alpha = fusion.compute_perceptual_weights(fused)
    mean, overlap = fusion.tool_mean(tool_scores), fusion.overlap(tool_scores, opinion)
    details: dict[str, Any] = {
        "tool_scores": [round(each, 4) for each in tool_scores],
        "tool_mean": mean,
        # Keys are texts, as JSON has no others: what is stored reads back the same.
        "alpha": {str(level): weight for level, weight in alpha.items()},
        "p": {str(level): probability for level, probability in p.items()},
        "p_source": "log-probabilities" if usable else "classification",
        "q": score,
        "letter": fused_letter,
        "overlap": round(overlap, 4),
    }
    if not settings.normalize:
        # For ablations: the formula as the paper prints it.
        details["q_printed"] = ScoreFusion(eta=settings.eta, normalize=False).fuse_scores(tool_scores, p)
    conflict = None
    if mean is not None and overlap < HARDLY_OVERLAP:
        model = math.fsum(level * share for level, share in opinion.items())
        conflict = ScoreConflict(tools=min(max(mean, 1), 5), model=min(max(model, 1), 5), overlap=overlap)
    likely = None if bare else likely_interval({level: alpha[level] * p.get(level, 0.0) for level in alpha})
    return Rating(score, fused_letter, details, conflict, conflict.interval if conflict else likely)


# --- how an answer is asked for and read ---

OPEN_QUESTION_LINE = 'There are no answer options: give a short, direct answer to the question as "final_answer".'
YES_NO_LINE = 'There are no answer options: answer "Yes" or "No" as "final_answer".'
RATING_OPTIONS = {letter: LEVEL_NAMES[level] for letter, level in LETTER_LEVELS.items()}

SENTENCE_ENDS = (".", "!", "?", "…", ".)", '."', "。", "！", "？")

_SAYS_YES_OR_NO = re.compile(r"(yes|no)\s*(?:[,.;:!\n]|$)", re.IGNORECASE)

# Log-probabilities must stay finite for JSON.
LEAST_PROBABILITY = 1e-9


@dataclass(frozen=True)
class ParsedAnswer:
    """An answer as it was meant: a letter of the options, yes or no, or words."""

    answer: str
    reasoning: str
    logprobs: Mapping[str, float] | None = None
    """Log-probability of each answer letter, where they are known."""
    advice: tuple[Advice, ...] = ()
    doubt: str | None = None
    measured: tuple[str, ...] = ()
    """The numbers behind it, a sentence each, where a typed backend measured them."""
    from_probabilities: bool = False
    """Whether it is only the likeliest letter of a typed backend: a rating is then the level of the fused score."""
    own_tools: frozenset[str] = frozenset()
    """Tools whose measurement its chances are made of: beside these they would count twice."""


@dataclass(frozen=True)
class AnswerForm:
    """What a question wants for an answer: a level, one of its options, or words."""

    query: str
    mode: Mode
    asked_options: Mapping[str, str]

    @property
    def options(self) -> Mapping[str, str]:
        """The letters to choose from; empty where the answer is words."""
        return RATING_OPTIONS if self.mode == "scoring" else self.asked_options

    def options_section(self) -> str:
        """The options, or what to answer without any, in words for a model."""
        if self.options:
            return "Answer options:\n" + "\n".join(f"{letter}. {text}" for letter, text in self.options.items())
        return YES_NO_LINE if is_yes_no(self.query) else OPEN_QUESTION_LINE

    def schema(self) -> type[BaseModel]:
        """The documents' two fields; ``final_answer`` limited to the letters where there are options."""
        letters = tuple(self.options)
        answer: Any = Literal[letters] if letters else Name
        return create_model("SummaryReply", final_answer=(answer, ...), quality_reasoning=(Sentences, ...))

    def parse(self, reply: ModelReply) -> ParsedAnswer:
        """A model's reply; raises where it is worth asking again."""
        data = parse_json_object(reply.text)
        missing = [key for key in ("final_answer", "quality_reasoning") if key not in data]
        if missing:
            raise BadResponseError(f"The reply lacks {' and '.join(missing)}.", output=reply.text)
        answer = data["final_answer"]
        usable = isinstance(answer, (str, int, float)) and not isinstance(answer, bool)
        if not usable or not isinstance(data["quality_reasoning"], str):
            raise BadResponseError("final_answer and quality_reasoning must be text.", output=reply.text)
        draft = SummarizerOutput(final_answer=str(answer), quality_reasoning=data["quality_reasoning"])
        final = self.canonical(draft.final_answer, reply.text)
        return ParsedAnswer(final, draft.quality_reasoning, reply.answer_logprobs)

    def parse_plain(self, reply: ModelReply) -> ParsedAnswer:
        """As :meth:`parse`; a reply without JSON may also be a letter, an option or level in words, or a number."""
        try:
            return self.parse(reply)
        except BadResponseError:
            text = reply.text.strip()
            letter = None if "{" in text else parse_plain_reply(text, self.options)
            if letter is None and self.mode == "scoring" and (score := parse_plain_number(text, self.query)):
                letter = ScoreFusion().map_to_level(score)
            if not self.options and is_yes_no(self.query) and (said := _SAYS_YES_OR_NO.match(text)):
                letter = said[1].capitalize()
            if letter is None:
                raise
            return ParsedAnswer(letter, text, reply.answer_logprobs)

    def from_verdict(self, verdict: Verdict) -> ParsedAnswer:
        """A typed backend's verdict in the form of a parsed reply."""
        logprobs = {letter: math.log(max(p, LEAST_PROBABILITY)) for letter, p in verdict.probabilities.items()}
        reasoning = verdict.reasoning
        if verdict.doubt and verdict.doubt not in reasoning:
            reasoning = f"{verdict.doubt} {reasoning}"
        # Of a letter it is known which; words are the backend's own ("Yes, on the whole").
        lettered = self.mode == "scoring" or bool(self.options)
        return ParsedAnswer(
            self.canonical(verdict.answer, reasoning) if lettered else verdict.answer,
            reasoning,
            logprobs or None,
            tuple(verdict.advice),
            verdict.doubt,
            tuple(verdict.measured),
            from_probabilities=bool(logprobs),
        )

    def canonical(self, answer: str, reply: str) -> str:
        """The option or word that was meant; ``reply`` is the whole reply, for the failure."""
        if self.mode == "explanation" and same_name(answer, UNABLE_TO_DETERMINE):
            # A backend may say that it cannot judge a question; that is no answer, but no failure either.
            return UNABLE_TO_DETERMINE
        if self.options:
            letter = parse_choice(answer, self.options)
            if letter is None and self.mode == "scoring" and (level := parse_level(answer)):
                letter = LEVEL_LETTERS[level]
            if letter is None:
                raise BadResponseError(f"{answer!r} is none of the options.", output=reply)
            return letter
        # "Yes, slightly."
        first = answer.split(maxsplit=1)[0].strip(".,;:!").lower() if answer.strip() else ""
        return {"yes": "Yes", "no": "No"}.get(first, answer) if is_yes_no(self.query) else answer


def joined_sentences(parts: Iterable[str]) -> str:
    """Texts one after the other; one that further sentences follow ends like a sentence.

    >>> joined_sentences(["Blur is visible", "No tool ran.", "Really?", "so it is"])
    'Blur is visible. No tool ran. Really? so it is'
    """
    texts = [text for part in parts if (text := part.strip())]
    return " ".join([*(text if text.endswith(SENTENCE_ENDS) else f"{text}." for text in texts[:-1]), *texts[-1:]])
