"""Which sort of picture: a linear head on what the frozen networks see, judged by sources that were left out whole.

    python -m training.embedded.sort_head --pictures FOLDER --seen SEEN.npz --weights WEIGHTS [--out FOLDER]

``FOLDER/SORT/SOURCE/`` holds pictures, for each sort those of two sources at least. Every picture is seen once, at a
random size and stored again in a random way, the same for all sorts, so that no file's history tells the sort; ``SEEN``
keeps that. For each penalty every source is left out once: the share told rightly of each decides. The head is then
learnt from all of them and written into ``joint.onnx``.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import random
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from PIL import Image
from training.embedded.opinions import VALUES, Floats

from agenticiqa.vision.network import Vision

TOLD = ("photograph", "painting", "drawing", "screen", "document")
LEARNT_AS = {"sketch": "drawing", "graphic": "drawing"}
"""Folders of what is told as a neighbour: flat and vector graphics as drawings, and a sketch first of all as one."""
UNTOLD = ("render",)
"""Folders of what no left-out source allows to tell: seen, to say what they are taken for, and not learnt."""
SORTS = ("photograph", "painting", "drawing", "sketch", "screen", "document")
"""What is shipped."""
SIDES = (224, 288, 352, 448, 512, 640)
MOST = {"photograph": 120}
FEWER = 40
"""Pictures of a source, of a sort that is named and of the others."""
PENALTIES = (1e3, 3e3, 1e4)
SHARPNESS = (3.0, 4.5, 6.5, 9.0, 13.0)
OF_PHOTOGRAPHS = 3.0
"""How much more a photograph counts than any other sort: most pictures are, and each is wrongly something else."""
SKETCHED = 6.0
"""How sharply drawings are told from sketches."""


def alike(image: Image.Image, name: str) -> Image.Image:
    """A picture with the history that pictures of every sort get: another size, and often JPEG."""
    rng = random.Random(name)
    scale = rng.choice(SIDES) / max(image.size)
    filtering = rng.choice((Image.Resampling.BICUBIC, Image.Resampling.LANCZOS, Image.Resampling.BILINEAR))
    sized = image.resize((max(32, round(image.width * scale)), max(32, round(image.height * scale))), filtering)
    if rng.random() < 0.25:
        return sized
    kept = io.BytesIO()
    sized.save(kept, "JPEG", quality=rng.randrange(12, 60) if rng.random() < 0.2 else rng.randrange(60, 97))
    return Image.open(kept).convert("RGB")


def see(pictures: Path, weights: Path, kept: Path) -> None:
    """What the networks see of every picture, with its path."""
    vision = Vision(weights)
    sources = [sorted(source.iterdir()) for source in sorted(pictures.glob("*/*"))]
    counts = [min(MOST.get(source[0].parts[-3], FEWER), len(source)) for source in sources]
    files = [file for source, count in zip(sources, counts, strict=True)
             for file in random.Random(0).sample(source, count)]  # fmt: skip
    random.Random(1).shuffle(files)
    names = np.array([str(file.relative_to(pictures)) for file in files])
    seen = np.zeros((len(files), VALUES), np.float16)
    for row, file in enumerate(files):
        with Image.open(file) as opened:
            features = vision.look(np.asarray(alike(opened.convert("RGB"), str(names[row]))), mirrored=False)
        mean, square = np.split(features.cells.mean(axis=(0, 1), dtype=np.float64), 2)
        deviation = np.sqrt(np.maximum(square - mean * mean, 0) + 1e-4)
        seen[row] = np.concatenate([mean, deviation, features.content])
        if row % 100 == 99 or row + 1 == len(files):
            np.savez(kept, values=seen[: row + 1], names=names[: row + 1])
            print(f"{row + 1} of {len(files)} seen", flush=True)


class Rows:
    """What was seen, with what each picture is told as (-1: not learnt) and its source ("painting/books")."""

    def __init__(self, kept: Path):
        with np.load(kept) as stored:
            self.values = np.asarray(stored["values"], np.float64)
            names = [str(name).split("/") for name in stored["names"]]
        self.folders, self.collections = (np.array([name[place] for name in names]) for place in (0, 1))
        self.sources = np.array([f"{name[0]}/{name[1]}" for name in names])
        self.sorts = np.array([-1 if name[0] in UNTOLD else TOLD.index(LEARNT_AS.get(name[0], name[0]))
                               for name in names])  # fmt: skip

    def weights(self, chosen: Floats) -> Floats:
        """Every sort counts alike but for photographs, and within a sort a source by the root of its size."""
        found = np.zeros(len(self.sorts))
        for sort, name in enumerate(TOLD):
            own = chosen & (self.sorts == sort)
            for source in set(self.sources[own]):
                among = own & (self.sources == source)
                found[among] = among.sum() ** -0.5
            found[own] *= (OF_PHOTOGRAPHS if name == "photograph" else 1) / max(found[own].sum(), 1e-9)
        return np.asarray(found[chosen] * chosen.sum() / found.sum())


def fitted(rows: Rows, learn: Floats, wanted: Floats, penalty: float) -> tuple[Floats, Floats]:
    """Weights of the values and constants, for each column of ``wanted``."""
    weight = rows.weights(learn)[:, None]
    values = rows.values[learn]
    middle, deviation = (values * weight).sum(axis=0) / weight.sum(), values.std(axis=0) + 1e-3
    values = (values - middle) / deviation
    level = (weight * wanted[learn]).sum(axis=0) / weight.sum()
    held = (values * weight).T @ values + penalty * np.eye(VALUES)
    slopes = np.linalg.solve(held, (values * weight).T @ (wanted[learn] - level)) / deviation[:, None]
    return slopes, level - middle @ slopes


def left_out(rows: Rows, penalty: float) -> Floats:
    """What is said of every picture by a head that has learnt nothing of its collection, of whichever sort."""
    said = np.zeros((len(rows.sorts), len(TOLD)))
    for collection in sorted(set(rows.collections)):
        apart = rows.collections == collection
        slopes, level = fitted(rows, ~apart & (rows.sorts >= 0), np.eye(len(TOLD))[rows.sorts], penalty)
        said[apart] = rows.values[apart] @ slopes + level
    return said


def shares(rows: Rows, said: Floats) -> dict[str, dict[str, float]]:
    """What pictures of each source are taken for."""
    told = said.argmax(axis=1)
    return {source: {name: round(float((told[rows.sources == source] == sort).mean()), 3)
                     for sort, name in enumerate(TOLD)}
            for source in sorted(set(rows.sources))}  # fmt: skip


def right(rows: Rows, said: Floats) -> dict[str, float]:
    """Told rightly: of each sort the mean over its sources."""
    found = shares(rows, said)
    return {name: float(np.mean([found[source][name] for source in set(rows.sources[rows.sorts == sort])]))
            for sort, name in enumerate(TOLD)}  # fmt: skip


def loss(rows: Rows, said: Floats, sharpness: float) -> float:
    """Of the chances; every sort counts as when it was learnt."""
    known = rows.sorts >= 0
    risen = np.exp(sharpness * (said - said.max(axis=1, keepdims=True)))[known]
    chance = risen[np.arange(len(risen)), rows.sorts[known]] / risen.sum(axis=1)
    return float((rows.weights(known) * -np.log(chance.clip(1e-9))).mean())


def ship(weights: Path, out: Path, slopes: Floats, level: Floats) -> None:
    """joint.onnx with this head in place of the one before, and model.json with its hash and its sorts."""
    model = onnx.load(str(weights / "joint.onnx"))
    graph, own = model.graph, "sort_head."
    for node in graph.node:
        node.output[:] = ["sorts/before" if name == "sorts" else name for name in node.output]
    needed, kept = {output.name for output in graph.output} | {"opinion_head.at/values"}, []
    for node in reversed(graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed |= set(node.input)
    kept.reverse()
    constants = {"slopes": slopes, "level": level, "one": [1.0], "parts": [len(TOLD), 1], "sizes": [2, 1, 2]}
    graph.initializer.extend(numpy_helper.from_array(
        np.asarray(value, np.int64 if name in ("parts", "sizes") else np.float32), own + name
    ) for name, value in constants.items())  # fmt: skip
    needed |= {own + name for name in constants}
    lines = (
        ("MatMul", ["opinion_head.at/values", "@slopes"], ["@sum"]), ("Add", ["@sum", "@level"], ["@said"]),
        ("Split", ["@said", "@parts"], ["@told", "@drawn"]), ("Softmax", ["@told"], ["@chances"]),
        ("Split", ["@chances", "@sizes"], ["@before", "@drawing", "@behind"]), ("Sigmoid", ["@drawn"], ["@coloured"]),
        ("Sub", ["@one", "@coloured"], ["@sketched"]), ("Mul", ["@drawing", "@coloured"], ["@first"]),
        ("Mul", ["@drawing", "@sketched"], ["@second"]),
        ("Concat", ["@before", "@first", "@second", "@behind"], ["sorts"]),
    )  # fmt: skip
    kept += [helper.make_node(
        kind, [name.replace("@", own) for name in inputs], [name.replace("@", own) for name in gives],
        **({"axis": 1} if kind in ("Concat", "Softmax", "Split") else {}),
    ) for kind, inputs, gives in lines]  # fmt: skip
    # The newest of a name counts: a head before this one may have had the same.
    tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.name in needed}
    for field, values in (("node", kept), ("initializer", list(tensors.values()))):
        graph.ClearField(field)
        getattr(graph, field).extend(values)
    shape = next(output for output in graph.output if output.name == "sorts").type.tensor_type.shape
    shape.dim[1].dim_value = len(SORTS)
    onnx.checker.check_model(model)
    data = model.SerializeToString()
    out.mkdir(parents=True, exist_ok=True)
    (out / "joint.onnx").write_bytes(data)
    about = json.loads((weights / "model.json").read_text()) | {"sorts": list(SORTS)}
    about["files"]["joint.onnx"] = hashlib.sha256(data).hexdigest()
    (out / "model.json").write_text(json.dumps(about, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--pictures", "--seen", "--weights"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--without", nargs="*", default=[], help="sources that are not learnt, as in painting/books")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if not given.seen.exists():
        see(given.pictures, given.weights, given.seen)
    rows = Rows(given.seen)
    tried = {penalty: left_out(rows, penalty) for penalty in PENALTIES}
    means = {penalty: float(np.mean(list(right(rows, said).values()))) for penalty, said in tried.items()}
    penalty = max(means, key=lambda each: means[each])
    sharpness = min(SHARPNESS, key=lambda each: loss(rows, tried[penalty], each))
    print("told rightly of sources left out, by penalty:", {each: round(mean, 4) for each, mean in means.items()})
    print(f"penalty {penalty:g}, sharpness {sharpness:g}:", json.dumps(right(rows, tried[penalty])))
    for source, taken in shares(rows, tried[penalty]).items():
        print(source, json.dumps(taken))
    if given.out:
        learn = ~np.isin(rows.sources, given.without) & (rows.sorts >= 0)
        slopes, level = fitted(rows, learn, np.eye(len(TOLD))[rows.sorts], penalty)
        coloured = np.where(rows.folders == "sketch", -1.0, 1.0)[:, None]
        drawn, middle = fitted(rows, learn & (rows.sorts == TOLD.index("drawing")), coloured, penalty)
        ship(given.weights, given.out, np.hstack([sharpness * slopes, SKETCHED * drawn]),
             np.hstack([sharpness * level, SKETCHED * middle]))  # fmt: skip


if __name__ == "__main__":
    main()
