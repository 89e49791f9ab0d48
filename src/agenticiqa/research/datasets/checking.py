"""Hold a folder against its label files, and write it down as a manifest."""

from __future__ import annotations

import json
import random
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from agenticiqa.batch.sample import Sample
from agenticiqa.research.datasets.folder import Dataset, DatasetError, DatasetFolder
from agenticiqa.runtime.files import atomic_file

NAMED_AT_MOST = 5
DRAW_SEED = 0
OnSample = Callable[[int], None]


@dataclass
class Check:
    """What was found. ``present`` samples have all their pictures."""

    dataset: Dataset
    subset: str
    listed: int = 0
    present: int = 0
    missing: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """Official name, and the name on disk that differs in case only."""
    duplicates: list[str] = field(default_factory=list)

    @property
    def expected(self) -> int:
        return self.dataset.counts[self.subset]

    @property
    def complete(self) -> bool:
        return not (self.missing or self.empty or self.duplicates) and self.listed == self.expected

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset.name,
            "subset": self.subset,
            "complete": self.complete,
            "expected": self.expected,
            "listed": self.listed,
            "present": self.present,
            "missing": self.missing,
            "empty": self.empty,
            "renamed": [list(pair) for pair in self.renamed],
            "duplicates": self.duplicates,
        }


class DatasetReading:
    """One pass over a dataset's folder: yields the samples whose pictures are there, and fills ``check``."""

    def __init__(self, dataset: Dataset, root: str | Path, subset: str | None = None) -> None:
        subset = subset or dataset.default_subset
        if subset not in dataset.counts:
            raise DatasetError(
                f"{dataset.title} has no subset {subset!r}.", hint=f"It has {', '.join(dataset.counts)}."
            )
        self.folder = DatasetFolder(root, dataset.title, dataset.obtain)
        self.check = Check(dataset, subset)
        self._pictures: dict[str, str | None] = {}

    def samples(self) -> Iterator[Sample]:
        """Samples with absolute paths; the names on disk are used."""
        check = self.check
        seen: Counter[str] = Counter()
        for sample in check.dataset.read(self.folder, check.subset):
            check.listed += 1
            seen[sample.sample_id] += 1
            if seen[sample.sample_id] > 1:
                check.duplicates.append(f"{sample.image_path} is listed more than once")
                continue
            names = [sample.image_path, *([sample.reference_path] if sample.reference_path else [])]
            found = [self._picture(name) for name in names]
            if None not in found:
                check.present += 1
                root = self.folder.root.resolve()
                paths = [str(root / str(name)) for name in found]
                yield sample.model_copy(
                    update={"image_path": paths[0], "reference_path": paths[1] if len(paths) > 1 else None}
                )

    def _picture(self, name: str) -> str | None:
        """The name on disk; None, and a finding, where there is no usable file. Each picture is judged once."""
        if name not in self._pictures:
            self._pictures[name] = self._judge(name)
        return self._pictures[name]

    def _judge(self, name: str) -> str | None:
        check = self.check
        found = self.folder.lookup(name)
        if not found:
            check.missing.append(name)
            return None
        if (self.folder.root / found[0]).stat().st_size == 0:
            check.empty.append(found[0])
            return None
        alike = self.folder.differing_in_case(found[0])
        if alike:
            check.duplicates.append(f"{' and '.join(alike)} differ in case only")
        if found[0] != name:
            check.renamed.append((name, found[0]))
        return found[0]


def check_folder(
    dataset: Dataset, root: str | Path, subset: str | None = None, on_sample: OnSample | None = None
) -> Check:
    """Compare a folder with its label files and with the official count."""
    reading = DatasetReading(dataset, root, subset)
    deque(_reported(reading.samples(), on_sample), maxlen=0)
    return reading.check


def write_manifest(
    dataset: Dataset,
    root: str | Path,
    output: str | Path,
    *,
    subset: str | None = None,
    partial: bool = False,
    max_samples: int | None = None,
    blind: bool = False,
    only: Collection[str] | None = None,
    on_sample: OnSample | None = None,
) -> Check:
    """Write a manifest, one sample per line, whole or not at all.

    A folder that lacks pictures is refused unless ``partial``: a benchmark over fewer pictures than its name says
    would mislead. ``max_samples`` draws that many, the same ones every time, in the order of the set. ``blind``
    leaves references out, so that pictures are judged by themselves. ``only`` names the samples that count, by picture
    or by id: a test split, or what a model has not been trained on.
    """
    reading = DatasetReading(dataset, root, subset)
    with atomic_file(Path(output)) as stream:
        named = _named(reading.samples(), only, reading.check)
        for sample in _drawn(_reported(named, on_sample), max_samples):
            shown = sample.model_copy(update={"reference_path": None}) if blind else sample
            stream.write(json.dumps(shown.as_row(), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        _refuse_gaps(reading.check, root, partial)
    return reading.check


def _reported(samples: Iterator[Sample], on_sample: OnSample | None) -> Iterator[Sample]:
    for place, sample in enumerate(samples, 1):
        if on_sample:
            on_sample(place)
        yield sample


def _named(samples: Iterator[Sample], only: Collection[str] | None, check: Check) -> Iterator[Sample]:
    if only is None:
        yield from samples
        return
    found = 0
    for sample in samples:
        if sample.sample_id in only or PurePath(sample.image_path).name in only:
            found += 1
            yield sample
    if not found:
        raise DatasetError(
            f"None of the {len(only)} names to keep is a picture or a sample of {check.dataset.title}.",
            hint="Give one per line: a picture's file name, or a sample_id of `agenticiqa datasets manifest`.",
        )


def _drawn(samples: Iterator[Sample], count: int | None) -> Iterator[Sample]:
    """All samples, or a simple random draw of ``count`` that needs no more memory than it returns."""
    if count is None:
        yield from samples
        return
    chance = random.Random(DRAW_SEED)  # noqa: S311 - the same draw every time is the point
    kept: list[tuple[int, Sample]] = []
    for place, sample in enumerate(samples):
        if len(kept) < count:
            kept.append((place, sample))
        elif (slot := chance.randrange(place + 1)) < count:
            kept[slot] = (place, sample)
    yield from (sample for _, sample in sorted(kept, key=lambda pair: pair[0]))


def _refuse_gaps(check: Check, root: str | Path, partial: bool) -> None:
    if check.listed == 0 or check.present == 0:
        raise DatasetError(
            f"{root} has the labels of {check.listed} pictures of {check.dataset.title}, but {check.present} pictures.",
            hint=check.dataset.obtain,
        )
    gaps = [*check.missing, *(f"{name} (empty)" for name in check.empty)]
    if gaps and not partial:
        more = f" and {len(gaps) - NAMED_AT_MOST} more" if len(gaps) > NAMED_AT_MOST else ""
        raise DatasetError(
            f"{root} lacks {len(gaps)} pictures of {check.dataset.title}: {', '.join(gaps[:NAMED_AT_MOST])}{more}.",
            hint=f"Give --partial to go on without them. {check.dataset.obtain}",
        )
