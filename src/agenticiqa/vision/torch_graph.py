"""ONNX graphs of ours run by PyTorch, many pictures at a time: a few operations in kernels of our own on a GPU."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from agenticiqa.vision.network import loaded_once

if TYPE_CHECKING:
    from torch import Tensor

logger = logging.getLogger(__name__)

Array = npt.NDArray[Any]
_Node = tuple[str, list[str], list[str], dict[str, Any]]
"""Operation, inputs, outputs, attributes."""

_BY_PLACE = ("Abs", "ReduceMax", "Max", "Div")
_PRODUCT = ("DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul")
_GELU = ("Div", "Erf", "Add", "Mul", "Mul")
_ROUNDED = ("QuantizeLinear", "DequantizeLinear")
_SEQUENCES = {
    (*_BY_PLACE, *_PRODUCT, "Mul", "Add", "Add"): "RoundedLinear",
    (*_PRODUCT, "Add", *_GELU): "RoundedLinear",
    (*_PRODUCT, "Add"): "RoundedLinear",
    ("Conv", *_ROUNDED, "Conv", *_ROUNDED): "Pair",
    ("Conv", "Clip", "Conv", "Clip"): "Pair",
    _ROUNDED: "Rounded",
}
"""Operations that stand for several nodes: fewer passes over memory. ``Pair``: a convolution and one channel by channel
behind it, each with its limits."""


@loaded_once
def gpu_kernels() -> Any:
    """Our own kernels, tried once; None where they cannot be compiled (they need Triton and a C compiler)."""
    try:
        from agenticiqa.vision import gpu_kernels as kernels

        kernels.attempt()
    except Exception as error:  # noqa: BLE001 - whatever is missing: PyTorch's own operations do the same
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        logger.warning("Triton cannot compile here, so the GPU takes nearly twice as long (%s).", why)
        return None
    return kernels


class TorchGraph:
    """An ONNX graph of ours, node by node in PyTorch.

    Knows the operations of the shipped graphs and no others. What the graph rounds to 8-bit
    integers is rounded here too, and multiplied in whole numbers.
    """

    def __init__(self, data: bytes, device: str = "cuda") -> None:
        import onnx
        import torch
        from onnx import numpy_helper

        graph = onnx.load_from_string(data).graph
        self.device, self.outputs = device, [each.name for each in graph.output]
        self.nodes = [(each.op_type, list(each.input), list(each.output), _attributes(each)) for each in graph.node]
        self.known: dict[str, Any] = {}
        for entry in graph.initializer:
            values = numpy_helper.to_array(entry)
            # Shapes, places and single numbers stay where Python reads them without waiting for the device.
            stays = values.dtype == np.int64 or values.ndim == 0
            self.known[entry.name] = torch.from_numpy(values.copy()).to("cpu" if stays else device)
        self._plans: dict[tuple[str, ...], list[tuple[_Node, list[str]]]] = {}
        self._fold()
        self._order_by_chains()
        self._join_sequences()

    def _fold(self) -> None:
        """Run once what depends on no input: unpacked weights, constants."""
        import torch

        rest = []
        with torch.inference_mode():
            for node in self.nodes:
                if all(name in self.known for name in node[1] if name):
                    self._run_node(node, self.known)
                else:
                    rest.append(node)
        self.nodes = rest
        used = {name for node in rest for name in node[1]} | set(self.outputs)
        self.known = {name: value for name, value in self.known.items() if name in used}

    def _order_by_chains(self) -> None:
        """Behind each node the one that alone reads its result, as soon as it can run: sequences stand together."""
        readers = Counter(name for _, inputs, *_ in self.nodes for name in inputs)
        missing = {name for _, _, outputs, _ in self.nodes for name in outputs}
        rest, ordered = self.nodes, list[_Node]()
        while rest:
            last = ordered[-1][2][0] if ordered else ""
            ready = [place for place, node in enumerate(rest) if not missing.intersection(node[1])]
            following = [place for place in ready if last in rest[place][1] and readers[last] == 1]
            node = rest.pop((following or ready)[0])
            missing.difference_update(node[2])
            ordered.append(node)
        self.nodes = ordered

    def _join_sequences(self) -> None:
        """One operation for each of the sequences that the networks are made of."""
        rest: list[_Node] = []
        place = 0
        while place < len(self.nodes):
            kinds = tuple(kind for kind, *_ in self.nodes[place : place + max(map(len, _SEQUENCES))])
            here = self.nodes[place:]
            joined = next((some for some in _SEQUENCES if kinds[: len(some)] == some and _fits(some, here)), ())
            some = here[: max(1, len(joined))]
            rest.append(self._joined(joined, some) if joined else some[0])
            place += len(some)
        self.nodes = rest

    def _joined(self, kinds: tuple[str, ...], some: Sequence[_Node]) -> _Node:
        """``some`` nodes of these kinds as one."""
        given, attributes = some[0][1], dict[str, Any]()
        if "MatMulInteger" in kinds:
            product, by_place = kinds.index("MatMulInteger"), kinds[0] == "Abs"
            weight, step, plus = some[product][1][1], some[product + 2][1][1], some[product + 4 + by_place]
            (bias,) = (name for name in plus[1] if name in self.known)
            # The layout that the GPU's 8-bit units read.
            self.known[weight] = self.known[weight].T.contiguous().T
            self.known[f"{weight}/sums"] = self.known[weight].sum(0).int()
            added = [name for name in some[-1][1] if name != plus[2][0]] if by_place else []
            given = [given[0], weight, f"{weight}/sums", step, bias, *added]
            attributes = {"by_place": by_place, "gelu": not by_place and len(kinds) > len(_PRODUCT) + 1}
        elif kinds[0] == "Conv":
            limits, second, others = some[1], some[len(some) // 2], some[len(some) // 2 + 1]
            attributes = {"first": some[0][3], "second": second[3], "rounded": limits[0] == "QuantizeLinear"}
            given = [*given, *limits[1][1:], *second[1][1:], *others[1][1:]]
        return _SEQUENCES[kinds], given, some[-1][2], attributes

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Array]) -> list[Array]:
        """As a session of ONNX Runtime does."""
        import torch

        given = {name: torch.from_numpy(np.array(values)).to(self.device) for name, values in inputs.items()}
        return on_host(*self.tensors(given, names))

    def tensors(self, inputs: Mapping[str, Tensor], names: Sequence[str] | None = None) -> list[Tensor]:
        """The outputs, on the device, of inputs that are there."""
        import torch

        wanted = tuple(names or self.outputs)
        with torch.inference_mode():
            values = dict(self.known) | dict(inputs)
            for node, done_with in self._plan(wanted):
                self._run_node(node, values)
                for name in done_with:
                    del values[name]
            return [values[name].float() for name in wanted]

    def _plan(self, wanted: tuple[str, ...]) -> list[tuple[_Node, list[str]]]:
        """The nodes that these outputs need, each with the values that nothing needs after it."""
        if wanted not in self._plans:
            needed, plan = set(wanted), list[tuple[_Node, list[str]]]()
            for node in reversed(self.nodes):
                if needed.intersection(node[2]):
                    read = {name for name in node[1] if name and name not in self.known}
                    unread = [name for name in node[2] if name not in needed]
                    plan.append((node, [*(read - needed), *unread]))
                    needed |= read
            self._plans[wanted] = plan[::-1]
        return self._plans[wanted]

    def _run_node(self, node: _Node, values: dict[str, Any]) -> None:
        kind, inputs, outputs, attributes = node
        given = [values[name] if name else None for name in inputs]
        found = _OPERATIONS[kind](attributes, *given)
        found = found if isinstance(found, (tuple, list)) else (found,)
        values.update(zip(outputs, found, strict=False))


def on_host(*values: Tensor) -> list[Array]:
    """Values as arrays. Until the device has them this thread sleeps: waiting as CUDA does takes a whole core."""
    import torch

    if values and values[0].is_cuda:
        event = torch.cuda.Event(blocking=True)
        event.record()
        event.synchronize()
    return [each.cpu().numpy() for each in values]


def _fits(kinds: tuple[str, ...], nodes: Sequence[_Node]) -> bool:
    """Whether nodes of these kinds read each other, and the second of a pair works channel by channel."""
    if "MatMulInteger" in kinds:
        return True
    chained = all(before[2][0] in node[1] for before, node in pairwise(nodes[: len(kinds)]))
    return chained and (kinds[0] != "Conv" or nodes[len(kinds) // 2][3].get("group", 1) > 1)


def _attributes(node: Any) -> dict[str, Any]:
    from onnx import helper, numpy_helper

    found = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    return {name: numpy_helper.to_array(value) if name == "value" else value for name, value in found.items()}


def _numbers(value: Any) -> list[int]:
    return [int(each) for each in value.reshape(-1).tolist()]


def _constant(attributes: dict[str, Any]) -> Any:
    import torch

    return torch.from_numpy(np.array(attributes["value"]))


def _shape_of_constant(attributes: dict[str, Any], shape: Any) -> Any:
    import torch

    value = attributes.get("value", np.zeros(1, np.float32))
    return torch.from_numpy(np.broadcast_to(value, _numbers(shape)).copy())


def _cast(attributes: dict[str, Any], value: Any) -> Any:
    import torch

    kinds = {1: torch.float32, 6: torch.int32, 7: torch.int64, 9: torch.bool, 10: torch.float16, 3: torch.int8}
    return value.to(kinds[attributes["to"]])


def _sliced(_: dict[str, Any], value: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    begins, finishes = _numbers(starts), _numbers(ends)
    along = _numbers(axes) if axes is not None else list(range(len(begins)))
    by = _numbers(steps) if steps is not None else [1] * len(begins)
    for begin, end, axis, step in zip(begins, finishes, along, by, strict=True):
        if step < 0:
            value = value.flip(axis)
            begin, end, step = -1 - begin, -1 - end, -step  # noqa: PLW2901 - the same places, counted from the other end
            begin, end = begin + value.shape[axis] * (begin < 0), end + value.shape[axis] * (end < 0)  # noqa: PLW2901
        places = slice(begin, min(end, value.shape[axis]), step)
        value = value[(slice(None),) * (axis % value.ndim) + (places,)]
    return value


def _reshaped(_: dict[str, Any], value: Any, shape: Any) -> Any:
    wanted = [value.shape[place] if side == 0 else side for place, side in enumerate(_numbers(shape))]
    return value.reshape(wanted)


# --- Convolutions ---


def _convolved(attributes: dict[str, Any], value: Any, weight: Any, bias: Any = None) -> Any:
    """cuDNN plans every new size of picture for seconds: matrices, and what PyTorch has itself, need no plan."""
    import torch
    from torch.nn import functional

    pictures, channels, height, width = value.shape
    (down, across), groups = attributes.get("strides", [1, 1]), attributes.get("group", 1)
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    if groups > 1:
        if (top, left) != (bottom, right):
            value, (top, left) = functional.pad(value, (left, right, top, bottom)), (0, 0)
        with torch.backends.cudnn.flags(enabled=False):
            return functional.conv2d(value, weight, bias, stride=(down, across), padding=(top, left), groups=groups)
    if list(weight.shape[2:]) == [down, across] != [1, 1]:
        # Patches beside each other.
        rows, columns = height // down, width // across
        patches = value.reshape(pictures, channels, rows, down, columns, across).permute(0, 2, 4, 1, 3, 5)
        found = functional.linear(patches.reshape(pictures, rows, columns, -1), weight.flatten(1), bias)
        return found.permute(0, 3, 1, 2)
    high, wide = weight.shape[2:]
    rows, columns = (height + top + bottom - high) // down + 1, (width + left + right - wide) // across + 1
    if (high, wide) != (1, 1):
        value = functional.pad(value, (left, right, top, bottom))
        reach = (down * (rows - 1) + 1, across * (columns - 1) + 1)
        shifted = [
            value[:, :, row : row + reach[0] : down, column : column + reach[1] : across]
            for row in range(high)
            for column in range(wide)
        ]
        value = torch.cat(shifted, 1)
    found = weight.permute(0, 2, 3, 1).flatten(1) @ value.flatten(2)
    found = found if bias is None else found.add_(bias[:, None])
    return found.reshape(pictures, len(weight), rows, columns)


def _pair(
    attributes: dict[str, Any], value: Any, weight: Any, bias: Any, low: Any, high: Any,
    next_weight: Any, next_bias: Any, next_low: Any, next_high: Any,
) -> Any:  # fmt: skip
    """A convolution and one channel by channel behind it. Limits: two ends, or a step and the number of its zero."""
    if value.is_cuda and (kernels := gpu_kernels()):
        limits = [_limits(*each, rounded=attributes["rounded"]) for each in ((low, high), (next_low, next_high))]
        found = _convolved(attributes["first"], value, weight)
        return kernels.depthwise(found, bias, next_weight, next_bias, attributes["second"], *limits)
    limit = _rounded if attributes["rounded"] else _clipped
    found = limit({}, _convolved(attributes["first"], value, weight, bias), low, high)
    return limit({}, _convolved(attributes["second"], found, next_weight, next_bias), next_low, next_high)


def _limits(first: Any, second: Any, *, rounded: bool) -> tuple[float, float, float]:
    """Step (0: none), and the two ends in steps."""
    import torch

    if not rounded:
        return 0.0, first.item(), second.item()
    ends = torch.iinfo(second.dtype)
    return first.item(), ends.min - second.item(), ends.max - second.item()


def _rounded(_: dict[str, Any], value: Any, step: Any, zero: Any) -> Any:
    """To whole steps, as many as a byte counts."""
    size, low, high = _limits(step, zero, rounded=True)
    return (value / size).round_().clamp_(low, high).mul_(size)


def _unpacked(attributes: dict[str, Any], value: Any, scale: Any, zero: Any) -> Any:
    shape = [-1 if place == attributes.get("axis", 1) and scale.ndim else 1 for place in range(value.ndim)]
    return (value.float() - zero.reshape(shape)) * scale.reshape(shape)


def _pooled(attributes: dict[str, Any], value: Any) -> Any:
    """Means of squares beside each other."""
    (high, wide), (pictures, channels, height, width) = attributes["kernel_shape"], value.shape
    return value.reshape(pictures, channels, height // high, high, width // wide, wide).mean((3, 5))


# --- Matrices ---


def _rounded_linear(
    attributes: dict[str, Any], value: Any, weight: Any, sums: Any, step: Any, bias: Any, added: Any = None
) -> Any:
    """Inputs rounded to 8 bits as a CPU does, each picture by itself, and multiplied in whole numbers.

    ``by_place``: every place divided by its own reach before, and multiplied by it after. ``sums``: of each column of
    the weights. ``added`` is added to the result, or GELU makes something of it.
    """
    import torch
    from torch.nn import functional

    by_place, gelu = attributes["by_place"], attributes["gelu"]
    if value.is_cuda and (kernels := gpu_kernels()):
        return kernels.rounded_linear(value, weight, sums, step, bias, added, by_place=by_place, gelu=gelu)
    pictures, places, width = value.shape
    reach = value.abs().amax(-1, keepdim=True).clamp_min(1e-20) if by_place else value.new_ones(())
    value = value.float() / reach
    low, high = value.reshape(pictures, -1).aminmax(dim=1)
    low, high = low.clamp_max(0), high.clamp_min(0)
    scale = ((high - low) / 255).clamp_min(1e-12).reshape(-1, 1, 1)
    # Bytes without a sign have their zero at ``zero``; the GPU multiplies bytes with one, 128 lower.
    zero = (-low.reshape(-1, 1, 1) / scale).round() - 128
    whole = (value / scale).round_().add_(zero).clamp_(-128, 127).to(torch.int8)
    product = torch._int_mm(whole.reshape(-1, width), weight).reshape(pictures, places, -1) - zero.int() * sums
    found = torch.addcmul(bias, product * (scale * step), reach)
    if gelu:
        return functional.gelu(found)
    return found if added is None else found.add_(added)


def _attention(attributes: dict[str, Any], *parts: Any) -> Any:
    from torch.nn import functional

    heads, (pictures, places, width) = attributes["num_heads"], parts[0].shape
    query, key, value = (each.reshape(pictures, places, heads, width // heads).transpose(1, 2) for each in parts[:3])
    more = parts[5].to(query.dtype) if len(parts) > 5 else None
    found = functional.scaled_dot_product_attention(query, key, value, more, scale=attributes["scale"])
    return found.transpose(1, 2).reshape(pictures, places, width)


def _linear(attributes: dict[str, Any], value: Any, weight: Any, bias: Any) -> Any:
    from torch.nn import functional

    return functional.linear(value, weight if attributes.get("transB") else weight.T, bias)


def _normalised(attributes: dict[str, Any], value: Any, scale: Any, bias: Any) -> Any:
    from torch.nn import functional

    return functional.layer_norm(value, value.shape[-1:], scale, bias, attributes.get("epsilon", 1e-5))


# --- The rest ---


def _reduced(name: str) -> Callable[..., Any]:
    def run(attributes: dict[str, Any], value: Any, axes: Any = None) -> Any:
        along = attributes.get("axes") or _numbers(axes)
        return getattr(value, name)(tuple(along), keepdim=bool(attributes.get("keepdims", 1)))

    return run


def _split(attributes: dict[str, Any], value: Any, sizes: Any = None) -> Any:
    axis = attributes.get("axis", 0)
    if sizes is not None:
        return value.split(_numbers(sizes), axis)
    return value.chunk(int(attributes["num_outputs"]), axis)


def _unsqueezed(_: dict[str, Any], value: Any, axes: Any) -> Any:
    for axis in sorted(_numbers(axes)):
        value = value.unsqueeze(axis)
    return value


def _squeezed(_: dict[str, Any], value: Any, axes: Any) -> Any:
    return value.squeeze(tuple(_numbers(axes)))


def _gathered(attributes: dict[str, Any], value: Any, places: Any) -> Any:
    axis = attributes.get("axis", 0)
    found = value.index_select(axis, places.reshape(-1).to(value.device))
    return found.reshape([*value.shape[:axis], *places.shape, *value.shape[axis + 1 :]])


def _gathered_by_picture(_: dict[str, Any], value: Any, places: Any) -> Any:
    """``places``: pictures × count × 1, each picture's own."""
    return value.gather(1, places.expand(-1, -1, value.shape[2]))


