"""Scores with closer looks beside scores without them, of undamaged photographs of high resolution.

A part looks worse than the whole for being a part. So the score with views must not fall below the interval of that
without them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.datasets.folder import Dataset, DatasetError, DatasetFolder
from benchmarks.paper.methods import PHOTOGRAPHS, Study
from benchmarks.paper.outcomes import Outcome, signed
from benchmarks.paper.sets import JudgedSet, Selection
from benchmarks.paper.tables import remark
from PIL import Image

from agenticiqa.batch.sample import Sample
from agenticiqa.research.results import read_results
from agenticiqa.research.tables import UNDEFINED, Table

SMALLEST, LARGEST = 11_500_000, 60_000_000
"""Pixels of photographs that count as large."""
COLUMNS = ("Model", "Photograph", "Without views", "Its interval", "With views", "Change", "Falls", "Views")
ABOUT = (
    "A photograph falls where its score with views is below the interval of that without, or below that score where it "
    "has no interval. Views: how many places were looked at closer."
)


def photographs(folder: Path) -> Iterator[Path]:
    """The large ones, in an order that their names alone decide."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp")]
    for file in sorted(files, key=lambda each: hashlib.sha256(each.name.encode()).hexdigest()):
        try:
            with Image.open(file) as opened:
                size = opened.width * opened.height
        except (OSError, Image.DecompressionBombError):
            continue
        if SMALLEST <= size <= LARGEST:
            yield file


def judged_photographs(sources: Sequence[str], selection: Selection) -> JudgedSet:
    """The large photographs of one folder as a set that nobody rated."""
    if len(sources) != 1 or not Path(sources[0]).is_dir():
        raise DatasetError("The table views needs one folder.", hint="Give --data FOLDER with photographs in it.")
    folder = Path(sources[0])
    names = [file.name for file in photographs(folder)]
    if not names:
        raise DatasetError(
            f"{folder} has no photograph of 12 to 60 megapixels.", hint="JPEG, PNG and WebP files of it count."
        )

    def read(_: DatasetFolder, __: str) -> Iterator[Sample]:
        return (Sample(sample_id=name, image_path=name, task_type="scoring") for name in names)

    dataset = Dataset(
        name=PHOTOGRAPHS,
        title=f"Photographs of {folder.name}",
        kind="no-reference",
        counts={"large": len(names)},
        scale="",
        layout="",
        citation="",
        obtain="",
        caution="",
        read=read,
    )
    return JudgedSet(dataset, folder, dataset.default_subset, selection)


@dataclass(frozen=True)
class ScoredTwice:
    """One photograph's scores, and how many places were looked at closer."""

    picture: str
    without: float
    interval: tuple[float, float] | None
    """Of the score without views."""
    with_views: float
    views: int

    @property
    def falls(self) -> bool:
        """Whether the score with views is below the interval; below the other score where that has none."""
        return self.with_views < (self.interval[0] if self.interval else self.without)


def scored_twice(without: Path, with_views: Path) -> list[ScoredTwice]:
    """The photographs that have a score in both result files."""
    first, second = ({each.sample_id: each for each in read_results(file).results} for file in (without, with_views))
    found = []
    for name, one in first.items():
        other = second.get(name)
        if one.score is None or other is None or other.score is None:
            continue
        interval = (one.line.get("summarizer_result") or {}).get("score_interval")
        looked_at = (other.line.get("executor_evidence") or {}).get("views") or []
        found.append(ScoredTwice(name, one.score, interval and tuple(interval), other.score, len(looked_at)))
    return found


def views_table(study: Study, outcomes: Sequence[Outcome]) -> Table:
    """A row for each model and photograph, and one for all photographs of a model."""
    rows, notes = [], [ABOUT]
    for model in dict.fromkeys(method.name for method in study.methods):
        own = {each.cell.method.without: each for each in outcomes if each.cell.method.name == model}
        said = remark([*own.values()])
        notes += [f"{model}: {said}."] if said else []
        if any(each.file is None for each in own.values()):
            continue
        if scored := scored_twice(own["views"].cell.results, own[None].cell.results):
            rows += [*(_row(model, each) for each in scored), _total(model, scored)]
    return Table(study.title, list(COLUMNS), rows, notes)


def _row(model: str, each: ScoredTwice) -> list[str]:
    interval = f"{each.interval[0]:.2f} to {each.interval[1]:.2f}" if each.interval else UNDEFINED
    scores = [f"{each.without:.2f}", interval, f"{each.with_views:.2f}", signed(each.with_views - each.without)]
    return [model, each.picture, *scores, "yes" if each.falls else "no", str(each.views)]


def _total(model: str, scored: Sequence[ScoredTwice]) -> list[str]:
    """Means over all photographs, how many fall, and how many were looked at closer."""
    without, with_views = fmean(each.without for each in scored), fmean(each.with_views for each in scored)
    scores = [f"{without:.2f}", UNDEFINED, f"{with_views:.2f}", signed(with_views - without)]
    counts = [sum(each.falls for each in scored), sum(each.views > 0 for each in scored)]
    return [model, "all", *scores, *(f"{count} of {len(scored)}" for count in counts)]
