"""Write the head of opinions that ``opinions.py`` chose into joint.onnx.

    python -m training.embedded.opinion_head --seen SEEN --more MORE --data SHARED --weights WEIGHTS --out FOLDER

``WEIGHTS`` is what ``export.py`` wrote (version 2.2). The opinion comes from the chosen head, on the scale of BIQ2021's
training pictures; the score is the opinion, less a part of what the damage head finds worse where the gate sees
processing; ``trust`` is that part. Photographs' spread is scaled by how far opinions of validation pictures are off.
Nothing else changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from training.embedded import splits
from training.embedded.opinions import (
    CHOSEN,
    HIDDEN,
    LATER,
    LEARNT,
    SAY,
    Floats,
    Space,
    Table,
    final,
    judged,
    load,
    on_scale,
    order_figures,
)


def chosen(table: Table) -> tuple[Floats, float, Floats, dict[str, Floats]]:
    """The chosen head folded onto plain values: weights of raw, constant, weights of mixed; and what it says."""
    parts, folded, level = [], [], 0.0
    for how in CHOSEN:
        space = Space(table, str(how["space"]))
        weight = space.head(list(LEARNT), penalty=float(how["penalty"]), order=float(how["order"]))
        own = (space.values @ weight)[table.rows("biq")]
        parts.append((space.values @ weight - own.mean()) / own.std())
        folded.append(weight / space.deviation / own.std())
        level -= float(folded[-1] @ space.middle) + float(own.mean() / own.std())
    own = np.mean(parts, axis=0)[table.rows("biq")]
    folded = [weight / 2 / own.std() for weight in folded]
    said = (np.mean(parts, axis=0) - own.mean()) / own.std()
    return folded[0], (level / 2 - float(own.mean())) / float(own.std()), folded[1], {"all": said}


def ship(table: Table, weights: Path, out: Path, version: str) -> None:
    """joint.onnx with the chosen head, and model.json with its hash; the other files stay as they are."""
    raw, level, hidden, said = chosen(table)
    opinion, knots, steps = on_scale(table, said)
    names = [f"biq/{name}" for name in splits.load()["opinions"]["validation"]]
    plain = np.char.replace(np.char.replace(table.path, "(", ""), ")", "")
    apart = np.flatnonzero(np.isin(plain, names) & (table.operation == ""))
    away = [np.quantile(np.abs(value[apart] - 1 - 4 * table.opinion[apart]), 0.8)
            for value in (final(table, opinion), table.shipped["score"])]  # fmt: skip
    model = onnx.load(str(weights / "joint.onnx"))
    graph = model.graph
    constants = {"raw": raw[:, None], "level": [level], "hidden": hidden[:, None], "knots": knots, "steps": steps[1:],
                 "start": [steps[0]], "first": [steps[1]], "lowest": [knots[0]], "none": [0.0], "one": [1.0],
                 "six": [6.0], "say": [SAY], "later": [LATER]}  # fmt: skip
    for name, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), f"opinion_head.{name}"))
    graph.initializer.append(numpy_helper.from_array(np.array([1]), "opinion_head.axis"))
    for entry in graph.initializer:
        if entry.name == "joint.spread_floor":
            floor = numpy_helper.to_array(entry) * np.float32(away[0] / away[1])
            entry.CopyFrom(numpy_helper.from_array(floor, entry.name))
    renamed = {"opinion": "opinion/before", "score": "score/before", "trust": "gate"}
    for node in graph.node:
        final_levels = not node.name.startswith("/joint/")
        node.input[:] = [name if final_levels else renamed.get(name, name) for name in node.input]
        node.output[:] = [renamed.get(name, name) for name in node.output]
    own = "opinion_head."
    lines = (
        ("Concat", ["/joint/Concat_output_0", "/joint/Cast_1_output_0"], "values"),
        ("MatMul", ["@values", own + "raw"], "of_raw"),
        ("MatMul", [HIDDEN["mixed"], own + "hidden"], "of_hidden"),
        ("Add", ["@of_raw", "@of_hidden"], "sum"), ("Add", ["@sum", own + "level"], "said"),
        ("Sub", ["@said", own + "knots"], "beyond"), ("Relu", ["@beyond"], "above"),
        ("Mul", ["@above", own + "steps"], "pieces"), ("ReduceSum", ["@pieces", own + "axis"], "risen"),
        ("Sub", ["@said", own + "lowest"], "from_lowest"), ("Min", ["@from_lowest", own + "none"], "below"),
        ("Mul", ["@below", own + "first"], "fallen"), ("Add", ["@risen", "@fallen"], "moved"),
        ("Add", ["@moved", own + "start"], "bent"), ("Sub", ["@bent", own + "one"], "over_one"),
        ("Mul", ["@over_one", own + "six"], "sixfold"), ("Softplus", ["@sixfold"], "soft"),
        ("Div", ["@soft", own + "six"], "softened"), ("Add", ["@softened", own + "one"], "column"),
        ("Squeeze", ["@column", own + "axis"], "opinion"),
        ("Add", ["/joint/Add_12_output_0", own + "later"], "logit"), ("Sigmoid", ["@logit"], "chance"),
        ("Mul", ["@chance", own + "say"], "share"), ("Greater", ["opinion", "damage"], "worse"),
        ("Where", ["@worse", "@share", own + "none"], "trust"), ("Sub", ["damage", "opinion"], "gap"),
        ("Mul", ["trust", "@gap"], "taken"), ("Add", ["opinion", "@taken"], "score"),
    )  # fmt: skip
    outputs = {entry.name for entry in graph.output}
    added = [
        helper.make_node(
            kind, [name.replace("@", own + "at/") for name in inputs],
            [gives if gives in outputs else f"{own}at/{gives}"],
            name=f"/opinion_head/{gives}", **({"axis": -1} if kind == "Concat" else {}),
        )
        for kind, inputs, gives in lines
    ]  # fmt: skip
    place = 1 + max(at for at, node in enumerate(graph.node) if node.name.startswith("/joint/"))
    nodes = list(graph.node)
    del graph.node[:]
    graph.node.extend([*nodes[:place], *added, *nodes[place:]])
    onnx.checker.check_model(model)
    out.mkdir(parents=True, exist_ok=True)
    data = model.SerializeToString()
    (out / "joint.onnx").write_bytes(data)
    about = json.loads((weights / "model.json").read_text())
    about["version"], about["files"]["joint.onnx"] = version, hashlib.sha256(data).hexdigest()
    about["calibration"]["spread_floor"] = [round(float(floor[0]), 5)]
    about["opinion_head"] = {"parts": list(CHOSEN), "knots": knots.round(5).tolist(), "steps": steps.round(5).tolist(),
                             "say": SAY, "later": LATER}  # fmt: skip
    (out / "model.json").write_text(json.dumps(about, indent=1) + "\n")
    rows = np.arange(0, len(table.path), 50)
    again = judged(out / "joint.onnx", table.values["raw"][rows])
    wanted = {"opinion": opinion, "score": final(table, opinion)}
    print("differences:", {name: float(np.abs(again[name] - value[rows]).max()) for name, value in wanted.items()})
    print("spread of photographs:", float(floor[0]), order_figures(table, final(table, opinion)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--seen", "--more", "--data", "--weights", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--version", default="2.3")
    given = parser.parse_args()
    ship(load(given.seen, given.more, given.data, given.weights), given.weights, given.out, given.version)


if __name__ == "__main__":
    main()
