"""The trained vision model on a GPU: its ONNX graphs run by PyTorch, many pictures at a time.

PyTorch rather than ONNX Runtime's CUDA build: that one replaces the files of the build for the CPU, which the core
install brings, and whoever has a GPU for pictures has PyTorch with a CUDA of its own beside it. Half precision where it
is safe (convolutions and heads), single precision for sums of squares and for the network that rounds to 8 bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from agenticiqa.errors import MissingExtraError
from agenticiqa.vision.network import (
    FAR,
    FAR_FROM,
    WEIGHTS,
    Features,
    Floats,
    Prepared,
    Vision,
    load_vision,
    loaded_once,
)

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[Any]
_Node = tuple[str, list[str], list[str], dict[str, Any]]
"""Operation, inputs, outputs, attributes."""
Device = Literal["auto", "cpu", "cuda"]
PIXELS_AT_ONCE = 32 * 512 * 512
"""How much of one size goes through the convolutional network together."""


def chosen_device(asked: Device) -> tuple[Literal["cpu", "cuda"], str]:
    """Where the model runs, and why there; a GPU that was asked for by name and cannot be used raises."""
    why = _why_no_gpu() if asked != "cpu" else "as asked"
    if why is None:
        import torch

        return "cuda", torch.cuda.get_device_name()
    if asked == "cuda":
        raise MissingExtraError(f"No GPU can be used: {why}.", hint="--device cpu works without one.")
    return "cpu", why


def _why_no_gpu() -> str | None:
    try:
        import onnx  # noqa: F401
        import torch
    except ImportError:
        return "PyTorch or onnx is not installed (pip install 'agenticiqa[gpu]')"
    if not torch.cuda.is_available():
        built = torch.version.cuda
        return "PyTorch sees no GPU" if built else "this PyTorch is built for the CPU only"
    try:
        # A driver that does not fit is told only when something runs.
        torch.zeros(1, device="cuda").add_(1).item()
    except RuntimeError as error:
        return f"the GPU does not answer ({str(error).splitlines()[0]})"
    return None


def gpu_memory() -> int:
    """All of the GPU's memory, in bytes."""
    import torch

    return int(torch.cuda.mem_get_info()[1])


@loaded_once
def vision_on(device: Literal["cpu", "cuda"]) -> Vision:
    """The shipped model on a device; each is loaded once."""
    return load_vision() if device == "cpu" else BatchVision()


