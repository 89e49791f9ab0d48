"""The two published networks as ONNX models, assembled from plain arrays.

LPIPS: Zhang, Isola, Efros, Shechtman and Wang, CVPR 2018, version 0.1 on AlexNet.
DISTS: Ding, Ma, Wang and Simoncelli, IEEE TPAMI, 2020, on VGG-16.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from agenticiqa.tools.metrics import Array
from agenticiqa.tools.perceptual.onnx_file import Graph

Weights = Mapping[str, Array]
"""``conv0_kernel`` (output × input × height × width), ``conv0_bias`` … and ``head0`` … for LPIPS."""

# LPIPS maps [0, 1] to [-1, 1], then shifts and scales by these.
_LPIPS_SHIFT = np.array([-0.030, -0.088, -0.188])
_LPIPS_SCALE = np.array([0.458, 0.448, 0.450])
_IMAGENET_MEAN = np.array([0.485, 0.456, 0.406])
_IMAGENET_DEVIATION = np.array([0.229, 0.224, 0.225])
_LPIPS_EPSILON = 1e-10
_POOL_EPSILON = 1e-12

ALEXNET_LAYERS = ((4, 2), (1, 2), (1, 1), (1, 1), (1, 1))
"""Stride and padding of each convolution; a 3×3 maximum with stride 2 stands before the second and third."""
_ALEXNET_POOLED = (1, 2)
VGG_STAGES = (2, 2, 3, 3, 3)
"""Convolutions a stage; DISTS reads the picture and the end of each stage."""
VGG_CHANNELS = (3, 64, 128, 256, 512, 512)


def lpips_model(weights: Weights) -> bytes:
    """Inputs ``test`` and ``reference`` in [0, 1]; outputs the five maps whose means add up to LPIPS."""
    graph = Graph()
    x = _scaled(graph, _both(graph), 2 / _LPIPS_SCALE, (-1 - _LPIPS_SHIFT) / _LPIPS_SCALE)
    maps = []
    for index, (stride, pad) in enumerate(ALEXNET_LAYERS):
        if index in _ALEXNET_POOLED:
            x = graph.node("MaxPool", [x], kernel_shape=(3, 3), strides=(2, 2))
        x = _layer(graph, x, weights, index, stride=stride, pad=pad)
        maps.append(_lpips_difference(graph, x, weights[f"head{index}"]))
    return graph.model(maps)


def _lpips_difference(graph: Graph, features: str, head: Array) -> str:
    length = graph.node("ReduceL2", [features], axes=(1,), keepdims=1)
    safe = graph.node("Add", [length, graph.constant(np.array(_LPIPS_EPSILON))])
    test, reference = graph.split("Split", [graph.node("Div", [features, safe])], 2, axis=0)
    difference = graph.node("Sub", [test, reference])
    return graph.convolution(graph.node("Mul", [difference, difference]), head.reshape(1, -1, 1, 1))


def dists_model(weights: Weights) -> bytes:
    """Inputs as above; outputs mean and variance (2 × channels) and covariance of the picture and each stage."""
    graph = Graph()
    both = _both(graph)
    outputs = [*_statistics(graph, both)]
    x = _scaled(graph, both, 1 / _IMAGENET_DEVIATION, -_IMAGENET_MEAN / _IMAGENET_DEVIATION)
    index = 0
    for stage, layers in enumerate(VGG_STAGES):
        if stage:
            x = _smooth_pool(graph, x, VGG_CHANNELS[stage])
        for _ in range(layers):
            x = _layer(graph, x, weights, index, stride=1, pad=1)
            index += 1
        outputs += _statistics(graph, x)
    return graph.model(outputs)


def is_vgg16(weights: Weights) -> bool:
    """Whether the arrays are the 13 convolutions that :func:`dists_model` needs."""
    inputs = [VGG_CHANNELS[0]]
    shapes: dict[str, tuple[int, ...]] = {}
    for stage, layers in enumerate(VGG_STAGES):
        for _ in range(layers):
            width = VGG_CHANNELS[stage + 1]
            shapes[f"conv{len(shapes)}_kernel"] = (width, inputs[-1], 3, 3)
            inputs.append(width)
    return all(name in weights and weights[name].shape == shape for name, shape in shapes.items())


def _smooth_pool(graph: Graph, x: str, channels: int) -> str:
    """Root of the Hanning-weighted mean square: halves the size without aliasing."""
    row = np.array([0.5, 1.0, 0.5])
    window = np.outer(row, row) / np.outer(row, row).sum()
    kernel = np.broadcast_to(window, (channels, 1, 3, 3))
    power = graph.convolution(graph.node("Mul", [x, x]), kernel, stride=2, pad=1)
    return graph.node("Sqrt", [graph.node("Add", [power, graph.constant(np.array(_POOL_EPSILON))])])


def _statistics(graph: Graph, features: str) -> tuple[str, str, str]:
    mean = graph.node("ReduceMean", [features], axes=(2, 3), keepdims=1)
    centred = graph.node("Sub", [features, mean])
    variance = graph.node("ReduceMean", [graph.node("Mul", [centred, centred])], axes=(2, 3), keepdims=1)
    test, reference = graph.split("Split", [centred], 2, axis=0)
    covariance = graph.node("ReduceMean", [graph.node("Mul", [test, reference])], axes=(2, 3), keepdims=1)
    return mean, variance, covariance


def _both(graph: Graph) -> str:
    return graph.node("Concat", [graph.picture("test"), graph.picture("reference")], axis=0)


def _scaled(graph: Graph, x: str, factor: Array, offset: Array) -> str:
    product = graph.node("Mul", [x, graph.constant(factor.reshape(1, 3, 1, 1))])
    return graph.node("Add", [product, graph.constant(offset.reshape(1, 3, 1, 1))])


def _layer(graph: Graph, x: str, weights: Weights, index: int, *, stride: int, pad: int) -> str:
    kernel, bias = weights[f"conv{index}_kernel"], weights[f"conv{index}_bias"]
    return graph.node("Relu", [graph.convolution(x, kernel, bias, stride=stride, pad=pad)])
