"""What a dataset is: name, size, scale, layout, source, reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from agenticiqa.batch.sample import Sample
from agenticiqa.evaluation.datasets.folder import DatasetFolder

Kind = Literal["full-reference", "no-reference", "questions"]
Reader = Callable[[DatasetFolder, str], Iterator[Sample]]
"""Yields samples with paths relative to the folder, for a subset's name."""


@dataclass(frozen=True)
class Dataset:
    """``counts`` has the official number of samples of each subset; the first subset is the default."""

    name: str
    title: str
    kind: Kind
    counts: Mapping[str, int]
    scale: str
    layout: str
    citation: str
    obtain: str
    caution: str
    """How sure we are of the layout."""
    read: Reader

    @property
    def default_subset(self) -> str:
        return next(iter(self.counts))

    def as_dict(self) -> dict[str, Any]:
        fields = {key: value for key, value in vars(self).items() if key != "read"}
        return {**fields, "counts": dict(self.counts), "default_subset": self.default_subset}


def scored_sample(
    dataset: str, image: str, mos: float, original: float, reference: str | None = None, **carried: Any
) -> Sample:
    """A picture with an opinion. ``mos`` is higher for better; ``original`` is the number its authors print."""
    return Sample(
        sample_id=f"{dataset}/{PurePosixPath(image).stem}",
        image_path=image,
        reference_path=reference,
        mos=mos,
        task_type="scoring",
        carried={
            "dataset": dataset,
            **{key: value for key, value in carried.items() if value is not None},
            "mos_original": original,
        },
    )