class BatchVision(Vision):
    """The model in PyTorch. Several pictures are seen together; what it says of each does not depend on the others."""

    def __init__(self, folder: Path = WEIGHTS, device: str = "cuda") -> None:
        self._device = device
        super().__init__(folder)

    def _opened(self, data: bytes, _: int) -> Any:
        return TorchGraph(data, self._device)

    def see(self, pictures: Sequence[Prepared]) -> list[Features]:
        """See several pictures; cells and tokens stay on the device: a rating is made of means and focus."""
        wholes = self._cells_of([each.whole for each in pictures])
        farther = [(place, each.farther) for place, each in enumerate(pictures) if each.farther is not None]
        windows = [(place, window) for place, each in enumerate(pictures) for window in each.windows]
        scales = [each.scale for each in pictures]
        views = self._to_device(np.stack([each.view for each in pictures]))
        return self._features(views, wholes, scales, self._means_of(farther), self._means_of(windows))

    def see_tensor(self, pictures: Tensor) -> list[Features]:
        """Pictures of one size on the device (N×H×W×3 bytes, none larger than LONGEST), seen where they are."""
        from torch.nn import functional

        cell, side = int(self.about["cell"]), int(self.about["view"])
        height, width = pictures.shape[1:3]
        planes = pictures.permute(0, 3, 1, 2).float()

        def resized(size: tuple[int, int], mode: str) -> Tensor:
            found = functional.interpolate(planes, size, mode=mode, antialias=True)
            return found.round().clamp(0, 255).byte().permute(0, 2, 3, 1)

        def cells_of(some: Tensor) -> Tensor:
            for axis in (1, 2):
                missing = -some.shape[axis] % cell
                some = _joined({"axis": axis}, some, some.flip(axis).narrow(axis, 0, missing)) if missing else some
            return self._local(some.byte())

        longer = max(height, width)
        farther: dict[int, Floats] = {}
        if longer > FAR_FROM:
            size = (max(1, round(height * FAR / longer)), max(1, round(width * FAR / longer)))
            farther = dict(enumerate(_means(cells_of(resized(size, "bicubic"))).cpu().numpy()))
        everywhere = list(range(len(pictures)))
        wholes = [(everywhere, cells_of(pictures))]
        return self._features(resized((side, side), "bilinear"), wholes, [1.0] * len(pictures), farther, {})

    def _features(
        self,
        views: Tensor,
        wholes: Sequence[tuple[list[int], Tensor]],
        scales: Sequence[float],
        farther: Mapping[int, Floats],
        closer: Mapping[int, Floats],
    ) -> list[Features]:
        """``wholes``: cells of pictures of one size, with their places; statistics of other distances by place."""
        import torch

        (content,) = self._sessions["content.onnx"].tensors({"view": views}, ["content"])
        means = content.new_empty(len(views), int(self.about["statistics"]))
        focus: list[Tensor] = []
        for places, cells in wholes:
            means[places] = _means(cells)
            count, rows, columns, width = cells.shape
            of_cells = content[places][:, None].expand(-1, rows * columns, -1).flatten(0, 1)
            given = {"statistics": cells.reshape(-1, width), "content": of_cells}
            focus += self._sessions["joint.onnx"].tensors(given, ["in_focus"])[0].reshape(count, rows, columns)
        flat = torch.cat([each.flatten() for each in focus]).cpu().numpy()
        parts = np.split(flat, np.cumsum([each.numel() for each in focus])[:-1])
        order = [place for places, _ in wholes for place in places]
        in_focus = {place: own.reshape(each.shape) for place, own, each in zip(order, parts, focus, strict=True)}
        shown = zip(content.cpu().numpy(), means.cpu().numpy(), scales, strict=True)
        nothing = np.empty((0, 0, 0), np.float32)
        return [
            Features(nothing, one, nothing, scale, farther.get(place), closer.get(place), mean, in_focus[place])
            for place, (one, mean, scale) in enumerate(shown)
        ]

    def _cells_of(self, pieces: Sequence[Array]) -> list[tuple[list[int], Tensor]]:
        """Places of pieces of one size, with their cells: all sizes, a limited number at once."""
        by_size = defaultdict(list)
        for place, piece in enumerate(pieces):
            by_size[piece.shape].append(place)
        found = []
        for (height, width, _), places in by_size.items():
            step = max(1, PIXELS_AT_ONCE // (height * width))
            for start in range(0, len(places), step):
                some = places[start : start + step]
                found.append((some, self._local(self._to_device(np.stack([pieces[place] for place in some])))))
        return found

    def _means_of(self, pieces: Sequence[tuple[int, Array]]) -> dict[int, Floats]:
        """Mean statistics by picture. Pieces of one picture are of one size, so that each counts alike."""
        found = defaultdict(list)
        for places, cells in self._cells_of([piece for _, piece in pieces]):
            for place, mean in zip(places, _means(cells).cpu().numpy(), strict=True):
                found[pieces[place][0]].append(mean)
        return {place: np.asarray(np.mean(some, 0, np.float64), np.float32) for place, some in found.items()}

    def _local(self, pictures: Tensor) -> Tensor:
        found: list[Tensor] = self._sessions["local.onnx"].tensors({"picture": pictures})
        return found[0]

    def _to_device(self, values: Array) -> Tensor:
        import torch

        return torch.from_numpy(values).to(self._device, non_blocking=True)


def _means(cells: Tensor) -> Tensor:
    """Of each picture's cells, in double precision."""
    return cells.double().mean((1, 2)).float()


_BY_PLACE = ("Abs", "ReduceMax", "Max", "Div")
_ROUNDED_PRODUCT = ("DynamicQuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul")
_SEQUENCES = {
    (*_BY_PLACE, *_ROUNDED_PRODUCT, "Mul", "Add"): "RoundedLinearByPlace",
    (*_ROUNDED_PRODUCT, "Add"): "RoundedLinear",
    ("Div", "Erf", "Add", "Mul", "Mul"): "Gelu",
    ("Conv", "Clip"): "ClippedConv",
}
"""Operations that stand for several nodes: fewer passes over memory."""


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
        self._join_sequences()
        # Rounding to 8 bits doubles what a half's last digits change: scores would differ by up to 0.03 from a CPU's.
        self.may_be_half = all("Rounded" not in kind for kind, *_ in self.nodes)

    def _fold(self) -> None:
        """Run once what depends on no input: unpacked weights, constants."""
        rest = []
        with _without_gradients(self.device):
            for node in self.nodes:
                if all(name in self.known for name in node[1] if name):
                    self._run_node(node, self.known)
                else:
                    rest.append(node)
        self.nodes = rest
        used = {name for node in rest for name in node[1]} | set(self.outputs)
        self.known = {name: value for name, value in self.known.items() if name in used}

    def _join_sequences(self) -> None:
        """One operation for each of the sequences that the networks are made of."""
        rest: list[_Node] = []
        place = 0
        while place < len(self.nodes):
            kinds = tuple(kind for kind, *_ in self.nodes[place : place + max(map(len, _SEQUENCES))])
            joined = next((some for some in _SEQUENCES if kinds[: len(some)] == some), ())
            some = self.nodes[place : place + max(1, len(joined))]
            if not joined:
                rest += some
            else:
                given = some[0][1] + some[1][1][1:] if joined[0] == "Conv" else some[0][1][:1]
                if "MatMulInteger" in joined:
                    product = joined.index("MatMulInteger")
                    weight, step = some[product][1][1], some[product + 2][1][1]
                    (bias,) = (name for name in some[-1][1] if name in self.known)
                    # The layout that the GPU's 8-bit units read.
                    self.known[weight] = self.known[weight].T.contiguous().T
                    given += [weight, step, bias]
                rest.append((_SEQUENCES[joined], given, some[-1][2], some[0][3]))
            place += len(some)
        self.nodes = rest

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Array]) -> list[Array]:
        """As a session of ONNX Runtime does."""
        import torch

        given = {name: torch.from_numpy(np.array(values)).to(self.device) for name, values in inputs.items()}
        return [each.float().cpu().numpy() for each in self.tensors(given, names)]

    def tensors(self, inputs: Mapping[str, Tensor], names: Sequence[str] | None = None) -> list[Tensor]:
        """The outputs, on the device, of inputs that are there."""
        wanted = tuple(names or self.outputs)
        with _without_gradients(self.device, half=self.may_be_half):
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


