"""All datasets there is a reader for."""

from __future__ import annotations

from pathlib import Path

from benchmarks.datasets import questions, rated
from benchmarks.datasets.folder import Dataset, DatasetError

from agenticiqa._data import parse_yaml
from agenticiqa.vocabulary import letters_and_digits

_READERS = {**rated.READERS, **questions.READERS}
ALL: tuple[Dataset, ...] = tuple(
    Dataset(name=name, read=_READERS[name], **about)
    for name, about in parse_yaml(Path(__file__).with_name("datasets.yaml").read_text(encoding="utf-8")).items()
)


def known(name: str) -> Dataset | None:
    """The dataset of a name, however it is spelled; None where there is none."""
    key = letters_and_digits(name)
    return next((each for each in ALL if key in map(letters_and_digits, (each.name, *each.other_names))), None)


def find(name: str) -> Dataset:
    """The dataset of a name; raises DatasetError where there is none.

    >>> find("KADID-10k").name, find("CID:IQ").name, find("LIVE-itW").name
    ('kadid10k', 'cidiq', 'clive')
    """
    dataset = known(name)
    if dataset is None:
        raise DatasetError(f"There is no dataset {name!r}.", hint=f"Known: {', '.join(each.name for each in ALL)}.")
    return dataset
