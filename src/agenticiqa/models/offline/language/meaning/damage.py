"""The damage that a question names, and the degrees of it that its options claim, as they follow from its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agenticiqa.models.offline.language.meaning.properties import GENERAL, Property
from agenticiqa.models.offline.language.meaning.reader import Meaning
from agenticiqa.models.offline.language.options import Claim, Option
from agenticiqa.vocabulary import SEVERITIES, DistortionTerm, Polarity, distortion_terms

# The least damage that each severity stands for, on an axis from 0 to 1.
_LEAST = (0.0, 0.1, 0.42, 0.6, 0.97)


@dataclass(frozen=True)
class NamedDistortion:
    """A distortion or attribute the question names."""

    category: str
    kind: str
    polarity: Polarity
    negated: bool = False
    """Denied in so many words: "not sharp", "no noise". "Isn't it noisy?" denies nothing."""
    words: str = ""
    objects: tuple[str, ...] = ()
    """The objects it belongs to; empty for the whole picture, or for all objects alike."""
    from_options: bool = False


def speaks_of_damage(meaning: Meaning) -> bool:
    """Whether the property asked about is damage, or the lack of it, of a kind that is known."""
    asked = meaning.known()
    return asked is not None and bool(asked.kinds) and asked.good != "middle" and asked.weight >= GENERAL


def claims_damage(meaning: Meaning) -> bool:
    """Whether the question claims damage, or the lack of it, in words of its own."""
    return meaning.claimed and speaks_of_damage(meaning)


def named_by_meaning(meaning: Meaning) -> tuple[NamedDistortion, ...]:
    """The damage meant by words that name none themselves: "Are the twigs mushy?"."""
    asked = meaning.known()
    if asked is None or not claims_damage(meaning):
        return ()
    term = _main_term(asked)
    polarity: Polarity = "good" if _claims_good(asked, meaning) else "bad"
    return (NamedDistortion(term.category, term.kind, polarity, words=asked.title),)


def with_polarity(named: Sequence[NamedDistortion], meaning: Meaning) -> tuple[NamedDistortion, ...]:
    """ "Is the clarity low?": a name that praises nothing gets the end that the question claims of it."""
    asked = meaning.known()
    if asked is None or meaning.form != "yes_no" or not speaks_of_damage(meaning) or _claims_good(asked, meaning):
        return tuple(named)
    term = _main_term(asked)
    return tuple(
        replace(each, category=term.category, kind=term.kind, polarity="bad", negated=False)
        if each.polarity == "neutral" and each.kind in asked.kinds
        else each
        for each in named
    )


def _main_term(asked: Property) -> DistortionTerm:
    return next(term for term in distortion_terms().values() if term.kind == asked.kinds[0])


def with_degrees(options: Sequence[Option], meaning: Meaning, named: Sequence[NamedDistortion]) -> tuple[Option, ...]:
    """Options on the axis of the property claim degrees of damage; of praise ("how sharp?") degrees of praise."""
    asked = meaning.known()
    if asked is None or not speaks_of_damage(meaning):
        return tuple(options)
    praised = bool(named) and all(each.polarity == "good" for each in named)
    amounts = {each.letter: each.amount for each in meaning.options if each.property == asked.name}
    return tuple(_with_degree(option, asked, amounts.get(option.letter), praised=praised) for option in options)


def _with_degree(option: Option, asked: Property, amount: float | None, *, praised: bool) -> Option:
    if amount is None or option.claim.kind not in ("degree", "nothing", "region", "comparison"):
        return option
    damage = amount if asked.good == "little" else 1 - amount
    place = max(at for at, least in enumerate(_LEAST) if damage >= least)
    return replace(option, claim=Claim("degree", degree=SEVERITIES[len(SEVERITIES) - 1 - place if praised else place]))


def _claims_good(asked: Property, meaning: Meaning) -> bool:
    return (meaning.polarity > 0) == (asked.good == "much")
