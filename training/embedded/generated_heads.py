"""Is a picture generated? A plain head beside the shipped one, judged by generators and real collections left out.

    python -m training.embedded.generated_heads --seen SEEN --more MORE --data SHARED --weights WEIGHTS [--out FILE]

The folders are those of ``opinions.py``. Only copies with equal histories are asked about: random
size and JPEG quality.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from training.embedded.opinions import ROWS, Space, Table, load

MADE = ("sd1.5", "midjourney", "attngan", "elsewhere")
REAL = ("voc", "biq", "coco", "photos", "real elsewhere")


def generated_figures(table: Table, penalty: float) -> dict[str, Any]:
    """Is it generated? On copies of equal history; each generator and each collection of real pictures is left out.

    The bound is what 2 % of other pictures of the learnt real collections exceed, for each head its own.
    """
    source = np.full(len(table.path), "", dtype="<U16")
    for row in np.flatnonzero(np.char.startswith(table.operation, "equal")):
        source[row] = source_of(str(table.path[row]))
    inner = np.array([int(hashlib.sha256(name.encode()).hexdigest()[:8], 16) % 3 == 0 for name in table.path])
    values = Space(table, "raw").values
    sums = {}
    for one in (*MADE, *REAL):
        rows = values[(source == one) & ~inner]
        ends = np.column_stack([rows, np.ones(len(rows), np.float32)])
        sums[one] = ((ends.T @ ends).astype(float) / len(rows), ends.mean(axis=0))
    figures: dict[str, list[list[float]]] = {"new": [], "shipped": []}
    by_real: dict[str, list[float]] = {f"{head}, {one}": [] for head in figures for one in REAL}
    for made in MADE:
        for real in REAL:
            yes, no = [one for one in MADE if one != made], [one for one in REAL if one != real]
            square = sum(sums[one][0] / len(side) for side in (yes, no) for one in side)
            wanted = sum(sums[one][1] / len(yes) for one in yes) - sum(sums[one][1] / len(no) for one in no)
            weight = np.linalg.solve(square + penalty / ROWS * np.eye(len(wanted)), wanted)[:-1]
            for head, said in (("new", values @ weight), ("shipped", table.shipped["generated"])):
                bound = np.quantile(said[np.isin(source, no) & inner], 0.98)
                told, false = (said[source == made] > bound).mean(), (said[source == real] > bound).mean()
                figures[head].append([told, false])
                by_real[f"{head}, {real}"].append(false)
    means = {head: np.mean(value, axis=0) for head, value in figures.items()}
    found = {head: {"balanced accuracy": (1 + told - false) / 2, "told": told, "false": false}
             for head, (told, false) in means.items()}  # fmt: skip
    for head, one in found.items():
        one |= {f"false on {name.split(', ')[1]}": np.mean(value) for name, value in by_real.items()
                if name.startswith(head)}  # fmt: skip
        one |= {f"told of {made}": np.mean(figures[head][at * len(REAL) : (at + 1) * len(REAL)], axis=0)[0]
                for at, made in enumerate(MADE)}  # fmt: skip
    return {head: {name: round(float(value), 3) for name, value in one.items()} for head, one in found.items()}


def source_of(path: str) -> str:
    """The generator, or the collection of real pictures; nothing for paintings and drawings."""
    if path.startswith("real_flaws/generated/"):
        return "elsewhere" if "/generated_" in path else "real elsewhere"
    if path.startswith("generated/"):
        return path.split("/")[1].partition("_")[0].lower()
    return path.partition("/")[0] if path.startswith(("voc/", "biq/", "coco/", "photos/")) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--seen", "--more", "--data", "--weights"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    table = load(given.seen, given.more, given.data, given.weights)
    found = {f"penalty {penalty:g}": generated_figures(table, penalty) for penalty in (1e2, 1e3, 1e4)}
    print(json.dumps(found, indent=1))
    if given.out:
        given.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