@contextmanager
def _without_gradients(device: str, *, half: bool = False) -> Iterator[None]:
    import torch

    with torch.inference_mode(), torch.autocast(device, torch.float16, enabled=half and device == "cuda"):
        yield


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


def _convolved(attributes: dict[str, Any], value: Any, weight: Any, bias: Any = None) -> Any:
    import torch
    from torch.nn import functional

    pictures, channels, height, width = value.shape
    stride, groups = attributes.get("strides", [1, 1]), attributes.get("group", 1)
    if weight.shape[2:] == (1, 1) and groups == 1 and list(stride) == [1, 1]:
        found = weight.reshape(len(weight), channels) @ value.reshape(pictures, channels, height * width)
        found = found if bias is None else found.add_(bias[:, None])
        return found.reshape(pictures, len(weight), height, width)
    if list(weight.shape[2:]) == list(stride) and groups == 1:
        # Patches beside each other: a matrix.
        (down, across), rows, columns = stride, height // stride[0], width // stride[1]
        patches = value.reshape(pictures, channels, rows, down, columns, across).permute(0, 2, 4, 1, 3, 5)
        found = functional.linear(patches.reshape(pictures, rows, columns, -1), weight.flatten(1), bias)
        return found.permute(0, 3, 1, 2)
    top, left, bottom, right = attributes.get("pads", [0, 0, 0, 0])
    if (top, left) != (bottom, right):
        value, (top, left) = functional.pad(value, (left, right, top, bottom)), (0, 0)
    # cuDNN plans every new size of picture for seconds; what PyTorch has itself for single channels needs no plan.
    with torch.backends.cudnn.flags(enabled=False):
        return functional.conv2d(value, weight, bias, stride=stride, padding=(top, left), groups=groups)


