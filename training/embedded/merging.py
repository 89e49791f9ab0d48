"""Places of the view that look alike are joined inside the content network, so that its later layers see fewer.

Token merging (after Bolya et al. 2023): some places join the ones of the others whose keys are most alike, the most
alike first. A joined place is the mean of those it stands for, and attention counts it as so many; at the end every
place of the view has the values of the one that it was joined to. Which places may be joined to is fixed: a
chessboard's white squares in the first such layer, those of every other row in the ones after it. The first layer's
keys decide for all: each decision is one that a last digit can turn. In PyTorch for teaching, as ONNX for the shipped
file.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import torch
import torch.nn.functional as F  # noqa: N812
from onnx import helper, numpy_helper
from torch import Tensor, nn

MERGED = {4: 80, 6: 70, 8: 70}
"""How many places the layers of the shipped network join, by the layer's number."""
NEARER, TURN = 0.0005, 0.002
"""Of targets as much alike the nearer one is taken (so much for the width of a patch), and of sources those whose turn
it is (up to so much): flat parts of a view are alike but for the last digits, which must not decide."""
SHAKEN = 0.003
"""While a network learns, likenesses are moved by so much at random: which places are joined must not matter much."""


def order_of(side: int) -> tuple[np.ndarray, int, int]:
    """The places of a grid, those last that may be joined to; how many these are in the first layer, and after it."""
    row, column = np.indices((side, side)).reshape(2, -1)
    white, odd = (row + column) % 2 == 1, row % 2 == 1
    parts = [np.flatnonzero(each) for each in (~white, white & ~odd, white & odd)]
    return np.concatenate(parts), len(parts[1]) + len(parts[2]), len(parts[2])


def preferences(side: int) -> np.ndarray:
    """What is added to the likeness of each place to each, both in the order of :func:`order_of`."""
    order = order_of(side)[0]
    row, column = np.divmod(order, side)
    away = np.hypot(row[:, None] - row, column[:, None] - column)
    # Fractions of multiples of the golden section: evenly spread, and no two alike.
    turn = order * (5**0.5 - 1) / 2 % 1
    return (TURN * turn[:, None] - NEARER * away).astype(np.float32)


class Places(nn.Module):
    """What :func:`order_of` and :func:`preferences` give for one grid."""

    order: Tensor
    preferred: Tensor

    def __init__(self, side: int) -> None:
        super().__init__()
        order, self.white, self.last = order_of(side)
        self.register_buffer("order", torch.from_numpy(order), persistent=False)
        self.register_buffer("preferred", torch.from_numpy(preferences(side)), persistent=False)


class Merging:
    """What is decided about the places of some views, and done to them layer by layer."""

    def __init__(self, counts: Mapping[int, int], places: Places, shaken: float = 0.0) -> None:
        self.counts, self.order, self.preferred, self.shaken = counts, places.order, places.preferred, shaken
        self.white, self.last = places.white, places.last
        self.sizes: Tensor | None = None
        self.into, self.now = torch.zeros(0), torch.zeros(0)

    def begun(self, x: Tensor) -> Tensor:
        """``x`` (N×1+P×width, the first of them no place) in the order of :func:`order_of`."""
        self.now = self.order.argsort().expand(len(x), -1)
        return torch.cat([x[:, :1], x[:, 1:][:, self.order]], 1)

    def joined(self, number: int, x: Tensor, keys: Tensor) -> Tensor:
        """Behind the attention of layer ``number``."""
        if number not in self.counts:
            return x
        count = self.counts[number]
        if self.sizes is not None:
            found = self._join(x, self.into[:, :count], self.last)
            self.into = self.into[:, count:]
            return found
        self.sizes = torch.ones_like(x[..., :1], dtype=torch.float32)
        with torch.no_grad():
            keys = F.normalize(keys[:, 1:].float(), dim=-1)
            alike = keys @ keys.transpose(1, 2) + self.preferred
            alike = alike + self.shaken * torch.randn_like(alike) if self.shaken else alike
            order, into = _ranked(alike[:, : -self.white, -self.white :])
            some = alike[:, : -self.last, -self.last :]
            rest = some[:, -(self.white - self.last) :]
            again, self.into = _ranked(torch.cat([_of_each(some, order[:, count:]), rest], 1))
        found = self._join(self._in_order(x, order), into[:, :count], self.white)
        return self._in_order(found, again)

    def laid_out(self, x: Tensor) -> Tensor:
        """Every place of the view with the values of the one that it was joined to, in the view's own order."""
        return torch.cat([x[:, :1], _of_each(x[:, 1:], self.now)], 1)

    def _in_order(self, x: Tensor, order: Tensor) -> Tensor:
        """The first places in this order, the others behind them."""
        some = order.shape[1]
        rest = torch.arange(some, x.shape[1] - 1, device=x.device).expand(len(x), -1)
        order = torch.cat([order, rest], 1)
        self.now = order.argsort(1).gather(1, self.now)
        sizes = self.sizes
        assert sizes is not None
        self.sizes = torch.cat([sizes[:, :1], _of_each(sizes[:, 1:], order)], 1)
        return torch.cat([x[:, :1], _of_each(x[:, 1:], order)], 1)

    def _join(self, x: Tensor, into: Tensor, targets: int) -> Tensor:
        """The first places, as many as ``into`` has, joined to these of the last ``targets``."""
        sizes, count, left = self.sizes, into.shape[1], x.shape[1] - 1 - into.shape[1]
        assert sizes is not None
        stay = torch.arange(left, device=x.device).expand(len(x), -1)
        self.now = torch.cat([left - targets + into, stay], 1).gather(1, self.now)
        whole = torch.cat([x.float() * sizes, sizes], 2)
        head, gone, stays, second = whole.split([1, count, left - targets, targets], 1)
        second = second.scatter_add(1, into[..., None].expand_as(gone), gone)
        whole = torch.cat([head, stays, second], 1)
        self.sizes = whole[..., -1:]
        return whole[..., :-1] / whole[..., -1:]


