"""Writes ONNX models as bytes, so that networks can be assembled from plain arrays without the ``onnx`` package.

Only what the perceptual networks use is covered: float32 tensors, pictures of any size as input, nodes with integer
attributes. Field numbers are those of the public ``onnx.proto3`` schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from agenticiqa.tools.metrics import Array, FloatArray

IR_VERSION = 6
OPSET = 11
_FLOAT32 = 1
_ATTRIBUTE_INT, _ATTRIBUTE_INTS = 2, 7
_VARINT, _BYTES = 0, 2


def _varint(value: int) -> bytes:
    """
    >>> _varint(300).hex()
    'ac02'
    """
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(tag: int, value: int) -> bytes:
    return _varint(tag << 3 | _VARINT) + _varint(value)


def _bytes(tag: int, payload: bytes | str) -> bytes:
    raw = payload.encode() if isinstance(payload, str) else payload
    return _varint(tag << 3 | _BYTES) + _varint(len(raw)) + raw


def _attribute(name: str, value: int | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _bytes(1, name) + _number(3, value) + _number(20, _ATTRIBUTE_INT)
    return _bytes(1, name) + b"".join(_number(8, item) for item in value) + _number(20, _ATTRIBUTE_INTS)


def _tensor(name: str, values: FloatArray) -> bytes:
    dimensions = b"".join(_number(1, size) for size in values.shape)
    return dimensions + _number(2, _FLOAT32) + _bytes(8, name) + _bytes(9, values.astype("<f4").tobytes())


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(_bytes(1, _number(1, size) if isinstance(size, int) else _bytes(2, size)) for size in shape)
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, _FLOAT32) + _bytes(2, sizes)))


@dataclass
class Graph:
    """A network under construction: every method adds a step and returns the name of its result.

    >>> graph = Graph()
    >>> doubled = graph.node("Add", [graph.picture("x"), "x"])
    >>> len(graph.model([doubled])) > 50
    True
    """

    _nodes: list[bytes] = field(default_factory=list)
    _tensors: list[bytes] = field(default_factory=list)
    _inputs: list[bytes] = field(default_factory=list)
    _made: int = 0

    def picture(self, name: str) -> str:
        """An input of shape 1×3×height×width."""
        self._inputs.append(_value(name, [1, 3, "height", "width"]))
        return name

    def constant(self, values: Array) -> str:
        name = self._name()
        self._tensors.append(_tensor(name, np.asarray(values, np.float32)))
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: int | Sequence[int]) -> str:
        return self.split(operator, inputs, 1, **attributes)[0]

    def split(
        self, operator: str, inputs: Sequence[str], outputs: int, **attributes: int | Sequence[int]
    ) -> tuple[str, ...]:
        """A step with several results."""
        names = tuple(self._name() for _ in range(outputs))
        body = b"".join(_bytes(1, name) for name in inputs) + b"".join(_bytes(2, name) for name in names)
        body += _bytes(4, operator) + b"".join(_bytes(5, _attribute(key, value)) for key, value in attributes.items())
        self._nodes.append(body)
        return names

    def convolution(self, x: str, kernel: Array, bias: Array | None = None, *, stride: int = 1, pad: int = 0) -> str:
        """``kernel`` is output × input × height × width; a single input channel means one filter a channel."""
        parameters = [self.constant(kernel)] + ([] if bias is None else [self.constant(bias)])
        outputs, inputs, height, width = kernel.shape
        depthwise = inputs == 1 and outputs > 1
        return self.node(
            "Conv", [x, *parameters], kernel_shape=(height, width), strides=(stride, stride), pads=(pad,) * 4,
            group=outputs if depthwise else 1,
        )  # fmt: skip

    def model(self, outputs: Sequence[str]) -> bytes:
        """The finished file's content."""
        graph = b"".join(_bytes(1, node) for node in self._nodes) + _bytes(2, "perceptual")
        graph += b"".join(_bytes(5, tensor) for tensor in self._tensors)
        graph += b"".join(_bytes(11, value) for value in self._inputs)
        graph += b"".join(_bytes(12, _bytes(1, name)) for name in outputs)
        return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _bytes(1, "") + _number(2, OPSET))

    def _name(self) -> str:
        self._made += 1
        return f"t{self._made}"
