"""An audit in a few lines: how many pictures have which finding, and what could go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

from agenticiqa.batch.audit.findings import BY_NAME, ORDER
from agenticiqa.batch.audit.grouping import Groups
from agenticiqa.pictures.finding import Skipped

EXAMPLES = 2
BAR = 12


@dataclass(frozen=True)
class AuditSummary:
    """Counts over all pictures of an audit. As text it is a small table that fits 80 columns."""

    source: str
    quick: bool
    pictures: int
    not_done: int
    without_finding: int
    findings: dict[str, int]
    """Pictures with each finding, in the order of the findings."""
    examples: dict[str, list[str]]
    exact_groups: int
    near_groups: int
    bursts: int
    keep: int
    mean_score: float | None
    sorts: dict[str, int]
    seconds: float
    skipped: Skipped = field(default_factory=Skipped)

    def as_dict(self) -> dict[str, Any]:
        return {**self.__dict__, "skipped": self.skipped.as_dict()}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    __repr__ = __str__

    def _lines(self) -> Iterable[str]:
        yield f"{_count(self.pictures, 'picture')} in {_shortened(self.source, 50)}"
        yield f"{self.without_finding} without a finding, {self.keep} to keep ({self.pictures - self.keep} could go)"
        if self.mean_score is not None:
            kinds = ", ".join(f"{name} {count}" for name, count in list(self.sorts.items())[:6])
            yield f"Mean score {self.mean_score:.2f} of 5; {kinds}"
        if self.findings:
            yield ""
            yield f"{'FINDING':<18}{'PICTURES':>9}{'':>15}EXAMPLES"
        most = max(self.findings.values(), default=1)
        for name, count in self.findings.items():
            bar = "█" * max(1, round(BAR * count / most))
            shown = _shortened(", ".join(self.examples[name]), 36)
            yield f"{name:<18}{count:>9}  {bar:<{BAR}} {shown}".rstrip()
        yield from self._groups()
        if self.not_done:
            yield f"{self.not_done} not done: --resume continues."
        for line in self.skipped.lines():
            yield _shortened(line, 80)

    def _groups(self) -> Iterable[str]:
        counted = (
            (self.exact_groups, "set of equal pictures", "sets of equal pictures"),
            (self.near_groups, "set of versions of one shot", "sets of versions of one shot"),
            (self.bursts, "burst", "bursts"),
        )
        told = [f"{count} {one if count == 1 else many}" for count, one, many in counted if count]
        if told:
            yield ""
            yield ", ".join(told)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(BY_NAME[name].title)}</td><td style='text-align:right'>{count}</td>"
            f"<td>{escape(BY_NAME[name].meaning)}</td></tr>"
            for name, count in self.findings.items()
        )
        score = f", mean score {self.mean_score:.2f} of 5" if self.mean_score is not None else ""
        return (
            f"<p><strong>{self.pictures} pictures</strong>: {self.without_finding} without a finding, "
            f"{self.keep} to keep{score}.</p><table><thead><tr><th>Finding</th><th>Pictures</th><th></th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


class Counting:
    """Adds up rows one by one."""

    def __init__(self) -> None:
        self.pictures = self.clean = self.keep = self.scored = 0
        self.score = 0.0
        self.findings: Counter[str] = Counter()
        self.sorts: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        self.pictures += 1
        self.clean += not row["findings"]
        self.keep += bool(row["keep"])
        if row["score"] is not None:
            self.scored += 1
            self.score += row["score"]
            self.sorts[row["sort"]] += 1
        for name in row["findings"]:
            self.findings[name] += 1
            examples = self.examples.setdefault(name, [])
            if len(examples) < EXAMPLES:
                examples.append(row["path"])

    def summary(
        self, source: str, groups: Groups, *, quick: bool, not_done: int, seconds: float, skipped: Skipped
    ) -> AuditSummary:
        return AuditSummary(
            source=source,
            quick=quick,
            pictures=self.pictures,
            not_done=not_done,
            without_finding=self.clean,
            findings=dict(sorted(self.findings.items(), key=lambda item: ORDER[item[0]])),
            examples=self.examples,
            exact_groups=len(groups.exact),
            near_groups=len(groups.near),
            bursts=len(groups.bursts),
            keep=self.keep,
            mean_score=round(self.score / self.scored, 3) if self.scored else None,
            sorts=dict(self.sorts.most_common()),
            seconds=round(seconds, 2),
            skipped=skipped,
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number:,} {thing}s"


def _shortened(text: str, length: int) -> str:
    """
    >>> _shortened("photographs/holidays/beach.jpg", 16)
    'photographs/hol…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"
