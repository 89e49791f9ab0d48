"""Rewrite the exported networks so that a CPU runs them in a quarter of the time; what they compute hardly changes.

    python -m training.embedded.quicken --weights WEIGHTS --views VIEWS.tar --out src/agenticiqa/vision/weights
        [--pictures PICTURES.tar] [--student STUDENT.npz]

- local.onnx: borders are a convolution's own (a node that pads makes ONNX Runtime unpack its blocked layout: 0.58 of
  the time). From block ``FIRST_WHOLE`` on, where pictures are small and channels many, values and weights are whole
  numbers of 8 and 7 bits, with ranges as ``PICTURES`` have them, and biases that keep the mean of each channel.
- content.onnx: places of the view that look alike are joined inside it (:mod:`training.embedded.merging`); one node for
  the attention of a layer, the factors behind each matrix multiplied into it, and the 48 matrices in 8-bit integers, of
  which 7 bits are used, so that no processor's sums of pairs overflow and all give the same. They are rounded so that
  the error of the result is small on ``VIEWS`` (a tar file, as ``distil`` takes them). What goes into them is rounded
  to 8 bits by picture: behind a normalisation with channels made even in it, elsewhere place by place of its own reach.
  A last digit then moves scores by half as much as without the two.
- joint.onnx computes once for all places of a picture what it makes of the content; focus.onnx is the part of it that
  tells what is in focus, which is asked of every place of some pictures.

``export`` writes ``WEIGHTS``, ``distil`` a student that takes the place of its content.onnx; the hashes in ``OUT``'s
model.json follow.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from PIL import Image
from training.embedded.export import MIDDLE
from training.embedded.merging import MERGED, with_merged_places
from training.embedded.network import HEADS, WIDTH, Content

LARGEST_WEIGHT = 64
VIEWS = 96
FIRST_WHOLE = 9
EVEN = 0.85
"""How far channels behind a normalisation are made even: at 0 their weights are, at 1 their values."""
LEAST_REACH = 1e-20
FUSED = "com.microsoft"
"""The domain of the operations that ONNX Runtime has beyond the standard."""


def without_dead_nodes(graph: onnx.GraphProto) -> None:
    """Leave what the outputs need."""
    wanted, kept = {each.name for each in graph.output}, []
    for node in reversed(graph.node):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    used = [entry for entry in graph.initializer if entry.name in wanted]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(reversed(kept))
    graph.initializer.extend(used)


def with_own_borders(model: onnx.ModelProto) -> onnx.ModelProto:
    """Padding by zeros as an attribute of the convolutions behind it."""
    graph = model.graph
    pads = {node.output[0]: node for node in graph.node if node.op_type == "Pad"}
    if not pads:
        return model
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    asked.graph.output.extend(
        helper.make_tensor_value_info(node.input[1], onnx.TensorProto.INT64, None) for node in pads.values()
    )
    session = onnxruntime.InferenceSession(asked.SerializeToString())
    sizes = session.run([node.input[1] for node in pads.values()], {"picture": np.zeros((1, 64, 96, 3), np.uint8)})
    widths = dict(zip(pads, (list(map(int, each)) for each in sizes), strict=True))
    for node in graph.node:
        if node.op_type == "Conv" and node.input[0] in pads:
            _, _, top, left, _, _, bottom, right = widths[node.input[0]]
            own = next((each for each in node.attribute if each.name == "pads"), None)
            assert own is None or not any(own.ints), node.name
            if own is not None:
                node.attribute.remove(own)
            node.attribute.append(helper.make_attribute("pads", [top, left, bottom, right]))
            node.input[0] = pads[node.input[0]].input[0]
    without_dead_nodes(graph)
    return model


class Pictures(CalibrationDataReader):
    """Pictures at their own size, one after the other."""

    def __init__(self, pictures: list[np.ndarray]) -> None:
        self._left = iter(pictures)

    def get_next(self) -> dict[str, np.ndarray] | None:
        picture = next(self._left, None)
        return None if picture is None else {"picture": picture}


def with_whole_numbers_in_depth(model: onnx.ModelProto, pictures: list[np.ndarray]) -> onnx.ModelProto:
    """Convolutions from block ``FIRST_WHOLE`` on in 8-bit integers, as ONNX Runtime's own tool writes them."""

    def depth(node: onnx.NodeProto) -> int:
        block = re.search(r"/blocks\.(\d+)/", node.name)
        return int(block[1]) if block else FIRST_WHOLE if re.match("/local/(head|top)/", node.name) else -1

    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, f"{folder}/exact.onnx")
        quantize_static(
            f"{folder}/exact.onnx", f"{folder}/whole.onnx", Pictures(pictures), quant_format=QuantFormat.QDQ,
            per_channel=True, reduce_range=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
            op_types_to_quantize=["Conv", "Clip", "Add"], calibrate_method=CalibrationMethod.MinMax,
            nodes_to_exclude=[node.name for node in model.graph.node if depth(node) < FIRST_WHOLE],
        )  # fmt: skip
        return onnx.load(f"{folder}/whole.onnx")


