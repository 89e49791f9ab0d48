"""How well each answer option agrees with what was seen: one probability per option, or None for all."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agenticiqa.models.offline.executor import Finder
from agenticiqa.models.offline.language.options import Claim, Option
from agenticiqa.models.offline.language.question import NamedDistortion, Question
from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.overall import overall_yes
from agenticiqa.models.offline.places import side_box
from agenticiqa.state import ExecutorOutput
from agenticiqa.vocabulary import CATEGORIES, SEVERITIES

FLOOR = 1e-3
# A finer kind that the model does not see still speaks for its category where no other option does: people say "out of
# focus" of any blur.
CATEGORY_SHARE = 0.3
# From a difference of one severity between two places to odds of e².
SHARPNESS_OF_CHOICE = 2.0
# Beside severities, what a part out of focus adds to being the most blurred one.
FOCUS_WEIGHT = 2.0

_WHICH_NOT = re.compile(r"\b(?:which|what)\b.*(?:\bnot\b|n't\b|\b(?:absent|missing|never|no)\b)", re.IGNORECASE)
_LEAST = re.compile(r"\b(?:least|fewest|lowest)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Weighing:
    """All that the options of one question are held against."""

    question: Question
    options: Sequence[Option]
    look: Look
    find: Finder
    evidence: ExecutorOutput | None = None
    beside_reference: bool = False

    @property
    def asks_for_absent(self) -> bool:
        """ "Which of these is NOT present?" and "Which is the least severe?" want the opposite of what is seen."""
        in_options = all(named.from_options for named in self.question.distortions)
        return bool(_LEAST.search(self.question.text)) or (in_options and bool(_WHICH_NOT.search(self.question.text)))


def presence(look: Look, category: str) -> float:
    """The chance that a viewer would say that the distortion is there: above one half exactly where it is found."""
    return look.reading.presence(category)


def damage_meant(named: NamedDistortion | Claim) -> str | None:
    """The category whose damage a word is about; praise of sharpness is about blur."""
    if named.category == "Sharpness" and named.polarity in ("good", "neutral"):
        return "Blurs"
    return named.category if named.category in CATEGORIES else None


def yes_probability(
    question: Question, look: Look, evidence: ExecutorOutput | None = None, *, beside_reference: bool = False
) -> float | None:
    """The chance that "yes" is right; None when the question names nothing that can be measured."""
    chances = []
    for named in question.distortions:
        category = damage_meant(named)
        if category is None or named.from_options:
            continue
        there = kind_presence(look, category, named.kind)
        holds = 1 - there if named.polarity in ("good", "neutral") else there
        chances.append(1 - holds if named.negated else holds)
    if not chances:
        return overall_yes(question.text, look, evidence, beside_reference=beside_reference)
    # "Is it blurry or noisy?" is answered by the clearest of the named.
    return max(chances)


def kind_presence(look: Look, category: str, kind: str | None) -> float:
    """Presence of a category, or of one finer kind of it where the question names one the model tells apart.

    Kinds were learnt from made damage, flaws from photographs as well: the clearer of both counts.
    """
    there = presence(look, category)
    share = look.scene.kind_share(category, kind, look.reading) if kind else None
    flaw = look.scene.flaw_chance(kind, look.reading) if kind else None
    of_kind = there if share is None else there * share
    return of_kind if flaw is None else max(flaw, of_kind)


def weigh(
    question: Question,
    options: Sequence[Option],
    look: Look,
    find: Finder,
    evidence: ExecutorOutput | None = None,
    *,
    beside_reference: bool = False,
) -> dict[str, float] | None:
    """Probabilities of the options; None when none of them claims anything measurable."""
    task = Weighing(question, options, look, find, evidence, beside_reference)
    raw: dict[str, float | None] = {option.letter: _chance(option.claim, task) for option in options}
    known = {letter: chance for letter, chance in raw.items() if chance is not None}
    if not known:
        return None
    # An option that cannot be judged is less likely than the average of those that can.
    unknown = 0.5 * sum(known.values()) / len(known)
    weights = {letter: max(FLOOR, unknown if chance is None else chance) for letter, chance in raw.items()}
    return normalised(weights)


def normalised(weights: Mapping[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {key: value / total for key, value in weights.items()}


def _asked_severity(question: Question, look: Look) -> tuple[float, ...] | None:
    """The severity distribution of what a question of degree is about."""
    asked = [category for named in question.distortions if (category := damage_meant(named))]
    if not asked:
        return None
    worst = max(asked, key=look.severity)
    return look.reading.severity_probabilities[worst]


def _chance(claim: Claim, task: Weighing) -> float | None:
    question, look = task.question, task.look
    degrees = _asked_severity(question, look)
    if claim.kind in ("yes", "no"):
        yes = yes_probability(question, look, task.evidence, beside_reference=task.beside_reference)
        return None if yes is None else yes if claim.kind == "yes" else 1 - yes
    if claim.kind == "level" and claim.level:
        return _level_chance(claim.level, question, look, degrees)
    if claim.kind == "degree" and claim.degree and degrees:
        return _degree_chance(claim.degree, degrees, question)
    if claim.kind == "distortion":
        return _distortion_chance(claim, task)
    if claim.kind == "region":
        return _region_chance(claim, task)
    return None


def _level_chance(level: int, question: Question, look: Look, degrees: tuple[float, ...] | None) -> float:
    """Of the whole quality, or of the one attribute the question is about ("How is the sharpness? Good / Poor")."""
    if degrees is not None and question.form != "rating":
        # Severity none..extreme read backwards is quality excellent..bad.
        return degrees[5 - level]
    return look.reading.level_probabilities[level]


def _degree_chance(degree: str, severities: tuple[float, ...], question: Question) -> float:
    """Degrees of damage; for praise ("how sharp is it? very") the scale runs the other way."""
    praised = all(named.polarity == "good" for named in question.distortions)
    place = SEVERITIES.index(degree)
    place = len(SEVERITIES) - 1 - place if praised else place
    # Words of degree are vague: the neighbours count a little.
    near = [severities[i] for i in (place - 1, place + 1) if 0 <= i < len(severities)]
    return severities[place] + 0.25 * sum(near)


def _distortion_chance(claim: Claim, task: Weighing) -> float | None:
    look, category = task.look, damage_meant(claim)
    if category is None:
        return None
    if claim.denies_damage:
        return 1 - presence(look, category)
    if claim.degree:
        return look.reading.severity_probabilities[category][SEVERITIES.index(claim.degree)]
    there = presence(look, category) * _share_of_category(claim, category, task)
    if task.asks_for_absent:
        return 1 - there
    # Among several distortions the one that hurts most is meant.
    return there * (0.2 + look.severity(category))


def _share_of_category(claim: Claim, category: str, task: Weighing) -> float:
    """How much of a category's damage an option stands for, beside the other options of the same category.

    "Noise" beside "Salt-and-pepper noise" means the rest; alone, a kind may be a loose word for its category.
    """
    look = task.look
    rivals = [option.claim for option in task.options if option.claim is not claim]
    named = {
        rival.distortion
        for rival in rivals
        if rival.kind == "distortion" and damage_meant(rival) == category and rival.distortion != claim.distortion
    }
    share = look.scene.kind_share(category, claim.distortion, look.reading) if claim.distortion else None
    if share is not None:
        return share if named else CATEGORY_SHARE + (1 - CATEGORY_SHARE) * share
    taken = [look.scene.kind_share(category, kind, look.reading) for kind in named if kind]
    return max(0.0, 1 - sum(other for other in taken if other is not None))


def _region_chance(claim: Claim, task: Weighing) -> float | None:
    place, look, question = claim.region, task.look, task.question
    if place is None:
        return None
    box = side_box(place.position or "", *look.image.size) if place.is_region else None
    part = look.part(box) if box else task.find(place.name).look
    if part.box is None:
        return None
    asked = [category for named in question.distortions if (category := damage_meant(named))]
    worst = max(map(part.severity, asked)) if asked else 5 - part.reading.score
    if asked == ["Blurs"]:
        worst += FOCUS_WEIGHT * (1 - part.in_focus)
    # "Which part is sharpest?", "… not sharp?", "… least blurry?"
    praised = bool(asked) and all((n.polarity == "good") != n.negated for n in question.distortions)
    wanted = 4 - worst if praised != task.asks_for_absent else worst
    # Parts of a sound picture differ little: the difference counts, not the level.
    return math.exp(SHARPNESS_OF_CHOICE * wanted)
