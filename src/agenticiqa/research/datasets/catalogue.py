"""All datasets there is a reader for."""

from __future__ import annotations

from agenticiqa._data import read_data
from agenticiqa.research.datasets import questions, rated
from agenticiqa.research.datasets.folder import Dataset, DatasetError
from agenticiqa.vocabulary import letters_and_digits

_READERS = {**rated.READERS, **questions.READERS}
ALL: tuple[Dataset, ...] = tuple(
    Dataset(name=name, read=_READERS[name], **about)
    for name, about in read_data("research/datasets/datasets.yaml").items()
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