def with_means_kept(model: onnx.ModelProto, exact: onnx.ModelProto, pictures: list[np.ndarray]) -> onnx.ModelProto:
    """What rounding adds to each channel on the mean of some pictures, taken off the biases behind it.

    So for the convolutions that no clipping follows, one after the other (bias correction, Nagel et al. 2019).
    """
    graph = model.graph
    values = {entry.name: entry for entry in graph.initializer}
    by_output = {node.output[0]: node for node in graph.node}
    rounded_ones = [node for node in graph.node if node.op_type == "Conv" and by_output.get(node.input[2]) is not None
                    and re.search(r"/(project/conv|top)/Conv$", node.name)]  # fmt: skip
    names = [node.output[0] for node in rounded_ones]
    wanted = means_of(exact, names, pictures)
    for node in rounded_ones:
        name = node.output[0]
        whole, scale = (values[each] for each in by_output[node.input[2]].input[:2])
        missing = wanted[name] - means_of(model, [name], pictures)[name]
        steps = np.rint(missing / numpy_helper.to_array(scale)).astype(np.int32)
        whole.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(whole) + steps, whole.name))
    return model


def means_of(model: onnx.ModelProto, names: list[str], pictures: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The mean of each channel of these places of the graph."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for name, values in seen_inside(model, names, "picture", pictures):
        found[name].append(values.mean((0, 2, 3), dtype=np.float64))
    return {name: np.mean(rows, axis=0) for name, rows in found.items()}


def with_extremes_by_channel(model: onnx.ModelProto) -> onnx.ModelProto:
    """The largest and the smallest of three channels from the channels beside each other: an eighth of the time."""
    graph, nodes = model.graph, list[onnx.NodeProto]()
    graph.initializer.append(numpy_helper.from_array(np.array([1, 1, 1]), "each_channel"))
    for node in graph.node:
        if node.op_type not in ("ReduceMax", "ReduceMin"):
            nodes.append(node)
            continue
        kind, (red, green, blue, two) = node.op_type.removeprefix("Reduce"), (f"{node.name}/{n}" for n in range(4))
        nodes += [
            helper.make_node("Split", [node.input[0], "each_channel"], [red, green, blue], f"{node.name}/Each", axis=1),
            helper.make_node(kind, [red, green], [two], f"{node.name}/Two"),
            helper.make_node(kind, [two, blue], list(node.output), node.name),
        ]
    del graph.node[:]
    graph.node.extend(nodes)
    return model


def unpacked(model: onnx.ModelProto) -> onnx.ModelProto:
    """Constants computed, weights in 32 bits."""
    with tempfile.TemporaryDirectory() as folder:
        options, file = onnxruntime.SessionOptions(), f"{folder}/plain.onnx"
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = file
        onnxruntime.InferenceSession(model.SerializeToString(), options)
        return onnx.load(file)


def with_fused_attention(model: onnx.ModelProto) -> onnx.ModelProto:
    """Each layer's attention as one node between its two matrices."""
    graph = model.graph
    added: dict[str, list[onnx.NodeProto]] = {}
    sizes = numpy_helper.from_array(np.array([WIDTH] * 3), "attention/sizes")
    graph.initializer.append(sizes)
    for node in graph.node:
        if not node.name.endswith("/out/MatMul"):
            continue
        layer = node.name.removesuffix("/out/MatMul")
        names = [f"{layer}/{letter}" for letter in ("query", "key", "value")]
        added[node.name] = [
            helper.make_node("Split", [f"{layer}/qkv/Add_output_0", sizes.name], names, f"{layer}/Parts", axis=2),
            helper.make_node(
                "MultiHeadAttention", names, [f"{layer}/attention"], f"{layer}/Attention", domain=FUSED,
                num_heads=HEADS, scale=float((WIDTH // HEADS) ** -0.5),
            ),
        ]  # fmt: skip
        node.input[0] = f"{layer}/attention"
    nodes = [each for node in graph.node for each in (*added.get(node.name, ()), node)]
    del graph.node[:]
    graph.node.extend(nodes)
    without_dead_nodes(graph)
    return model


def with_factors_inside(model: onnx.ModelProto) -> onnx.ModelProto:
    """What a layer multiplies its result by, as part of the matrix and the bias before it."""
    graph = model.graph
    by_output = {node.output[0]: node for node in graph.node}
    values = {entry.name: entry for entry in graph.initializer}
    for node in list(graph.node):
        factor = next((name for name in node.input if ".scale" in name), None)
        if node.op_type != "Mul" or factor is None:
            continue
        scale = numpy_helper.to_array(values[factor])
        (inside,) = (name for name in node.input if name != factor)
        add = by_output[inside]
        (product,) = (name for name in add.input if name not in values)
        (bias,) = (name for name in add.input if name in values)
        for name in (by_output[product].input[1], bias):
            values[name].CopyFrom(numpy_helper.from_array(numpy_helper.to_array(values[name]) * scale, name))
        for user in graph.node:
            for place, name in enumerate(user.input):
                if name == node.output[0]:
                    user.input[place] = inside
    without_dead_nodes(graph)
    return model


def read_views(file: Path, count: int) -> list[np.ndarray]:
    """Pictures to measure activations on: the first of a tar file that are no test pictures."""
    found = []
    with tarfile.open(file) as packed:
        for member in packed:
            stream = packed.extractfile(member)
            if stream is None or not member.name.startswith("t"):
                continue
            found.append(np.asarray(Image.open(stream).convert("RGB"))[None])
            if len(found) == count:
                break
    return found


def seen_inside(
    model: onnx.ModelProto, names: list[str], given: str, pictures: list[np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """(name, values) of these places of the graph, picture by picture."""
    asked = onnx.ModelProto()
    asked.CopyFrom(model)
    asked.graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names)
    session = onnxruntime.InferenceSession(asked.SerializeToString())
    for picture in pictures:
        yield from zip(names, session.run(names, {given: picture}), strict=True)


def products_of_inputs(model: onnx.ModelProto, matrices: list[onnx.NodeProto], views: list[np.ndarray]) -> dict:
    """X'X of what goes into each matrix, over some views."""
    sums: dict[str, np.ndarray] = {}
    for name, values in seen_inside(model, sorted({node.input[0] for node in matrices}), "view", views):
        rows = values.reshape(-1, values.shape[-1]).astype(np.float64)
        sums[name] = sums.get(name, 0) + rows.T @ rows
    return sums


def rounded(weight: np.ndarray, products: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers and the step of each column: row by row, each row's rounding error taken back by the rows after it.

    The method of GPTQ (Frantar et al. 2022): what counts is the error of the result on real inputs, whose products the
    second argument holds.
    """
    left = weight.astype(np.float64).copy()
    step = np.maximum(np.abs(left).max(axis=0), 1e-8) / LARGEST_WEIGHT
    damped = products + np.eye(len(products)) * 0.01 * np.trace(products) / len(products)
    inverse = np.linalg.cholesky(np.linalg.inv(damped)).T
    found = np.zeros(weight.shape, np.int8)
    for row in range(len(left)):
        found[row] = np.clip(np.rint(left[row] / step), -LARGEST_WEIGHT, LARGEST_WEIGHT)
        error = (left[row] - found[row] * step) / inverse[row, row]
        left[row + 1 :] -= np.outer(inverse[row, row + 1 :], error)
    return found, step.astype(np.float32)


def with_even_channels(model: onnx.ModelProto, views: list[np.ndarray]) -> onnx.ModelProto:
    """Channels of a normalisation divided, and the rows of the matrix behind it multiplied, so that few steps do."""
    graph = model.graph
    values = {entry.name: entry for entry in graph.initializer}
    by_output = {node.output[0]: node for node in graph.node if node.op_type == "LayerNormalization"}
    matrices = [node for node in graph.node if node.op_type == "MatMul" and node.input[0] in by_output]
    reach: dict[str, np.ndarray] = {}
    for name, found in seen_inside(model, [node.input[0] for node in matrices], "view", views[: VIEWS // 3]):
        reach[name] = np.maximum(reach.get(name, 1e-5), np.quantile(np.abs(found[0]), 0.999, axis=0))
    for node in matrices:
        weight = numpy_helper.to_array(values[node.input[1]])
        factor = reach[node.input[0]] ** EVEN / np.maximum(np.abs(weight).max(axis=1), 1e-5) ** (1 - EVEN)
        factor = (factor / np.exp(np.log(factor).mean())).astype(np.float32)
        changed = {name: numpy_helper.to_array(values[name]) / factor for name in by_output[node.input[0]].input[1:]}
        for name, value in (changed | {node.input[1]: weight * factor[:, None]}).items():
            values[name].CopyFrom(numpy_helper.from_array(value, name))
    return model


def with_integer_sums(model: onnx.ModelProto, views: list[np.ndarray]) -> onnx.ModelProto:
    """The matrices in whole numbers; what goes into them is rounded when it is there, to 8 bits of its own range."""
    graph = model.graph
    values = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    matrices = [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in values]
    products = products_of_inputs(model, matrices, views)
    normalised = {node.output[0] for node in graph.node if node.op_type == "LayerNormalization"}
    graph.initializer.append(numpy_helper.from_array(np.zeros((), np.int8), "no_offset"))
    graph.initializer.append(numpy_helper.from_array(np.array(LEAST_REACH, np.float32), "least_reach"))
    nodes = []
    for node in graph.node:
        if node not in matrices:
            nodes.append(node)
            continue
        given, weight = node.input
        whole, step = rounded(values[weight], products[given])
        graph.initializer.append(numpy_helper.from_array(whole, f"{weight}/int8"))
        graph.initializer.append(numpy_helper.from_array(step, f"{weight}/step"))
        parts = ("sizes", "largest", "reach", "unit", "rounded", "scale", "zero", "sums", "float", "step", "product")
        sizes, largest, reach, unit, inside, scale, zero, sums, exact, both, product = (
            f"{node.name}/{part}" for part in parts
        )
        by_place = given not in normalised
        result = node.output[0]
        if by_place:
            nodes += [
                helper.make_node("Abs", [given], [sizes], f"{node.name}/Abs"),
                helper.make_node("ReduceMax", [sizes], [largest], f"{node.name}/Largest", axes=[-1]),
                helper.make_node("Max", [largest, "least_reach"], [reach], f"{node.name}/Reach"),
                helper.make_node("Div", [given, reach], [unit], f"{node.name}/Unit"),
            ]
            given, result = unit, product
        nodes += [
            helper.make_node("DynamicQuantizeLinear", [given], [inside, scale, zero], f"{node.name}/Round"),
            helper.make_node(
                "MatMulInteger", [inside, f"{weight}/int8", zero, "no_offset"], [sums], f"{node.name}/Sum"
            ),
            helper.make_node("Cast", [sums], [exact], f"{node.name}/Cast", to=onnx.TensorProto.FLOAT),
            helper.make_node("Mul", [scale, f"{weight}/step"], [both], f"{node.name}/Step"),
            helper.make_node("Mul", [exact, both], [result], f"{node.name}/Scale"),
        ]
        if by_place:
            nodes.append(helper.make_node("Mul", [product, reach], list(node.output), f"{node.name}/Places"))
    del graph.node[:]
    graph.node.extend(nodes)
    without_dead_nodes(graph)
    return model


def student_graph(file: Path) -> onnx.ModelProto:
    import torch
    from training.embedded.export import content_graph, with_tokens

    stored = np.load(file)
    student = Content(grid=round((stored["position"].shape[1] - 1) ** 0.5))
    student.load_state_dict({name: torch.from_numpy(stored[name].astype(np.float32)) for name in stored.files})
    return with_tokens(content_graph(student.eval()), student.side)


def with_one_content(model: onnx.ModelProto) -> onnx.ModelProto:
    """The joint heads for many places of one picture: what they make of the content is computed once for all.

    Contents of as many pictures as there are places do as well.
    """
    graph = model.graph
    if any(node.name.startswith("one_content/") for node in graph.node):
        return model
    graph.initializer.append(numpy_helper.from_array(np.array([0]), "one_content/none"))
    graph.initializer.append(numpy_helper.from_array(np.array([1]), "one_content/one"))
    made = [
        helper.make_node("Shape", ["statistics"], ["one_content/shape"], "one_content/Shape"),
        helper.make_node("Slice", ["one_content/shape", "one_content/none", "one_content/one", "one_content/none"],
                         ["one_content/places"], "one_content/Slice"),
        helper.make_node("Concat", ["one_content/places", "one_content/one"], ["one_content/rows"],
                         "one_content/Concat", axis=0),
    ]  # fmt: skip
    added: dict[str, list[onnx.NodeProto]] = {"": made}
    for result, reader in (
        ("/joint/content/content.2/Mul_output_0", "/joint/Concat_1_output_0"),
        ("/joint/flaw_content/flaw_content.2/Mul_output_0", "/joint/Concat_2_output_0"),
        ("/joint/Cast_1_output_0", "opinion_head.at/values"),
    ):
        name = f"one_content{len(added)}"
        added[result] = [helper.make_node("Expand", [result, "one_content/rows"], [name], f"one_content/Expand/{name}")]
        (node,) = (node for node in graph.node if reader in node.output)
        node.input[:] = [name if each == result else each for each in node.input]
    nodes = [*made, *(each for node in graph.node for each in (node, *added.get(node.output[0], ())))]
    del graph.node[:]
    graph.node.extend(nodes)
    content = next(each for each in graph.input if each.name == "content")
    content.type.tensor_type.shape.dim[0].dim_param = "pictures"
    return model


def alone(model: onnx.ModelProto, output: str) -> onnx.ModelProto:
    """What one output needs."""
    graph = model.graph
    kept = [each for each in graph.output if each.name == output]
    del graph.output[:]
    graph.output.extend(kept)
    without_dead_nodes(graph)
    return model


def tidy(model: onnx.ModelProto) -> bytes:
    """Without what the steps before left in it."""
    used = {node.domain for node in model.graph.node}
    kept = [each for each in model.opset_import if each.domain in used]
    del model.opset_import[:], model.metadata_props[:]
    model.opset_import.extend(kept)
    model.ir_version = min(model.ir_version, 9)
    return bytes(model.SerializeToString())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--views", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pictures", type=Path, help="without them local.onnx stays as it is")
    parser.add_argument("--student", type=Path)
    arguments = parser.parse_args()
    views = read_views(arguments.views, VIEWS)
    files: dict[str, bytes] = {}
    if arguments.pictures:
        pictures = read_views(arguments.pictures, VIEWS)
        exact = unpacked(with_own_borders(onnx.load(str(arguments.weights / "local.onnx"))))
        whole = with_means_kept(with_whole_numbers_in_depth(exact, pictures), exact, pictures)
        files["local.onnx"] = tidy(with_extremes_by_channel(whole))
    teacher = onnx.load(str(arguments.weights / "content.onnx"))
    content = with_fused_attention(unpacked(student_graph(arguments.student) if arguments.student else teacher))
    content = with_merged_places(content, MERGED, MIDDLE)
    even = with_even_channels(with_factors_inside(content), views)
    files["content.onnx"] = tidy(with_integer_sums(even, views))
    joint = with_one_content(onnx.load(str(arguments.out / "joint.onnx")))
    files["joint.onnx"] = tidy(joint)
    files["focus.onnx"] = tidy(alone(joint, "in_focus"))
    description = arguments.out / "model.json"
    about = json.loads(description.read_text())
    for name, data in files.items():
        (arguments.out / name).write_bytes(data)
        about["files"][name] = hashlib.sha256(data).hexdigest()
        print(f"{name}: {len(data) / 1e6:.2f} MB")
    description.write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