def _ranked(alike: Tensor) -> tuple[Tensor, Tensor]:
    """The sources, the one most like a target first, and which target each is most like."""
    best, joins = alike.max(-1)
    order = best.argsort(-1, descending=True)
    return order, joins.gather(1, order)


def _of_each(x: Tensor, places: Tensor) -> Tensor:
    return x.gather(1, places[..., None].expand(-1, -1, x.shape[2]))


# --- The same as nodes of a graph ---


class Nodes:
    """Nodes made one after the other; numbers given to one become constants of the graph."""

    def __init__(self, graph: onnx.GraphProto, name: str) -> None:
        self.graph, self.name, self.made = graph, name, list[onnx.NodeProto]()

    def __call__(self, kind: str, *given: str | list[int] | np.ndarray, outputs: int = 1, **attributes: object) -> str:
        """The name of the node's last output."""
        place = f"{self.name}/{len(self.made)}"
        inputs = [each if isinstance(each, str) else f"{place}/{number}" for number, each in enumerate(given)]
        self.graph.initializer.extend(
            numpy_helper.from_array(np.asarray(each), name)
            for name, each in zip(inputs, given, strict=True) if not isinstance(each, str)
        )  # fmt: skip
        found = [f"{place}/{kind}{number}" for number in range(outputs)]
        self.made.append(helper.make_node(kind, inputs, found, place, **attributes))
        return found[-1]

    def part(self, name: str, begin: int, end: int, axis: int = 1) -> str:
        return self("Slice", name, [begin], [end], [axis])

    def of_each(self, name: str, places: str) -> str:
        """Values of these places, each picture's own."""
        return self("GatherND", name, self("Unsqueeze", places, [2]), batch_dims=1)

    def ranked(self, alike: str, count: int) -> tuple[str, str]:
        """As :func:`_ranked`; ``count`` sources."""
        joins = self("ArgMax", alike, axis=2, keepdims=0)
        order = self("TopK", self("ReduceMax", alike, axes=[2], keepdims=0), [count], axis=1, outputs=2)
        return order, self("GatherElements", joins, order, axis=1)


