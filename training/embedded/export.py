"""Make the shipped files of a checkpoint: three ONNX graphs and a description with their hashes.

    python -m training.embedded.export --checkpoint FILE_OR_PARTS... --out src/agenticiqa/vision/weights

Weights are stored small and computed with in 32 bits: the convolutional network's in 16 bits, the transformer's
matrices in 8 bits with a scale per column. onnxruntime unpacks them once, when it loads the file.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from training.embedded.calibrate import values_of
from training.embedded.kinds import KINDS, SEVERITY_BOUNDS
from training.embedded.network import (
    CELL,
    CONTENT,
    PATCH,
    STATISTICS,
    VIEW,
    WIDTH,
    Assessor,
    Content,
    Joint,
    Local,
    level_probabilities,
)
from training.embedded.real_flaws import FLAW_CATEGORY, FLAWS, SORTS

from agenticiqa.vocabulary import CATEGORIES, LEVEL_NAMES, SEVERITIES

OPSET = 17
CALIBRATED_LATER = (
    "spread_floor",
    "damage_share", "opinion_line", "damage_curve", "absence_offset", "gate_offset", "kind_offset", "severity_share",
    "opinion_knots", "opinion_slopes", "opinion_start", "flaw_scale", "flaw_offset", "presence_scale",
    "presence_offset", "both_severity", "both_flaw", "both_offset", "generated_scale", "generated_offset",
    "focus_scale", "focus_offset", "sort_scale",
)  # fmt: skip
"""Absent from checkpoints that ``calibrate.py`` has not seen yet."""
RETIRED = ("joint.ordinary_share",)
"""In checkpoints up to version 2.1."""
SMALL = 2048
"""Tensors of fewer elements stay as they are."""


class LocalGraph(nn.Module):
    def __init__(self, local: Local):
        super().__init__()
        self.local = local

    def forward(self, picture: Tensor) -> Tensor:
        cells = self.local(picture.permute(0, 3, 1, 2).float() / 255)
        return cells.permute(0, 2, 3, 1)


class ContentGraph(nn.Module):
    def __init__(self, content: Content):
        super().__init__()
        self.content = content

    def forward(self, view: Tensor) -> Tensor:
        return self.content(view.permute(0, 3, 1, 2).float() / 255)


class JointGraph(nn.Module):
    def __init__(self, joint: Joint):
        super().__init__()
        self.joint = joint

    def forward(self, statistics: Tensor, content: Tensor) -> tuple[Tensor, ...]:
        found = self.joint(statistics, content)
        agreed = self.joint.agreed(found)
        return (
            found["score"],
            found["spread"],
            level_probabilities(found["score"], found["spread"]),
            found["damage"],
            found["opinion"],
            found["trust"],
            agreed["severities"],
            found["kinds"].softmax(-1),
            agreed["presence"],
            agreed["flaws"],
            found["sorts"].softmax(-1),
            torch.sigmoid(found["generated"]),
            torch.sigmoid(found["in_focus"]),
        )


JOINT_OUTPUTS = (
    "score", "spread", "levels", "damage", "opinion", "trust", "severities", "kinds",
    "presence", "flaws", "sorts", "generated", "in_focus",
)  # fmt: skip
"""Of each place (M of them): score, spread, levels M×5, damage, opinion, trust, severities M×8×5, kinds M×38, and

