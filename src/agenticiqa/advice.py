"""The rules of advice (``advice.yaml``), and how they are applied to what was found in a picture."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from agenticiqa._data import read_data
from agenticiqa.state import Advice, DistortionAnalysis, Fix
from agenticiqa.vocabulary import SEVERITIES

SLIGHT = 1


@dataclass(frozen=True)
class AdviceCase:
    """Something to be mended: what it is, how bad (0 none to 4 extreme), and the amounts that were measured of it."""

    names: tuple[str, ...]
    """What rules may call it, the most particular name first: a flaw ("motion_blur"), then its category ("Blurs")."""
    because: str
    """The finding in words."""
    severity: float
    amounts: Mapping[str, str] = field(default_factory=dict)
    fix: Fix | None = None
    """What would mend it, where that is known."""


@dataclass(frozen=True)
class Rule:
    """One entry of the file."""

    when: str
    do: str
    source: str
    needs: frozenset[str] = frozenset()
    least: int = SLIGHT

    def fits(self, name: str, finding: AdviceCase) -> bool:
        amounts_known = all(finding.amounts.get(amount) for amount in self.needs)
        return self.when == name and round(finding.severity) >= self.least and amounts_known


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, in the order in which they are tried."""
    return tuple(Rule(**{**entry, "needs": frozenset(entry.get("needs", ()))}) for entry in read_data("advice.yaml"))


def advise(findings: Iterable[AdviceCase]) -> list[Advice]:
    """What to do about each finding that a rule speaks of, what matters most first; the same advice only once."""
    advised: dict[str, Advice] = {}
    for finding in sorted(findings, key=lambda each: -each.severity):
        # The most particular name decides first.
        rule = next((rule for name in finding.names for rule in rules() if rule.fits(name, finding)), None)
        if rule is not None:
            text = rule.do.format(**finding.amounts)
            advised.setdefault(text, Advice(do=text, because=finding.because, source=rule.source, fix=finding.fix))
    return list(advised.values())


def advice_from_analysis(analysis: Mapping[str, Sequence[DistortionAnalysis]]) -> list[Advice]:
    """Advice without amounts, from what any model said of a picture's distortions."""
    return advise(
        AdviceCase((each.type,), each.explanation, SEVERITIES.index(each.severity))
        for entries in analysis.values()
        for each in entries
        if each.severity != "none" and not each.uncertain
    )
