"""The summarizer's work without a language model: answer from the evidence, and say plainly what cannot be judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agenticiqa.models.mind import Asked, Mode, Verdict
from agenticiqa.models.offline.choices import damage_meant, weigh, yes_probability
from agenticiqa.models.offline.executor import Finder, Seen
from agenticiqa.models.offline.language.question import Question
from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.measures import describe, hue_name
from agenticiqa.models.offline.picture_sorts import sort_chances
from agenticiqa.models.offline.places import side_box
from agenticiqa.models.offline.sentences import (
    CLEAR_SHARE,
    LOW_SCORE,
    NAMES,
    adverb,
    described,
    finding,
    findings,
    level_sentence,
    tool_sentences,
    unknown_cause,
)
from agenticiqa.state import ExecutorOutput, PlannerOutput
from agenticiqa.vocabulary import LEVEL_LETTERS, UNABLE_TO_DETERMINE

CANNOT_JUDGE = "This backend cannot judge that; use a vision-language model (see `agenticiqa backends list`)."
NOT_ENGLISH = "The question does not look English to this backend, so it may have been misread."
_POSITIONS = ("top left", "top right", "bottom left", "bottom right", "center")


@dataclass(frozen=True)
class AnswerTask:
    """A question, what was found for it, and where to look further."""

    asked: Asked
    question: Question
    mode: Mode
    plan: PlannerOutput
    evidence: ExecutorOutput
    find: Finder

    @property
    def beside_reference(self) -> bool:
        return self.plan.reference_mode == "Full-Reference"


def answer(task: AnswerTask) -> Verdict:
    """Rate, choose, or say in words, whichever the question asks for."""
    seen = task.find(task.plan.scope_names[0])
    notes = _notes(task.question, seen)
    if task.mode == "scoring":
        return _rating(task, seen.look, notes)
    if seen.look.facts.content == "blank":
        return Verdict(UNABLE_TO_DETERMINE, _joined(notes))
    told = _sort(task, seen.look, notes)
    if told is not None:
        return told
    if task.plan.query_type == "Other":
        return _other(task, seen.look, notes)
    if task.asked.options:
        return _choice(task, seen.look, notes)
    return _in_words(task, seen.look, notes)


def _notes(question: Question, seen: Seen) -> list[str]:
    notes = [f"{seen.note[0].upper()}{seen.note[1:]}."] if seen.note else []
    return notes if question.english else [*notes, _language_note(question)]


def _language_note(question: Question) -> str:
    if question.language is None:
        return NOT_ENGLISH
    if question.meaning.property is None:
        return f"The question looks {question.language}, and this backend reads English: it was taken for a rating."
    return f"The question was read as {question.language}, of which this backend knows few words: it may be misread."


def _joined(*groups: list[str]) -> str:
    return " ".join(dict.fromkeys(sentence for group in groups for sentence in group))


# --- rating ---


def _rating(task: AnswerTask, look: Look, notes: list[str]) -> Verdict:
    levels = look.reading.level_probabilities
    probabilities = {LEVEL_LETTERS[level]: p for level, p in levels.items()}
    best = max(probabilities, key=lambda letter: probabilities[letter])
    seen = [] if look.facts.content == "blank" else findings(look)
    reasoning = _joined([level_sentence(look)], seen, tool_sentences(task.evidence), notes)
    return Verdict(best, reasoning, probabilities)


# --- options ---


def _choice(task: AnswerTask, look: Look, notes: list[str]) -> Verdict:
    question = task.question
    probabilities = weigh(
        question, question.options, look, task.find, task.evidence, beside_reference=task.beside_reference
    )
    if probabilities is None:
        return _unable(notes)
    best = max(probabilities, key=lambda letter: probabilities[letter])
    verdict = f"{task.asked.options[best]!r} agrees best with what was measured ({probabilities[best]:.0%})."
    return Verdict(
        best, _joined([verdict], _grounds(question, look), tool_sentences(task.evidence), notes), probabilities
    )


def _grounds(question: Question, look: Look) -> list[str]:
    """The findings that speak for an answer: of the categories asked about, else the worst ones."""
    asked = list(dict.fromkeys(c for named in question.distortions if (c := damage_meant(named))))
    if not asked:
        return findings(look)
    asked.sort(key=look.severity, reverse=True)
    return [text for name in asked[:3] for text in (finding(name, look), *described(name, look)[:2])]


def _unable(notes: list[str]) -> Verdict:
    return Verdict(UNABLE_TO_DETERMINE, _joined([CANNOT_JUDGE], notes))


# --- words ---


def _in_words(task: AnswerTask, look: Look, notes: list[str]) -> Verdict:
    question = task.question
    speak = _SPEAKERS.get(question.form)
    spoken = speak(question, look) if speak else None
    if question.form == "yes-no":
        spoken = _yes_or_no(task, look)
    # A form of question that nothing here answers (such as a comparison) is not answered with something else.
    if spoken is None:
        return _unable(notes)
    return Verdict(spoken, _joined(_grounds(question, look), tool_sentences(task.evidence), notes))


def _yes_or_no(task: AnswerTask, look: Look) -> str | None:
    chance = yes_probability(task.question, look, task.evidence, beside_reference=task.beside_reference)
    return None if chance is None else "Yes" if chance >= 0.5 else "No"


def _degree(question: Question, look: Look) -> str | None:
    named = next((each for each in question.distortions if damage_meant(each)), None)
    category = damage_meant(named) if named else None
    if named is None or category is None:
        return None
    severity = look.severity_name(category)
    if named.polarity == "good":
        words = {"none": "Very", "slight": "Fairly", "moderate": "Moderately", "severe": "Hardly", "extreme": "Not"}
        return f"{words[severity]} {named.words}"
    return f"{adverb(severity).capitalize()} affected by {NAMES[category]}"


def _worst(_question: Question, look: Look) -> str | None:
    visible = look.visible()
    if not visible:
        return unknown_cause(look) if look.reading.score < LOW_SCORE else "No visible distortion"
    title, share = look.scene.likeliest_kind(visible[0], look.reading)
    return title if title and share >= CLEAR_SHARE else NAMES[visible[0]].capitalize()


def _where(question: Question, look: Look) -> str | None:
    """The part of the frame where what is asked about shows most."""
    asked = [category for named in question.distortions if (category := damage_meant(named))]
    boxes = {name: side_box(name, *look.image.size) for name in _POSITIONS}
    parts = {name: look.part(box) for name, box in boxes.items() if box}

    def badness(name: str) -> float:
        part = parts[name]
        return max(map(part.severity, asked)) if asked else -part.reading.score

    worst = max(parts, key=badness)
    spread = badness(worst) - min(map(badness, parts))
    return f"Mostly in the {worst}" if spread >= 0.5 else "Evenly over the picture"


def _why(_question: Question, look: Look) -> str | None:
    visible = look.visible()[:3]
    if not visible:
        return unknown_cause(look) if look.reading.score < LOW_SCORE else "Nothing that lowers the quality stands out"
    return "Because of " + ", ".join(f"{look.severity_name(name)} {NAMES[name]}" for name in visible)


_SPEAKERS: dict[str, Callable[[Question, Look], str | None]] = {
    "degree": _degree,
    "where": _where,
    "why": _why,
    "describe": _why,
    "what": _worst,
}


# --- questions that are not about quality ---


def _sort(task: AnswerTask, look: Look, notes: list[str]) -> Verdict | None:
    chances = sort_chances(task.question, task.asked.options, look.reading)
    if chances is None:
        return None
    best = max(chances, key=lambda answer: chances[answer])
    sort, generated = max(look.reading.sorts, key=lambda name: look.reading.sorts[name]), look.reading.generated
    seen = (
        f"The picture looks like a {sort} ({look.reading.sorts[sort]:.0%}), "
        f"made by a generator with a chance of {generated:.0%}."
    )
    return Verdict(best, _joined([seen], notes), chances if task.asked.options else {})


def _other(task: AnswerTask, look: Look, notes: list[str]) -> Verdict:
    """Colour and brightness can be measured; meaning, emotion and beauty cannot."""
    words = {word.strip("?.,!").casefold() for word in task.asked.query.split()}
    if task.asked.options or task.question.form == "rating":
        return _unable(notes)
    if words & {"color", "colors", "colour", "colours", "hue", "tone"}:
        angle = look.measures.detail("colour_cast", "hue_degrees")
        strength = look.measures.value("colourfulness")
        if angle is None or strength is None:
            return _unable(notes)
        name = "Grey" if strength < 8 else hue_name(angle).capitalize()
        return Verdict(name, _joined(describe("Color distortions", look.measures), [_colour_sentence(strength)], notes))
    if words & {"bright", "brightness", "dark", "light"}:
        mean = look.measures.value("brightness")
        if mean is None:
            return _unable(notes)
        name = "Dark" if mean < 80 else "Bright" if mean > 170 else "Of medium brightness"
        return Verdict(name, _joined(describe("Brightness change", look.measures), notes))
    return _unable(notes)


def _colour_sentence(strength: float) -> str:
    return f"Colourfulness is {strength:.0f} (about 33 is moderate, 59 quite, 82 highly colourful)."