class MergingInGraph:
    """What :class:`Merging` does, in nodes. Values are joined with their sizes behind them, and times these."""

    def __init__(self, counts: Mapping[int, int], places: int, width: int) -> None:
        self.order, self.white, self.last = order_of(round(places**0.5))
        self.counts, self.places, self.left, self.width = dict(counts), places, places, width
        self.sizes, self.into, self.now, self.none = "", "", "", ""

    def joined(self, nodes: Nodes, number: int, x: str, keys: str) -> str:
        count = self.counts[number]
        if self.sizes:
            whole = nodes("Concat", nodes("Mul", x, self.sizes), self.sizes, axis=2)
            whole = self._join(nodes, whole, nodes.part(self.into, 0, count), count, self.last)
            self.into = nodes.part(self.into, count, np.iinfo(np.int32).max)
        else:
            black, rest = self.left - self.white, self.left - count - self.last
            lengths = nodes("Sqrt", nodes("ReduceSum", nodes("Mul", keys, keys), [2]))
            unit, ones = (
                nodes("Div", keys, lengths),
                nodes("Add", nodes("Sub", lengths, lengths), np.ones(1, np.float32)),
            )
            order, into = nodes.ranked(self._alike(nodes, unit, self.white), black)
            # Zeros of as many pictures as there are, and numbers added to them.
            self.none = nodes("Sub", nodes.part(order, 0, 1), nodes.part(order, 0, 1))
            later = self._alike(nodes, unit, self.last)
            self.now = nodes("Gather", self._places(nodes, order, black), self.order.argsort(), axis=1)
            whole = self._in_order(nodes, nodes("Concat", x, ones, axis=2), order, black)
            whole = self._join(nodes, whole, nodes.part(into, 0, count), count, self.white)
            again = nodes("Add", self.none, np.arange(black, self.white + black - self.last)[None])
            again = nodes("Concat", nodes.part(order, count, black), again, axis=1)
            order, self.into = nodes.ranked(nodes.of_each(later, again), rest)
            self.now = nodes("GatherElements", self._places(nodes, order, rest), self.now, axis=1)
            whole = self._in_order(nodes, whole, order, rest)
        self.sizes = nodes.part(whole, self.width, self.width + 1, 2)
        return nodes("Div", nodes.part(whole, 0, self.width, 2), self.sizes)

    def laid_out(self, nodes: Nodes, x: str) -> str:
        places = nodes.of_each(nodes.part(x, 1, 1 + self.left), self.now)
        return nodes("Concat", nodes.part(x, 0, 1), places, axis=1)

    def _alike(self, nodes: Nodes, unit: str, targets: int) -> str:
        """How much each place is like each of the last ones, before any is joined."""
        first, last = 1 + self.places - targets, 1 + self.places
        turned = nodes("Transpose", nodes.part(unit, first, last), perm=[0, 2, 1])
        alike = nodes("MatMul", nodes.part(unit, 1, first), turned)
        return nodes("Add", alike, preferences(round(self.places**0.5))[None, :-targets, -targets:])

    def _places(self, nodes: Nodes, order: str, count: int) -> str:
        """Where each place is once the first ``count`` are in this order."""
        moved = nodes("TopK", order, [count], axis=1, largest=0, outputs=2)
        return nodes("Concat", moved, nodes("Add", self.none, np.arange(count, self.left)[None]), axis=1)

    def _in_order(self, nodes: Nodes, whole: str, order: str, count: int) -> str:
        some = nodes.of_each(nodes.part(whole, 1, 1 + count), order)
        return nodes("Concat", nodes.part(whole, 0, 1), some, nodes.part(whole, 1 + count, 1 + self.left), axis=1)

    def _join(self, nodes: Nodes, whole: str, into: str, count: int, targets: int) -> str:
        kept, end = self.left - targets, 1 + self.left
        self.left -= count
        stay = nodes("Add", self.none, np.arange(self.left)[None])
        moved = nodes("Concat", nodes("Add", into, np.array([kept - count])), stay, axis=1)
        self.now = nodes("GatherElements", moved, self.now, axis=1)
        # One row for each target, with a one where a place joins it.
        which = nodes("Equal", nodes("Unsqueeze", into, [1]), np.arange(targets)[None, :, None])
        gone = nodes("MatMul", nodes("Cast", which, to=onnx.TensorProto.FLOAT), nodes.part(whole, 1, 1 + count))
        second = nodes("Add", nodes.part(whole, 1 + kept, end), gone)
        return nodes("Concat", nodes.part(whole, 0, 1), nodes.part(whole, 1 + count, 1 + kept), second, axis=1)


def with_merged_places(model: onnx.ModelProto, counts: Mapping[int, int], middle: str) -> onnx.ModelProto:
    """A content network's graph, its attention one node a layer, with places joined as :class:`Merging` joins them.

    ``middle`` is the output of a layer that ``tokens`` hold beside the last.
    """
    graph = model.graph
    position = next(entry for entry in graph.initializer if entry.name == "content.position")
    merging = MergingInGraph(counts, position.dims[1] - 1, position.dims[2])
    attention = {node.name: node for node in graph.node if node.op_type == "MultiHeadAttention"}
    added: dict[str, list[onnx.NodeProto]] = {}

    def behind(result: str, nodes: Nodes, other: str, readers: list[onnx.NodeProto]) -> None:
        """``nodes`` behind what gives ``result``; ``readers`` read ``other``, which they make of it."""
        added[result] = nodes.made
        for node in readers:
            node.input[:] = [other if name == result else name for name in node.input]

    ordered = Nodes(graph, "/content/ordered")
    start = "/content/Add_output_0"
    places = ordered("Gather", start, np.concatenate([[0], 1 + merging.order]), axis=1)
    behind(start, ordered, places, list(graph.node))
    bias = ""
    for number in range(1, len(attention) + 1):
        layer = f"/content/layers.{number - 1}"
        if bias:
            attention[f"{layer}/Attention"].input.extend(["", "", bias])
        if number in counts:
            nodes, result = Nodes(graph, f"{layer}/merge"), f"{layer}/Add_output_0"
            joined = merging.joined(nodes, number, result, f"{layer}/key")
            likelier = nodes("Unsqueeze", nodes("Transpose", nodes("Log", merging.sizes), perm=[0, 2, 1]), [1])
            bias = nodes("Expand", likelier, [1, 1, 1 + merging.left, 1 + merging.left])
            behind(result, nodes, joined, list(graph.node))
        result, last = f"{layer}/Add_2_output_0", number == len(attention)
        if merging.now and (last or result == middle):
            nodes = Nodes(graph, f"{layer}/laid_out")
            whole = merging.laid_out(nodes, result)
            behind(result, nodes, whole, [node for node in graph.node if last or "tokens/all" in node.output])
    in_order = [each for node in graph.node for each in (node, *added.get(node.output[0], ()))]
    del graph.node[:]
    graph.node.extend(in_order)
    return model