def _largest(attributes: dict[str, Any], value: Any, count: Any) -> Any:
    axis, largest = attributes.get("axis", -1), bool(attributes.get("largest", 1))
    # Equal values in the order that they have, as on a CPU.
    values, places = value.sort(dim=axis, descending=largest, stable=True)
    (kept,) = _numbers(count)
    return values.narrow(axis, 0, kept), places.narrow(axis, 0, kept)


def _shape(_: dict[str, Any], value: Any) -> Any:
    import torch

    return torch.tensor(value.shape)


def _expanded(_: dict[str, Any], value: Any, shape: Any) -> Any:
    wanted = _numbers(shape)
    sides = [1] * (len(wanted) - value.ndim) + list(value.shape)
    return value.expand([max(pair) for pair in zip(sides, wanted, strict=True)])


def joined(attributes: dict[str, Any], *values: Any) -> Any:
    import torch

    return torch.cat(_same_place(values), attributes["axis"])


def _same_place(values: Sequence[Any]) -> list[Any]:
    """A constant beside values on the device goes there."""
    device = next((each.device for each in values if each.device.type != "cpu"), values[0].device)
    return [each.to(device) for each in values]


def _on_torch(name: str) -> Callable[..., Any]:
    def run(_: dict[str, Any], *values: Any) -> Any:
        import torch

        return getattr(torch, name)(*_same_place(values))

    return run


