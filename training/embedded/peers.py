"""AIQA_NR beside the classical no-reference metrics, on the same pictures.

    python -m training.embedded.peers --data DATA [--photographs 10] [--pictures 0] [--out peers.json]

Rank correlation with people's opinions: BIQ2021's test part, CSIQ, and the KADID-10k protocol on test photographs
(published mean opinions). NIQE, BRISQUE and PIQE fall as quality rises; their sign is turned.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from training.distortions import LEVELS, PROTOCOL, distort
from training.embedded import measure, splits
from training.embedded.generate import read_ratings

from agenticiqa.tools.metrics import METRICS, Metric, MetricInputError, Views
from agenticiqa.tools.registry import default_registry

PEERS: dict[str, Metric] = {
    "AIQA_NR": default_registry().find("AIQA_NR").metric,
    **{name: METRICS[name] for name in ("NIQE", "BRISQUE", "PIQE")},
}
Values = dict[str, float]


def read(path: Path) -> npt.NDArray[np.uint8]:
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def measured(picture: npt.NDArray[np.uint8]) -> Values:
    """Each metric, higher for better; not a number where it cannot be computed (a flat picture, say)."""
    views = Views(picture)
    found = {}
    for name, metric in PEERS.items():
        try:
            value = metric.measure(views).value
        except MetricInputError:
            value = float("nan")
        found[name] = value if metric.spec.higher_is_better else -value
    return found


def of_file(path: Path) -> Values:
    return measured(read(path))


def of_chain(path: Path) -> list[Values]:
    photograph = read(path)
    return [measured(distort(photograph, kind.name, level, full_range=True)) for kind in PROTOCOL for level in LEVELS]


def agreement(values: Iterable[Values], opinions: Sequence[float]) -> dict[str, Any]:
    rows, found = list(values), {}
    for name in PEERS:
        own, said = np.array([row[name] for row in rows]), np.asarray(opinions, float)
        usable = np.isfinite(own)
        found[name] = {**measure.with_interval(measure.srcc, own[usable], said[usable]), "pictures": int(usable.sum())}
    return found


def show(title: str, found: dict[str, Any]) -> None:
    for name, row in found.items():
        low, high = row["interval"]
        print(f"{title:10} {name:8} SRCC {row['value']:.3f} ({low:.3f} – {high:.3f}), {row['pictures']} pictures")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--photographs", type=int, default=10)
    parser.add_argument("--pictures", type=int, default=0, help="only so many of BIQ2021 and CSIQ; 0 for all")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    data, most = arguments.data, arguments.pictures or None
    found: dict[str, Any] = {}
    with ProcessPoolExecutor(arguments.processes) as pool:
        on_files = partial(pool.map, of_file, chunksize=4)
        names = splits.load()["opinions"]["test"][:most]
        ratings = read_ratings(data / "biq2021" / "scores.csv")
        values = on_files([data / "biq2021" / name for name in names])
        found["biq2021"] = agreement(values, [ratings[name] for name in names])
        show("biq2021", found["biq2021"])

        if (data / "csiq" / "scores.csv").exists():
            with (data / "csiq" / "scores.csv").open(newline="") as stream:
                rows = list(csv.DictReader(stream))
            rows = rows[:: max(1, len(rows) // most)] if most else rows
            values = on_files([data / "csiq" / row["image"] for row in rows])
            found["csiq"] = agreement(values, [-float(row["dmos_0_to_1"]) for row in rows])
            show("csiq", found["csiq"])
        else:
            print(f"csiq       not measured: {data / 'csiq' / 'scores.csv'} is not there")

        photographs = [data / "photos" / name for name in splits.load()["photos"]["test"][: arguments.photographs]]
        chains = list(pool.map(of_chain, photographs))
        opinions = [kind.opinions[level - 1] for kind in PROTOCOL for level in LEVELS] * len(photographs)
        found["protocol"] = agreement((values for chain in chains for values in chain), opinions)
        show("protocol", found["protocol"])
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
