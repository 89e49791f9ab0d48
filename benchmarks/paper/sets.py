"""Which datasets lie in a folder of data, and which of their samples count."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.datasets.catalogue import ALL, find, known
from benchmarks.datasets.checking import Check, DatasetReading, write_manifest
from benchmarks.datasets.folder import Dataset, DatasetError

PAPER_SETS = ("tid2013", "bid", "agiqa-3k", "agenticiqa-eval", "llvisionqa")
"""The sets that the paper reports, in its order; others that are there follow."""
PREFERRED_SUBSETS = {"llvisionqa": ("test", "dev")}
"""The paper reports the test split; its public copy may come without answers."""


@dataclass(frozen=True)
class Selection:
    """Which samples of every set count."""

    max_samples: int | None = None
    blind: bool = False
    partial: bool = False
    only: frozenset[str] | None = None
    """Pictures or sample ids; None: all."""

    @property
    def key(self) -> str:
        """Empty for whole sets: results of different selections lie in different folders."""
        parts = ["blind"] if self.blind else []
        parts += [str(self.max_samples)] if self.max_samples else []
        if self.only is not None:
            digest = hashlib.sha256("\n".join(sorted(self.only)).encode()).hexdigest()
            parts.append(f"only-{digest[:8]}")
        return "-".join(parts)


@dataclass(frozen=True)
class JudgedSet:
    """A dataset that is here, and the part of it that is judged."""

    dataset: Dataset
    folder: Path
    subset: str
    selection: Selection = Selection()

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def title(self) -> str:
        return self.dataset.title.partition(" (")[0]

    @property
    def asks_questions(self) -> bool:
        return self.dataset.kind == "questions"

    @property
    def shows_references(self) -> bool:
        return self.dataset.kind == "full-reference" and not self.selection.blind

    @property
    def key(self) -> str:
        """The name of its folder among the results."""
        subset = self.subset if self.subset != self.dataset.default_subset else ""
        return "-".join(part for part in (self.name, subset, self.selection.key) if part)

    def write_manifest(self, path: Path) -> Check:
        """The samples that count, as a manifest."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return write_manifest(self.dataset, self.folder, path, subset=self.subset, **vars(self.selection))


def find_sets(
    sources: Sequence[str],
    wanted: Sequence[str],
    selection: Selection,
    only: Mapping[str | None, frozenset[str]] | None = None,
) -> list[JudgedSet]:
    """The sets in these places, the paper's first.

    A place is a folder that holds one folder per dataset, named after it in any spelling; or ``NAME=FOLDER``.
    ``wanted`` names those to use; empty: all that are there. ``only`` is what :func:`read_only` gives.
    """
    folders: dict[str, Path] = {}
    for source in sources:
        for dataset, folder in _places(source):
            folders.setdefault(dataset.name, folder)
    order = [*PAPER_SETS, *(dataset.name for dataset in ALL)]
    names = [find(name).name for name in wanted] or sorted(folders, key=order.index)
    missing = [name for name in names if name not in folders]
    if missing:
        raise DatasetError(
            f"There is no folder for {missing[0]}.", hint=f"Give --data {missing[0]}=FOLDER. {find(missing[0]).obtain}"
        )
    chosen = only or {}
    return [
        _judged(find(name), folders[name], replace(selection, only=chosen.get(name, chosen.get(None))))
        for name in dict.fromkeys(names)
    ]


def read_only(texts: Sequence[str]) -> dict[str | None, frozenset[str]]:
    """The samples that count, by dataset, from files with one picture or sample id per line.

    ``NAME=FILE`` is for one dataset; the names of other files stand under None and count in every set without its own.
    """
    found: dict[str | None, frozenset[str]] = {}
    for text in texts:
        name, separator, rest = text.partition("=")
        dataset = known(name) if separator else None
        file = Path(rest if dataset else text)
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DatasetError(f"{file} cannot be read: {error}.", hint="--only takes a text file.") from error
        names = frozenset(line.strip() for line in lines if line.strip())
        if not names:
            raise DatasetError(f"{file} names no samples.", hint="One picture or sample id per line.")
        found[dataset.name if dataset else None] = names
    return found


def _places(source: str) -> list[tuple[Dataset, Path]]:
    name, separator, folder = source.partition("=")
    if separator and (named := known(name)):
        return [(named, Path(folder))]
    root = Path(source)
    if not root.is_dir():
        raise DatasetError(f"{root} is no folder.", hint="--data takes a folder, or NAME=FOLDER for one dataset.")
    inside = [(dataset, path) for path in sorted(root.iterdir()) if path.is_dir() and (dataset := known(path.name))]
    if not inside and (own := known(root.resolve().name)):
        inside = [(own, root)]
    if not inside:
        names = ", ".join(dataset.name for dataset in ALL)
        raise DatasetError(
            f"{root} holds no folder that is named after a dataset.",
            hint=f"Name them {names}; or give --data NAME=FOLDER.",
        )
    return inside


def _judged(dataset: Dataset, folder: Path, selection: Selection) -> JudgedSet:
    """With the first subset that is there and has something to judge by."""
    problem: DatasetError | None = None
    for subset in dict.fromkeys((*PREFERRED_SUBSETS.get(dataset.name, ()), *dataset.counts)):
        try:
            samples = DatasetReading(dataset, folder, subset).samples()
            first = next(samples, None)
            if len(dataset.counts) > 1:
                deque(samples, maxlen=0)  # to the end: a later label file of this subset may be missing
        except DatasetError as error:
            problem = problem or error
            continue
        if first is not None and (first.mos is not None or first.answer is not None):
            return JudgedSet(dataset, folder, subset, selection)
    raise problem or DatasetError(
        f"{folder} has no sample of {dataset.title} with a picture and an opinion or a right answer.",
        hint=dataset.obtain,
    )
