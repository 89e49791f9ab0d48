"""The verb :func:`check`: pass or fail of every picture of a folder by rules, with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from agenticiqa.api.arguments import in_thread
from agenticiqa.api.measure import dataframe
from agenticiqa.auditing.report import AuditReport, Row
from agenticiqa.auditing.rules import Rules, load_rules
from agenticiqa.auditing.running import AuditRequest, PicturePath, run_audit
from agenticiqa.batch.outputs import format_of, write_table
from agenticiqa.batch.runner import ProgressListener
from agenticiqa.runtime.files import refuse_to_replace

SHOWN = ("width", "height", "format", "bytes", "score")
"""What a row of a check keeps of the audit's."""


class CheckReport:
    """The result of :func:`agenticiqa.check`: iterate it for a row per picture, read from disk as they are needed."""

    def __init__(self, report: AuditReport, rules: Rules) -> None:
        self.audit = report
        """What was found, whatever the rules say."""
        self.rules = rules
        self.by_rule: dict[str, int] = {}
        """Pictures that break each rule, most first."""
        broken: Counter[str] = Counter()
        self.failed = 0
        for row in self:
            self.failed += not row["passed"]
            broken.update(row["reasons"].keys())
        self.by_rule = dict(broken.most_common())

    def __iter__(self) -> Iterator[Row]:
        """``path``, ``passed``, and ``reasons``: by rule, in words."""
        for row in self.audit:
            reasons = self.rules.broken_by(row)
            kept = {name: row[name] for name in SHOWN}
            yield {"path": row["path"], "passed": not reasons, "reasons": reasons, **kept}

    def __len__(self) -> int:
        return len(self.audit)

    @property
    def passed(self) -> int:
        return len(self) - self.failed

    def as_dict(self) -> dict[str, Any]:
        """Counts, the rules, and all rows."""
        rules = self.rules.model_dump(mode="json", exclude_unset=True, exclude_none=True)
        counts = {"pictures": len(self), "passed": self.passed, "failed": self.failed, "by_rule": self.by_rule}
        return {**counts, "rules": rules, "results": list(self)}

    def to_rows(self) -> list[Row]:
        """One flat dictionary per picture; ``reasons`` is one text."""
        return [_flat(row) for row in self]

    def to_dataframe(self) -> Any:
        """:meth:`to_rows` as a pandas DataFrame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return dataframe(self.to_rows())

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write all rows to a .csv or .jsonl file.

        Raises:
            OutputError: The file exists or cannot be written, or has another ending.
        """
        target = Path(fspath(path))
        form = format_of(target)
        refuse_to_replace(target, overwrite=overwrite)
        write_table(lambda: self if form == "jsonl" else map(_flat, self), target, form)

    def __str__(self) -> str:
        """One line, with the rules that most break first."""
        why = ", ".join(f"{name} {count}" for name, count in self.by_rule.items())
        return f"{self.passed} of {len(self)} pictures pass{f'; {self.failed} fail: {why}' if why else ''}"

    __repr__ = __str__


def _flat(row: Mapping[str, Any]) -> Row:
    return {**row, "reasons": "; ".join(row["reasons"].values())}


def check(
    pictures: PicturePath | Iterable[PicturePath],
    rules: Rules | Mapping[str, Any] | PicturePath,
    *,
    workers: int | None = None,
    on_progress: ProgressListener | None = None,
) -> CheckReport:
    """Hold every picture of a folder against rules: pass or fail, with each reason in words.

    Args:
        pictures: A folder, a manifest, or paths.
        rules: A YAML file, a dictionary, or the name of shipped rules: ``marketplace``, ``dataset``, ``photo_desk``.
        workers: Processes or threads; by default as many as there are cores.
        on_progress: Called with the counts so far.
    Returns:
        A report: ``passed``, ``failed``, a row for each picture, ``to_dataframe()``.
    Raises:
        ConfigError: The rules cannot be read.
        ManifestError, ImageError: There is nothing to check.
    """
    wanted = load_rules(rules)
    request = AuditRequest(
        pictures, quick=not wanted.need_the_model, workers=workers, on_progress=on_progress or (lambda _: None)
    )
    return CheckReport(run_audit(request)[0], wanted)


acheck = in_thread(check)