def _clipped(_: dict[str, Any], value: Any, low: Any = None, high: Any = None) -> Any:
    # Constants lie on the host: reading them does not wait for the device.
    return value.clamp(*(None if each is None else each.item() for each in (low, high)))


def _divided(_: dict[str, Any], first: Any, second: Any) -> Any:
    first, second = _same_place([first, second])
    return first / second if first.is_floating_point() else first // second


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "ArgMax": lambda attributes, value: value.argmax(attributes["axis"], keepdim=bool(attributes.get("keepdims", 1))),
    "AveragePool": _pooled, "Cast": _cast, "Clip": _clipped, "Concat": joined, "Constant": _constant,
    "ConstantOfShape": _shape_of_constant, "Conv": _convolved, "DequantizeLinear": _unpacked, "Div": _divided,
    "Expand": _expanded, "Gather": _gathered, "GatherND": _gathered_by_picture,
    "GatherElements": lambda attributes, value, places: value.gather(attributes["axis"], places),
    "Gemm": _linear, "LayerNormalization": _normalised,
    "MultiHeadAttention": _attention, "Pair": _pair,
    "ReduceMax": _reduced("amax"), "ReduceMean": _reduced("mean"), "ReduceMin": _reduced("amin"),
    "ReduceSum": _reduced("sum"), "Relu": _on_torch("relu"), "Reshape": _reshaped,
    "Rounded": _rounded, "RoundedLinear": _rounded_linear, "Shape": _shape, "Slice": _sliced,
    "Softmax": lambda attributes, value: value.softmax(attributes.get("axis", -1)),
    "Softplus": lambda _, value: value.float().exp().log1p().where(value < 20, value.float()),
    "Split": _split, "Squeeze": _squeezed, "TopK": _largest,
    "Transpose": lambda attributes, value: value.permute(attributes["perm"]),
    "Unsqueeze": _unsqueezed,
    **{name: _on_torch(own) for name, own in {
        "Add": "add", "Equal": "eq", "Greater": "gt", "Less": "lt", "Log": "log", "MatMul": "matmul",
        "Max": "maximum", "Min": "minimum", "Mod": "remainder", "Mul": "mul", "Pow": "pow", "Sigmoid": "sigmoid",
        "Sqrt": "sqrt", "Sub": "sub", "Where": "where",
    }.items()},
}  # fmt: skip
"""What each operation of the shipped graphs is in PyTorch."""