def _clipped_convolution(attributes: dict[str, Any], value: Any, weight: Any, bias: Any, low: Any, high: Any) -> Any:
    return _convolved(attributes, value, weight, bias).clamp_(low.item(), high.item())


def _pooled(attributes: dict[str, Any], value: Any) -> Any:
    from torch.nn import functional

    return functional.avg_pool2d(value, attributes["kernel_shape"], attributes.get("strides"))


def _normalised(attributes: dict[str, Any], value: Any, scale: Any, bias: Any) -> Any:
    from torch.nn import functional

    return functional.layer_norm(value, value.shape[-1:], scale, bias, attributes.get("epsilon", 1e-5))


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


def _shape(_: dict[str, Any], value: Any) -> Any:
    import torch

    return torch.tensor(value.shape)


def _expanded(_: dict[str, Any], value: Any, shape: Any) -> Any:
    wanted = _numbers(shape)
    sides = [1] * (len(wanted) - value.ndim) + list(value.shape)
    return value.expand([max(pair) for pair in zip(sides, wanted, strict=True)])


def _rounded_linear(_: dict[str, Any], value: Any, weight: Any, step: Any, bias: Any) -> Any:
    """Inputs rounded to 8 bits as a CPU does, each picture by itself, and multiplied in whole numbers."""
    import torch

    pictures, places, width = value.shape
    low, high = value.reshape(pictures, -1).aminmax(dim=1)
    low, high = low.clamp_max(0), high.clamp_min(0)
    scale = ((high - low) / 255).clamp_min(1e-12).reshape(-1, 1, 1)
    # Bytes without a sign have their zero at ``zero``; the GPU multiplies bytes with one, 128 lower.
    zero = (-low.reshape(-1, 1, 1) / scale).round() - 128
    whole = (value / scale).round_().add_(zero).clamp_(-128, 127).to(torch.int8)
    product = torch._int_mm(whole.reshape(-1, width), weight).reshape(pictures, places, -1)
    factor = scale * step
    return torch.addcmul(bias - zero * weight.sum(0) * factor, product, factor)


def _rounded_linear_by_place(_: dict[str, Any], value: Any, weight: Any, step: Any, bias: Any) -> Any:
    """The same with every place divided by its own reach before, and multiplied by it after."""
    import torch

    reach = value.abs().amax(-1, keepdim=True).clamp_min(1e-20)
    return torch.addcmul(bias, _rounded_linear({}, value / reach, weight, step, bias.new_zeros(())), reach)


def _whole(_: dict[str, Any], value: Any, scale: Any, zero: Any) -> Any:
    """Steps of ``scale``, as many as a byte counts; kept as the floats that convolutions take."""
    import torch

    ends, low = torch.iinfo(zero.dtype), zero.item()
    return (value / scale).round_().clamp_(ends.min - low, ends.max - low)


