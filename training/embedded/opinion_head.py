"""Write the head of opinions that ``opinions.py`` chose into joint.onnx.

    python -m training.embedded.opinion_head --seen SEEN --more MORE --data SHARED --weights WEIGHTS --out FOLDER

``WEIGHTS`` is the shipped folder with joint.onnx of version 2.2, as ``export.py`` wrote it. The opinion comes from the
chosen head, on the scale of BIQ2021's training pictures; the score is the opinion, moved a part of the way to what
the damage head says where the gate sees processing; ``trust`` is that part. The spreads of photographs and of damage
are those with which the intervals that are shown hold four of five opinions of validation pictures, and a little more
of damage. Nothing else changes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper
from training.distortions import DISTORTIONS
from training.embedded import splits
from training.embedded.measure import level_probabilities
from training.embedded.opinions import (
    CHOSEN,
    HIDDEN,
    LATER,
    LEARNT,
    SAY,
    SAY_UP,
    Floats,
    Space,
    Table,
    final,
    judged,
    load,
    on_scale,
    order_figures,
)

from agenticiqa.score_interval import COVERED, likely_interval
from agenticiqa.vocabulary import UNCHANGED_OPINION

DAMAGE_SPREAD = "/joint/Mul_17_output_0"
BEYOND = 0.03
"""How many more opinions of damage the interval holds on validation scenes: on scenes from elsewhere it holds fewer."""


def chosen(table: Table) -> tuple[Floats, float, Floats, dict[str, Floats]]:
    """The chosen head folded onto plain values: weights of raw, constant, weights of mixed; and what it says."""
    parts, folded, level = [], [], 0.0
    for name, how in CHOSEN.items():
        space = Space(table, name)
        weight = space.head(list(LEARNT), **how)
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
    model = onnx.load(str(weights / "joint.onnx"))
    graph = model.graph
    constants = {"raw": raw[:, None], "level": [level], "hidden": hidden[:, None], "knots": knots, "steps": steps[1:],
                 "start": [steps[0]], "first": [steps[1]], "lowest": [knots[0]], "none": [0.0], "one": [1.0],
                 "six": [6.0], "say": [SAY], "less": [1 - SAY_UP / SAY], "later": [LATER]}  # fmt: skip
    for name, value in constants.items():
        graph.initializer.append(numpy_helper.from_array(np.asarray(value, np.float32), f"opinion_head.{name}"))
    graph.initializer.append(numpy_helper.from_array(np.array([1]), "opinion_head.axis"))
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
        ("Mul", ["@chance", own + "say"], "trust"), ("Sub", ["damage", "opinion"], "gap"),
        ("Relu", ["@gap"], "upward"), ("Mul", ["@upward", own + "less"], "withheld"),
        ("Sub", ["@gap", "@withheld"], "pull"), ("Mul", ["trust", "@pull"], "moved_by"),
        ("Add", ["opinion", "@moved_by"], "score"),
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
    data, spreads = with_spreads(table, model, out / "joint.onnx")
    about = json.loads((weights / "model.json").read_text())
    about["version"], about["files"]["joint.onnx"] = version, hashlib.sha256(data).hexdigest()
    about["calibration"] |= spreads
    about["opinion_head"] = {"parts": CHOSEN, "knots": knots.round(5).tolist(), "steps": steps.round(5).tolist(),
                             "say": SAY, "say_up": SAY_UP, "later": LATER}  # fmt: skip
    (out / "model.json").write_text(json.dumps(about, indent=1) + "\n")
    rows = np.arange(0, len(table.path), 50)
    again = judged(out / "joint.onnx", table.values["raw"][rows])
    wanted = {"opinion": opinion, "score": final(table, opinion)}
    print("differences:", {name: float(np.abs(again[name] - value[rows]).max()) for name, value in wanted.items()})
    print("spreads:", spreads, order_figures(table, final(table, opinion)))


def with_spreads(table: Table, model: onnx.ModelProto, file: Path) -> tuple[bytes, dict[str, list[float]]]:
    """The file with both spreads fitted, and the spreads."""
    parts = splits.load()
    plain = np.char.replace(np.char.replace(table.path, "(", ""), ")", "")
    taken = np.flatnonzero(np.isin(plain, [f"biq/{name}" for name in parts["opinions"]["validation"]])
                           & (table.operation == ""))  # fmt: skip
    kept = np.isin(table.path[table.damaged[:, 0]], [f"photos/{name}" for name in parts["photos"]["validation"]])
    kept &= [operation.split(":")[0] in DISTORTIONS for operation in table.operation[table.damaged[:, 0]]]
    spoilt = table.damaged[kept, 0]
    # Export folded the scale of damage's spread into a constant without a name.
    scaled = next(node for node in model.graph.node if DAMAGE_SPREAD in node.output)
    names = {"spread_floor": "joint.spread_floor", "spread_scale": scaled.input[1]}
    stored = {name: next(entry for entry in model.graph.initializer if entry.name == names[name]) for name in names}
    first = {name: numpy_helper.to_array(entry) for name, entry in stored.items()}
    found = {name: values.copy() for name, values in first.items()}
    for name, rows, opinion, wanted in (
        ("spread_floor", taken, 1 + 4 * table.opinion[taken], COVERED),
        ("spread_scale", spoilt, UNCHANGED_OPINION - table.lost[kept], COVERED + BEYOND),
    ):
        low, high = 0.3, 2.0
        for _ in range(8):
            factor = (low + high) / 2
            found[name] = first[name] * np.float32(factor)
            for each, values in found.items():
                stored[each].CopyFrom(numpy_helper.from_array(values, names[each]))
            file.write_bytes(model.SerializeToString())
            said = judged(file, table.values["raw"][rows])
            share = held(said["score"].clip(1, 5), said["spread"], opinion)
            low, high = (factor, high) if share < wanted else (low, factor)
        print(f"{name} × {factor:.3f} holds {share:.3f} of {len(rows)} validation pictures")
    floor, scale = (round(float(found[name].item()), 5) for name in names)
    return file.read_bytes(), {"spread_floor": [floor], "spread_scale": [scale, 0.0]}


def held(score: Floats, spread: Floats, opinions: Floats) -> float:
    """The share of opinions within the interval that is shown."""
    inside = 0
    for chances, opinion in zip(level_probabilities(score, spread), opinions, strict=True):
        low, high = likely_interval(dict(zip(range(1, 6), map(float, chances), strict=True))) or (1.0, 5.0)
        inside += low <= opinion <= high
    return inside / len(opinions)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--seen", "--more", "--data", "--weights", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--version", default="2.5")
    given = parser.parse_args()
    ship(load(given.seen, given.more, given.data, given.weights), given.weights, given.out, given.version)


if __name__ == "__main__":
    main()
