"""Every row is looked at before anything is spent; and which rows are worked on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agenticiqa.batch.ledger import Ledger
from agenticiqa.batch.manifest import Manifest
from agenticiqa.batch.remote_pictures import check_protocol, is_url
from agenticiqa.batch.work import BatchJob
from agenticiqa.errors import ManifestError
from agenticiqa.pictures.formats import Skipped
from agenticiqa.runtime.files import refuse_to_replace

SHOWN_PROBLEMS = 10
ProblemListener = Callable[[int, str], None]


@dataclass
class Checked:
    """A manifest's samples and what was found while reading them."""

    ledger: Ledger
    problems: int = 0
    remote: int = 0
    missing: int = 0
    """Pictures on this machine that are not there; only counted where that was asked for."""
    without_picture: int = 0
    """Samples that need one of these."""
    first_problems: list[str] = field(default_factory=list)

    def refuse_problems(self, name: str, skipped: Skipped | None = None) -> None:
        if self.problems:
            more = self.problems - len(self.first_problems)
            listed = "\n".join([*self.first_problems, *([f"… and {more} more"] if more else [])])
            raise ManifestError(f"{name} has {self.problems} rows that cannot be used:\n{listed}")
        if not self.ledger.count:
            hint = " ".join((skipped or Skipped()).lines()) or "Check that it is the right file or folder."
            raise ManifestError(f"{name} holds no samples.", hint=hint)


def check_manifest(
    manifest: Manifest,
    job: BatchJob,
    *,
    outputs: Iterable[Path] = (),
    on_problem: ProblemListener | None = None,
    look_for_files: bool = False,
) -> Checked:
    """Read all rows once. ``on_problem`` hears of every problem, and with ``look_for_files`` of missing pictures.

    None of ``outputs`` may be the manifest or a picture of it, whatever its name.
    """
    there = [output for output in outputs if output.exists()]
    for output in there:
        refuse_to_replace(output, inputs=[manifest.file] if manifest.file else [], overwrite=True)
    checked = Checked(Ledger())
    protocols: set[str] = set()

    def report(line: int, problem: str) -> None:
        checked.problems += 1
        if len(checked.first_problems) < SHOWN_PROBLEMS:
            checked.first_problems.append(f"line {line}: {problem}")
        if on_problem:
            on_problem(line, problem)

    for row in manifest.rows():
        if row.sample is None:
            report(row.line, row.problem or "no sample.")
            continue
        sample = row.sample
        if not row.has_id:
            sample = sample.renamed(checked.ledger.free_id(sample.sample_id))
        taken = checked.ledger.add(sample.sample_id, row.line, job.run_id(sample))
        if taken is not None:
            report(row.line, f"sample_id {sample.sample_id!r} is already used on line {taken}.")
        missing_before = checked.missing
        for path in filter(None, (sample.image_path, sample.reference_path)):
            if is_url(path):
                checked.remote += 1
                protocol = path.partition("://")[0]
                if protocol not in protocols:
                    check_protocol(path)
                    protocols.add(protocol)
                continue
            if there and os.path.exists(path) and any(os.path.samefile(path, output) for output in there):
                report(row.line, f"{path!r} is also the output: writing it would destroy the picture.")
            if look_for_files and not os.path.isfile(path):
                checked.missing += 1
                if on_problem:
                    on_problem(row.line, f"there is no file {path!r} (the sample will fail).")
        checked.without_picture += checked.missing > missing_before
    return checked


@dataclass(frozen=True)
class SampleRange:
    """Which part of the manifest is worked on: positions first ≤ p < last."""

    first: int = 0
    last: int | None = None
    at_most: int | None = None

    @classmethod
    def parse(cls, sample_range: str | None, at_most: int | None) -> SampleRange:
        """``100:200`` is the 101st to the 200th sample; either side may be left out.

        >>> SampleRange.parse("100:", None)
        SampleRange(first=100, last=None, at_most=None)
        """
        first, separator, last = (sample_range or ":").partition(":")
        try:
            chosen = cls(int(first or 0), int(last) if last else None, at_most)
        except ValueError:
            separator = ""
            chosen = cls()
        if not separator or chosen.first < 0 or (chosen.last is not None and chosen.last <= chosen.first):
            raise ManifestError(
                f"{sample_range!r} is not a range of samples.", hint="Write FIRST:LAST, counted from 0, LAST left out."
            )
        return chosen

    def bounds(self, count: int) -> tuple[int, int]:
        """The positions this means in a manifest of ``count`` samples."""
        last = count if self.last is None else min(self.last, count)
        if self.at_most is not None:
            last = min(last, self.first + self.at_most)
        if last <= self.first:
            raise ManifestError(f"The range holds none of the {count} samples.", hint="Check --sample-range.")
        return self.first, last