def _from_whole(attributes: dict[str, Any], value: Any, scale: Any, zero: Any) -> Any:
    if value.is_floating_point():
        return value * scale
    shape = [-1 if place == attributes.get("axis", 1) and scale.ndim else 1 for place in range(value.ndim)]
    return (value.float() - zero.reshape(shape)) * scale.reshape(shape)


def _joined(attributes: dict[str, Any], *values: Any) -> Any:
    import torch

    return torch.cat(_same_place(values), attributes["axis"])


def _same_place(values: Sequence[Any]) -> list[Any]:
    """A constant beside values on the device goes there."""
    device = next((each.device for each in values if each.device.type != "cpu"), values[0].device)
    return [each.to(device) for each in values]


def _attention(attributes: dict[str, Any], *parts: Any) -> Any:
    from torch.nn import functional

    heads, (pictures, places, width) = attributes["num_heads"], parts[0].shape
    query, key, value = (each.reshape(pictures, places, heads, width // heads).transpose(1, 2) for each in parts)
    found = functional.scaled_dot_product_attention(query, key, value, scale=attributes["scale"])
    return found.transpose(1, 2).reshape(pictures, places, width)


def _linear(attributes: dict[str, Any], value: Any, weight: Any, bias: Any) -> Any:
    from torch.nn import functional

    return functional.linear(value, weight if attributes.get("transB") else weight.T, bias)


def _gelu(_: dict[str, Any], value: Any) -> Any:
    from torch.nn import functional

    return functional.gelu(value)


def _on_torch(name: str) -> Callable[..., Any]:
    def run(_: dict[str, Any], *values: Any) -> Any:
        import torch

        return getattr(torch, name)(*_same_place(values))

    return run


def _clipped(_: dict[str, Any], value: Any, low: Any = None, high: Any = None) -> Any:
    # Constants lie on the host: reading them does not wait for the device.
    return value.clamp(*(None if each is None else each.item() for each in (low, high)))


def _whole_division(_: dict[str, Any], first: Any, second: Any) -> Any:
    first, second = _same_place([first, second])
    return first / second if first.is_floating_point() else first // second


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "AveragePool": _pooled, "Cast": _cast, "Clip": _clipped, "Concat": _joined, "Constant": _constant,
    "ConstantOfShape": _shape_of_constant, "ClippedConv": _clipped_convolution, "Conv": _convolved,
    "DequantizeLinear": _from_whole, "Div": _whole_division,
    "Expand": _expanded, "Gather": _gathered, "Gemm": _linear,
    "Gelu": _gelu, "LayerNormalization": _normalised,
    "MultiHeadAttention": _attention,
    "ReduceMax": _reduced("amax"), "ReduceMean": _reduced("mean"), "ReduceMin": _reduced("amin"),
    "ReduceSum": _reduced("sum"), "Relu": _on_torch("relu"), "Reshape": _reshaped,
    "QuantizeLinear": _whole, "RoundedLinear": _rounded_linear, "RoundedLinearByPlace": _rounded_linear_by_place,
    "Shape": _shape, "Slice": _sliced,
    "Softmax": lambda attributes, value: value.softmax(attributes.get("axis", -1)),
    "Softplus": lambda _, value: value.float().exp().log1p().where(value < 20, value.float()),
    "Split": _split, "Squeeze": _squeezed, "Transpose": lambda attributes, value: value.permute(attributes["perm"]),
    "Unsqueeze": _unsqueezed,
    **{name: _on_torch(own) for name, own in {
        "Add": "add", "Equal": "eq", "Erf": "erf", "Greater": "gt", "Less": "lt", "Log": "log", "MatMul": "matmul",
        "Max": "maximum", "Min": "minimum", "Mod": "remainder", "Mul": "mul", "Pow": "pow", "Sigmoid": "sigmoid",
        "Sqrt": "sqrt", "Sub": "sub", "Where": "where",
    }.items()},
}  # fmt: skip
"""What each operation of the shipped graphs is in PyTorch."""
