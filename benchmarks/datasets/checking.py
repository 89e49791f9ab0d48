"""Hold a folder against its label files, and write it down as a manifest."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from benchmarks.datasets.folder import Dataset, DatasetError, DatasetFolder

from agenticiqa.batch.sample import Sample
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
    duplicates: list[str] = field(default_factory=list)

    @property
    def expected(self) -> int:
        return self.dataset.counts[self.subset]

    @property
    def complete(self) -> bool:
        return not (self.missing or self.empty or self.duplicates) and self.listed == self.expected

    def as_dict(self) -> dict[str, Any]:
        found = {**vars(self), "dataset": self.dataset.name}
        return {**found, "complete": self.complete, "expected": self.expected}


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
        check, root = self.check, self.folder.root.resolve()
        seen: set[str] = set()
        for sample in check.dataset.read(self.folder, check.subset):
            check.listed += 1
            if sample.sample_id in seen:
                check.duplicates.append(f"{sample.image_path} is listed more than once")
                continue
            seen.add(sample.sample_id)
            names = {"image_path": sample.image_path, "reference_path": sample.reference_path}
            found = {key: self._picture(name) for key, name in names.items() if name}
            if None not in found.values():
                check.present += 1
                yield sample.model_copy(update={key: str(root / str(name)) for key, name in found.items()})

    def _picture(self, name: str) -> str | None:
        """The name on disk; None, and a finding, where there is no usable file. Each picture is judged once."""
        if name not in self._pictures:
            found = next(iter(self.folder.lookup(name)), None)
            if found is None:
                self.check.missing.append(name)
            elif (self.folder.root / found).stat().st_size == 0:
                self.check.empty.append(found)
                found = None
            self._pictures[name] = found
        return self._pictures[name]


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
    named = (
        sample
        for sample in reading.samples()
        if only is None or sample.sample_id in only or PurePath(sample.image_path).name in only
    )
    written = 0
    with atomic_file(Path(output)) as stream:
        for sample in _drawn(_reported(named, on_sample), max_samples):
            shown = sample.model_copy(update={"reference_path": None}) if blind else sample
            stream.write(json.dumps(shown.as_row(), ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            written += 1
        _refuse_gaps(reading.check, root, partial)
        if only is not None and not written:
            raise DatasetError(
                f"None of the {len(only)} names to keep is a picture or a sample of {dataset.title}.",
                hint="Give one per line: a picture's file name, or a sample_id of the manifest.",
            )
    return reading.check


def _reported(samples: Iterable[Sample], on_sample: OnSample | None) -> Iterator[Sample]:
    for place, sample in enumerate(samples, 1):
        if on_sample:
            on_sample(place)
        yield sample


def _drawn(samples: Iterable[Sample], count: int | None) -> Iterable[Sample]:
    """All samples, or a simple random draw of ``count`` that needs no more memory than it returns."""
    if count is None:
        return samples
    chance = random.Random(DRAW_SEED)
    kept: list[tuple[int, Sample]] = []
    for place, sample in enumerate(samples):
        if len(kept) < count:
            kept.append((place, sample))
        elif (slot := chance.randrange(place + 1)) < count:
            kept[slot] = (place, sample)
    return [sample for _, sample in sorted(kept, key=lambda pair: pair[0])]


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
