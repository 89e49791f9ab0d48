"""Which sort of picture: a linear head beside the shipped one, written into joint.onnx.

    python -m training.embedded.sort_head --seen SEEN --data SHARED --weights WEIGHTS [--out FOLDER]

``SEEN`` is what ``see_copies`` wrote. Learnt: the training part of the sorts as they are and with equal histories, and
photographs of four collections. Validation pictures set the penalty and how sharp the chances are; test pictures are
told. The sort is the mean of both heads' chances; whether it is a screen the shipped head alone says.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from training.embedded import real_flaws, splits
from training.embedded.opinions import VALUES, Floats
from training.embedded.real_flaws import SORTS

OWN = len(SORTS) - 1
"""All but the screen, which is last."""
PENALTIES = (1e3, 3e3, 1e4, 3e4)
SHARPNESS = (2.0, 3.0, 4.5, 6.5, 9.0)
EVERY = 40
"""Of photographs in VOC and BIQ2021 one in so many."""


class Rows:
    """What the networks see of pictures whose sort is known, with the part that each is in."""

    def __init__(self, seen: Path, data: Path):
        known = {f"real_flaws/{one.image}": one.sort for one in real_flaws.read(data / "real_flaws")
                 if one.collection == "sort"}  # fmt: skip
        parts = {f"real_flaws/{name}": part for part, names in real_flaws.load().items() for name in names}
        parts |= {f"photos/{name}": "train" for name in splits.load()["photos"]["train"]}
        names = [line.split("|") for line in (seen / "names.txt").read_text().split("\n")]
        chosen, sorts, of_parts, asked = [], [], [], []
        for row, (path, operation) in enumerate(names):
            far = path.startswith(("voc/", "biq/")) and row % EVERY == 0
            if operation not in ("", "equal0", "equal1") or not (path in known or path.startswith("photos/") or far):
                continue
            part = "train" if far else parts.get(path, "")
            if part:
                chosen.append(row)
                sorts.append(known.get(path, SORTS.index("photograph")))
                of_parts.append(part)
                asked.append(operation == "" and path in known)
        self.values = _stored(seen, np.array(chosen))
        self.sorts, self.parts, self.asked = np.array(sorts), np.array(of_parts), np.array(asked)


def _stored(seen: Path, rows: Floats) -> Floats:
    found, start = [], 0
    for file in sorted(seen.glob("part*.bin")):
        part = np.memmap(file, np.float16, "r").reshape(-1, VALUES)
        found.append(np.asarray(part[rows[(rows >= start) & (rows < start + len(part))] - start], np.float32))
        start += len(part)
    return np.concatenate(found)


def fitted(rows: Rows, penalty: float) -> tuple[Floats, Floats]:
    """Weights of the values and constants; every sort counts alike."""
    learn = rows.parts == "train"
    weight = (1 / np.bincount(rows.sorts[learn], minlength=OWN))[rows.sorts[learn]]
    weight *= len(weight) / weight.sum()
    middle = (rows.values[learn] * weight[:, None]).mean(axis=0)
    deviation = rows.values[learn].std(axis=0) + 1e-3
    values, wanted = (rows.values[learn] - middle) / deviation, np.eye(OWN)[rows.sorts[learn]]
    level = (weight[:, None] * wanted).mean(axis=0)
    held = (values * weight[:, None]).T @ values + penalty * np.eye(VALUES)
    slopes = np.linalg.solve(held, (values * weight[:, None]).T @ (wanted - level)) / deviation[:, None]
    return slopes, level - middle @ slopes


def chances(values: Floats, slopes: Floats, level: Floats, sharpness: float) -> Floats:
    said = np.exp(sharpness * (values @ slopes + level))
    return np.asarray(said / said.sum(axis=1, keepdims=True))


def shipped_chances(file: Path, values: Floats) -> Floats:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(file))
    mean, deviation = values[:, :454], values[:, 454:908]
    square = np.maximum(deviation**2 - 1e-4, 0) + mean**2
    inputs = {"statistics": np.hstack([mean, square]), "content": np.ascontiguousarray(values[:, 908:])}
    return np.asarray(session.run(["sorts"], inputs)[0])


def told(name: str, said: Floats, sorts: Floats) -> None:
    right = said[:, :OWN].argmax(axis=1) == sorts
    each = {SORTS[sort]: round(float(right[sorts == sort].mean()), 3) for sort in range(OWN)}
    print(name, len(sorts), "pictures", round(float(right.mean()), 4), json.dumps(each), flush=True)


def ship(weights: Path, out: Path, slopes: Floats, level: Floats) -> None:
    """joint.onnx with both heads, and model.json with its hash."""
    model = onnx.load(str(weights / "joint.onnx"))
    graph, own = model.graph, "sort_head."
    for node in graph.node:
        node.output[:] = ["sorts/before" if name == "sorts" else name for name in node.output]
    constants = {"slopes": slopes, "level": level, "one": [1.0], "two": [2.0]}
    for name, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), own + name))
    for name, at in (("first", [0]), ("last", [OWN]), ("end", [OWN + 1]), ("axis", [1])):
        graph.initializer.append(numpy_helper.from_array(np.array(at, np.int64), own + name))
    lines = (
        ("MatMul", ["opinion_head.at/values", own + "slopes"], "sum"), ("Add", ["@sum", own + "level"], "said"),
        ("Softmax", ["@said"], "chances"),
        ("Slice", ["sorts/before", own + "last", own + "end", own + "axis"], "screen"),
        ("Slice", ["sorts/before", own + "first", own + "last", own + "axis"], "before"),
        ("Sub", [own + "one", "@screen"], "rest"), ("Mul", ["@chances", "@rest"], "shared"),
        ("Add", ["@shared", "@before"], "both"), ("Div", ["@both", own + "two"], "mean"),
        ("Concat", ["@mean", "@screen"], "sorts"),
    )  # fmt: skip
    for kind, inputs, gives in lines:
        graph.node.append(helper.make_node(
            kind, [name.replace("@", own + "at/") for name in inputs],
            ["sorts" if gives == "sorts" else f"{own}at/{gives}"], name=f"/sort_head/{gives}",
            **({"axis": 1} if kind in ("Concat", "Softmax") else {}),
        ))  # fmt: skip
    onnx.checker.check_model(model)
    data = model.SerializeToString()
    out.mkdir(parents=True, exist_ok=True)
    (out / "joint.onnx").write_bytes(data)
    about = json.loads((weights / "model.json").read_text())
    about["files"]["joint.onnx"] = hashlib.sha256(data).hexdigest()
    (out / "model.json").write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--seen", "--data", "--weights"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = Rows(given.seen, given.data)
    before = shipped_chances(given.weights / "joint.onnx", rows.values)
    apart = rows.asked & (rows.parts == "validation")
    tried = []
    for penalty in PENALTIES:
        slopes, level = fitted(rows, penalty)
        for sharpness in SHARPNESS:
            said = (chances(rows.values[apart], slopes, level, sharpness) + before[apart, :OWN]) / 2
            loss = -np.log(said[np.arange(len(said)), rows.sorts[apart]].clip(1e-6)).mean()
            tried.append((float(loss), penalty, sharpness))
    loss, penalty, sharpness = min(tried)
    print(f"penalty {penalty:g}, sharpness {sharpness:g}: loss {loss:.4f} on validation pictures")
    slopes, level = fitted(rows, penalty)
    for part in ("validation", "test"):
        own = rows.asked & (rows.parts == part)
        linear = chances(rows.values[own], slopes, level, sharpness)
        rest = 1 - before[own, OWN:]
        for name, said in (("shipped", before[own]), ("linear", linear), ("mean", linear * rest + before[own, :OWN])):
            told(f"{part}, {name}:", said, rows.sorts[own])
    if given.out:
        ship(given.weights, given.out, sharpness * slopes, sharpness * level)


if __name__ == "__main__":
    main()
