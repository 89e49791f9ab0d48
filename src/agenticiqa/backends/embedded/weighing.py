"""How well each answer option agrees with what was seen: one probability an option, or None for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agenticiqa.backends.embedded.judging import Finder
from agenticiqa.backends.embedded.looking import Look
from agenticiqa.backends.embedded.options import Claim, Option
from agenticiqa.backends.embedded.places import side_box
from agenticiqa.backends.embedded.question import NamedDistortion, Question
from agenticiqa.vocabulary import CATEGORIES, SEVERITIES

# A faint trace counts half: people differ on whether it is there.
FAINT = 0.5
FLOOR = 1e-3


def presence(look: Look, category: str) -> float:
    """The chance that a viewer would say that the distortion is there."""
    none, slight, *worse = look.reading.severity_probabilities[category]
    del none
    return FAINT * slight + sum(worse)


def damage_meant(named: NamedDistortion | Claim) -> str | None:
    """The category whose damage a word is about; praise of sharpness is about blur."""
    if named.category == "Sharpness" and named.polarity in ("good", "neutral"):
        return "Blurs"
    return named.category if named.category in CATEGORIES else None


def yes_probability(question: Question, look: Look) -> float | None:
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
        return None
    # "Is it blurry or noisy?" is answered by the clearest of the named.
    return max(chances)


def kind_presence(look: Look, category: str, kind: str | None) -> float:
    """Presence of a category, or of one finer kind of it where the question names one the model tells apart."""
    there = presence(look, category)
    share = look.scene.kind_share(category, kind, look.reading) if kind else None
    return there if share is None else there * share


def weigh(question: Question, options: Sequence[Option], look: Look, find: Finder) -> dict[str, float] | None:
    """Probabilities of the options; None when none of them claims anything measurable."""
    degrees = _asked_severity(question, look)
    raw: dict[str, float | None] = {
        option.letter: _chance(option.claim, question, look, find, degrees) for option in options
    }
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


def _chance(
    claim: Claim, question: Question, look: Look, find: Finder, degrees: tuple[float, ...] | None
) -> float | None:
    if claim.kind in ("yes", "no"):
        yes = yes_probability(question, look)
        return None if yes is None else yes if claim.kind == "yes" else 1 - yes
    if claim.kind == "level" and claim.level:
        return _level_chance(claim.level, question, look, degrees)
    if claim.kind == "degree" and claim.degree and degrees:
        return _degree_chance(claim.degree, degrees, question)
    if claim.kind == "distortion":
        return _distortion_chance(claim, look)
    if claim.kind == "region":
        return _region_chance(claim, question, look, find)
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


def _distortion_chance(claim: Claim, look: Look) -> float | None:
    category = damage_meant(claim)
    if category is None:
        return None
    there = kind_presence(look, category, claim.distortion)
    if claim.denies_damage:
        return 1 - presence(look, category)
    if claim.degree:
        return look.reading.severity_probabilities[category][SEVERITIES.index(claim.degree)]
    # Among several distortions the one that hurts most is meant.
    return there * (0.2 + look.severity(category))


def _region_chance(claim: Claim, question: Question, look: Look, find: Finder) -> float | None:
    place = claim.region
    if place is None:
        return None
    box = side_box(place.position or "", *look.image.size) if place.is_region else None
    part = look.part(box) if box else find(place.name).look
    if part.box is None:
        return None
    asked = [category for named in question.distortions if (category := damage_meant(named))]
    if not asked:
        return max(0.0, 5 - part.reading.score)
    praised = all(named.polarity == "good" for named in question.distortions)
    worst = max(part.severity(category) for category in asked)
    return 0.2 + (4 - worst if praised else worst)
