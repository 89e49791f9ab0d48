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


def find(name: str) -> Dataset:
    """The dataset of a name, however it is spelled.

    >>> find("KADID-10k").name, find("CID:IQ").name, find("LIVE-itW").name
    ('kadid10k', 'cidiq', 'clive')
    """
    for dataset in ALL:
        if letters_and_digits(name) in map(letters_and_digits, (dataset.name, *dataset.other_names)):
            return dataset
    raise DatasetError(f"There is no dataset {name!r}.", hint=f"Known: {', '.join(dataset.name for dataset in ALL)}.")