- ``presence`` M×8: chance that a category is visible; 1 minus the first severity, never below a flaw of the category
- ``flaws`` M×8: chances of ``real_flaws.FLAWS``, on photographs as taken; 0.5 parts yes from no
- ``sorts`` M×5: ``real_flaws.SORTS``
- ``generated`` M: chance that the picture comes from a generator
- ``in_focus`` M: chance that the place is in focus; asked of single cells it makes a map
"""


def load(files: list[Path]) -> Assessor:
    stored = np.load(io.BytesIO(b"".join(file.read_bytes() for file in files)))
    model = Assessor()
    found = model.load_state_dict(
        {name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored.files if name not in RETIRED},
        strict=False,
    )
    missing = [name for name in found.missing_keys if not name.endswith(("num_batches_tracked", *CALIBRATED_LATER))]
    assert not missing, missing
    assert not found.unexpected_keys, found
    return model.eval()


def graph_of(
    module: nn.Module, inputs: tuple[Tensor, ...], names: list[str], outputs: list[str], free: dict
) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "graph.onnx"
        torch.onnx.export(
            module.eval(), inputs, str(file), input_names=names, output_names=outputs, dynamic_axes=free,
            opset_version=OPSET, dynamo=False, do_constant_folding=True,
        )  # fmt: skip
        return onnx.load(str(file))


MIDDLE = "/content/layers.8/Add_2_output_0"
"""What the ninth layer knows of the view and, behind that, of each place in it."""


def content_graph(content: Content) -> onnx.ModelProto:
    view = torch.zeros(1, VIEW, VIEW, 3, dtype=torch.uint8)
    free = {"view": {0: "views"}, "content": {0: "views"}}
    return graph_of(ContentGraph(content), (view,), ["view"], ["content"], free)


def with_tokens(content: onnx.ModelProto, side: int = VIEW // PATCH) -> onnx.ModelProto:
    """The graph of the content network with the output ``tokens``, N×20×20×768; what it computes stays the same.

    A network with ``side`` patches along a side has its tokens laid out on the grid of 20 by linear interpolation.
    """
    graph, shown = content.graph, VIEW // PATCH
    # The normalised last layer in 32 bits.
    last = [node.output[0] for node in graph.node if node.name.startswith("/content/Cast")][-1]
    bounds = {"tokens/first": [1], "tokens/end": [1 + side * side], "tokens/axis": [1]}
    shape = {"tokens/shape": [-1, side, side, 2 * WIDTH]}
    laid_out = ["tokens"] if side == shown else ["tokens/own"]
    graph.initializer.extend(numpy_helper.from_array(np.array(v), name) for name, v in {**bounds, **shape}.items())
    graph.node.extend(
        [
            helper.make_node("Concat", [MIDDLE, last], ["tokens/all"], axis=-1),
            helper.make_node("Slice", ["tokens/all", *bounds], ["tokens/places"]),
            helper.make_node("Reshape", ["tokens/places", "tokens/shape"], laid_out),
        ]
    )
    if side != shown:
        sizes = {"tokens/rows": [-1, side, side * 2 * WIDTH], "tokens/columns": [-1, shown, side, 2 * WIDTH]}
        between = nn.functional.interpolate(torch.eye(side)[None], shown, mode="linear")[0].T.contiguous().numpy()
        graph.initializer.append(numpy_helper.from_array(between, "tokens/between"))
        graph.initializer.extend(numpy_helper.from_array(np.array(v), name) for name, v in sizes.items())
        for name, axis in (("tokens/rows", "down"), ("tokens/columns", "across")):
            graph.node.extend(
                [
                    helper.make_node("Reshape", [laid_out[0], name], [f"{name}/in"]),
                    helper.make_node("MatMul", ["tokens/between", f"{name}/in"], [f"tokens/{axis}"], f"tokens/{axis}"),
                ]
            )
            laid_out = [f"tokens/{axis}"]
        graph.node[-1].output[0] = "tokens"
    graph.output.append(helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["views", shown, shown, 2 * WIDTH]))
    onnx.checker.check_model(content)
    return content


def packed(model: onnx.ModelProto, eight_bit: bool) -> onnx.ModelProto:
    """Large initialisers stored in 16 or 8 bits, with the nodes that unpack them."""
    graph, added, kept = model.graph, [], []
    for entry in list(graph.initializer):
        values = numpy_helper.to_array(entry)
        if values.dtype != np.float32 or values.size < SMALL:
            kept.append(entry)
            continue
        if eight_bit and values.ndim == 2 and min(values.shape) > 128:
            scale = np.maximum(np.abs(values).max(axis=0, keepdims=True), 1e-8) / 127
            small = np.rint(values / scale).astype(np.int8)
            kept.append(numpy_helper.from_array(small, f"{entry.name}/int8"))
            kept.append(numpy_helper.from_array(scale.astype(np.float32), f"{entry.name}/scale"))
            added.append(
                helper.make_node("Cast", [f"{entry.name}/int8"], [f"{entry.name}/float"], to=TensorProto.FLOAT)
            )
            added.append(helper.make_node("Mul", [f"{entry.name}/float", f"{entry.name}/scale"], [entry.name]))
        else:
            kept.append(numpy_helper.from_array(values.astype(np.float16), f"{entry.name}/half"))
            added.append(helper.make_node("Cast", [f"{entry.name}/half"], [entry.name], to=TensorProto.FLOAT))
    nodes = added + list(graph.node)
    del graph.initializer[:], graph.node[:]
    graph.initializer.extend(kept)
    graph.node.extend(nodes)
    model.ir_version = min(model.ir_version, 9)
    onnx.checker.check_model(model)
    return model


def export(model: Assessor, out: Path) -> dict[str, str]:
    out.mkdir(parents=True, exist_ok=True)
    local = graph_of(
        LocalGraph(model.local),
        (torch.zeros(1, 96, 128, 3, dtype=torch.uint8),),
        ["picture"],
        ["cells"],
        {"picture": {0: "pictures", 1: "height", 2: "width"}, "cells": {0: "pictures", 1: "rows", 2: "columns"}},
    )
    joint = graph_of(
        JointGraph(model.joint),
        (torch.zeros(2, STATISTICS), torch.zeros(2, CONTENT)),
        ["statistics", "content"],
        list(JOINT_OUTPUTS),
        {name: {0: "places"} for name in ("statistics", "content", *JOINT_OUTPUTS)},
    )
    graphs = {
        "local.onnx": packed(local, eight_bit=False),
        "content.onnx": with_tokens(packed(content_graph(model.content), eight_bit=True)),
        "joint.onnx": packed(joint, eight_bit=False),
    }
    hashes = {}
    for name, graph in graphs.items():
        data = graph.SerializeToString()
        (out / name).write_bytes(data)
        hashes[name] = hashlib.sha256(data).hexdigest()
        print(f"{name}: {len(data) / 1e6:.2f} MB")
    return hashes


def describe(model: Assessor, hashes: dict[str, str], version: str) -> dict:
    joint = model.joint
    return {
        "name": "agenticiqa-embedded",
        "version": version,
        "files": hashes,
        "cell": CELL,
        "view": VIEW,
        "statistics": STATISTICS,
        "content": CONTENT,
        "levels": [LEVEL_NAMES[level] for level in range(1, 6)],
        "categories": list(CATEGORIES),
        "severities": list(SEVERITIES),
        "severity_bounds": list(SEVERITY_BOUNDS),
        "flaws": [{"name": name, "category": FLAW_CATEGORY[name]} for name in FLAWS],
        "sorts": list(SORTS),
        "parts": [],  # parts_head.py adds them
        "joint_outputs": list(JOINT_OUTPUTS),
        "kinds": [{"name": kind.name, "title": kind.title, "category": kind.category} for kind in KINDS],
        "preprocessing": {
            "picture": "uint8 RGB, N×H×W×3, sides multiples of 32 (mirror the border to get there)",
            "view": "uint8 RGB, N×280×280×3: the whole picture, resized by Pillow's BILINEAR without keeping its shape",
            "tokens": "float N×20×20×768: what two layers of content.onnx know of each place, for parts.onnx",
            "normalisation": "inside the graphs",
        },
        "calibration": {
            **values_of(joint),
            "note": "fitted on validation pictures and already applied inside joint.onnx",
        },
    }


def differences(model: Assessor, out: Path) -> dict[str, float]:
    """Largest difference between the shipped graphs and the network, on a random picture with structure."""
    import onnxruntime

    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(2, 3, 12, 16, generator=generator)
    picture = (
        (nn.functional.interpolate(coarse, (384, 512), mode="bicubic").clamp(0, 1) * 255).byte().permute(0, 2, 3, 1)
    )
    view = (
        (nn.functional.interpolate(coarse, (VIEW, VIEW), mode="bicubic").clamp(0, 1) * 255).byte().permute(0, 2, 3, 1)
    )
    sessions = {name: onnxruntime.InferenceSession(str(out / f"{name}.onnx")) for name in ("local", "content", "joint")}
    cells = sessions["local"].run(None, {"picture": picture.numpy()})[0]
    content = sessions["content"].run(None, {"view": view.numpy()})[0]
    statistics = cells.mean(axis=(1, 2))
    answers = dict(
        zip(JOINT_OUTPUTS, sessions["joint"].run(None, {"statistics": statistics, "content": content}), strict=True)
    )
    with torch.no_grad():
        own_cells, own_content = LocalGraph(model.local)(picture), ContentGraph(model.content)(view)
        own = dict(zip(JOINT_OUTPUTS, JointGraph(model.joint)(own_cells.mean((1, 2)), own_content), strict=True))
    found = {name: float(np.abs(answers[name] - own[name].numpy()).max()) for name in JOINT_OUTPUTS}
    found["cells"] = float(np.abs(cells - own_cells.numpy()).max())
    found["content"] = float(np.abs(content - own_content.numpy()).max())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--version", default="2.2")
    arguments = parser.parse_args()
    model = load(sorted(arguments.checkpoint))
    hashes = export(model, arguments.out)
    (arguments.out / "model.json").write_text(json.dumps(describe(model, hashes, arguments.version), indent=1) + "\n")
    print("largest differences from the network:", json.dumps(differences(model, arguments.out)))


if __name__ == "__main__":
    main()
