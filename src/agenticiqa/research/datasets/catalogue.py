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
_OTHER_NAMES = {
    "kadid": "kadid10k",
    "koniq": "koniq10k",
    "liveitw": "clive",
    "livec": "clive",
    "livechallenge": "clive",
    "agiqa": "agiqa-3k",
    "qbench": "llvisionqa",
    "biq": "biq2021",
    "tid": "tid2013",
}


def find(name: str) -> Dataset:
    """The dataset of a name, however it is spelled.

    >>> find("KADID-10k").name, find("CID:IQ").name, find("LIVE-itW").name
    ('kadid10k', 'cidiq', 'clive')
    """
    wanted = letters_and_digits(_OTHER_NAMES.get(letters_and_digits(name), name))
    for dataset in ALL:
        if letters_and_digits(dataset.name) == wanted:
            return dataset
    raise DatasetError(f"There is no dataset {name!r}.", hint=f"Known: {', '.join(dataset.name for dataset in ALL)}.")
