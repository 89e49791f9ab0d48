"""Quality on the whole, whether anything is wrong, and how much."""

from __future__ import annotations

import math

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.damage import READ, severities
from agenticiqa.models.offline.readings.told import PLACES, Told, reader
from agenticiqa.models.offline.sentences import findings, level_sentence
from agenticiqa.vision.scene import LEVELS
from agenticiqa.vocabulary import CATEGORIES

# An unchanged picture scores about 4.6 without a reference, near 5 with one; damage that people see lies below.
NOTICED_ALONE, SPREAD_ALONE = 4.0, 0.25
NOTICED_BESIDE, SPREAD_BESIDE = 4.3, 0.15
# Where on the axis of "how many" each number of flaws lies; three and more are many.
_PLACE_OF_COUNT = {0: 0.0, 1: 0.25, 2: 0.75}
_COUNTED = ("no", "one", "two", "three", "four")


@reader("quality")
def quality(look: Look) -> Told:
    """The levels bad to excellent are the five places."""
    levels = look.reading.level_probabilities
    return Told(
        level_sentence(look),
        amounts=tuple(levels[level] for level in LEVELS),
        numbers={"score": round(look.reading.score, 4)},
    )


@reader("flaw")
def flaw(look: Look) -> Told:
    """The worst category; where none is found, a low score still says that something is wrong."""
    worst = max(CATEGORIES, key=look.severity)
    found = look.reading.severity_probabilities[worst]
    noticed = damage_chance(look)
    if noticed > 1 - found[0]:
        visible = 1 - found[0]
        shares = [chance / visible for chance in found[1:]] if visible > 0 else [0.0, 1.0, 0.0, 0.0]
        found = (1 - noticed, *(noticed * share for share in shares))
    return Told(
        " ".join(findings(look)),
        amounts=tuple(found),
        values={name: 1 - severities(look, damage)[0] for name, damage in READ.items() if not damage.guess},
        numbers={"chance_of_damage": round(1 - found[0], 4)},
    )


def damage_chance(look: Look) -> float:
    """The chance that people notice damage, from the score alone; beside a reference they notice more."""
    bound, spread = (NOTICED_ALONE, SPREAD_ALONE) if look.beside is None else (NOTICED_BESIDE, SPREAD_BESIDE)
    return 1 / (1 + math.exp(max(-50.0, min(50.0, (look.reading.score - bound) / spread))))


@reader("flaw_count")
def flaw_count(look: Look) -> Told:
    """How many categories are seen, each there or not with its own chance."""
    chances = [1.0]
    for category in CATEGORIES:
        there = look.reading.presence(category)
        chances = [
            stays * (1 - there) + came * there for stays, came in zip([*chances, 0.0], [0.0, *chances], strict=True)
        ]
    amounts = dict.fromkeys(PLACES, 0.0)
    for count, chance in enumerate(chances):
        amounts[_PLACE_OF_COUNT.get(count, 1.0)] += chance
    seen = len(look.visible())
    kinds = "kind" if seen == 1 else "kinds"
    number = _COUNTED[seen] if seen < len(_COUNTED) else str(seen)
    return Told(
        f"{number.capitalize()} {kinds} of damage can be seen. " + " ".join(findings(look)),
        amounts=tuple(amounts.values()),
        values={str(count): chance for count, chance in enumerate(chances)},
        numbers={"count": seen},
    )
