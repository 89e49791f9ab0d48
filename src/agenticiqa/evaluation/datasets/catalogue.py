"""All datasets there is a reader for."""

from __future__ import annotations

from agenticiqa.evaluation.datasets import authentic, questions, synthetic
from agenticiqa.evaluation.datasets.description import Dataset
from agenticiqa.evaluation.datasets.folder import DatasetError

ALL: tuple[Dataset, ...] = (*synthetic.DATASETS, *authentic.DATASETS, *questions.DATASETS)
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


def _plain(name: str) -> str:
    return "".join(character for character in name.casefold() if character.isalnum())


def find(name: str) -> Dataset:
    """The dataset of a name, however it is spelled.

    >>> find("KADID-10k").name, find("CID:IQ").name, find("LIVE-itW").name
    ('kadid10k', 'cidiq', 'clive')
    """
    wanted = _plain(_OTHER_NAMES.get(_plain(name), name))
    for dataset in ALL:
        if _plain(dataset.name) == wanted:
            return dataset
    raise DatasetError(f"There is no dataset {name!r}.", hint=f"Known: {', '.join(dataset.name for dataset in ALL)}.")
