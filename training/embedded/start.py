"""Go on from shipped ONNX files: their weights in the network's names.

Export folded the batch normalisation of the convolutional network into its convolutions. ``unfolded`` measures what
each convolution gives on a few pictures and writes normalisation back that changes nothing, so that it can train.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import Tensor, nn
from training.embedded.network import Assessor, Convolution, Local


def unpacked(file: Path) -> tuple[dict[str, np.ndarray], list[onnx.NodeProto]]:
    """Initialisers by name in 32 bits, and the nodes."""
    graph = onnx.load(str(file)).graph
    stored = {entry.name: numpy_helper.to_array(entry) for entry in graph.initializer}
    found = {}
    for name, values in stored.items():
        if name.endswith("/int8"):
            plain = name.removesuffix("/int8")
            found[plain] = values.astype(np.float32) * stored[f"{plain}/scale"]
        elif not name.endswith("/scale"):
            found[name.removesuffix("/half")] = values.astype(np.float32) if values.dtype == np.float16 else values
    return found, list(graph.node)


def by_layer(file: Path, prefix: str) -> dict[str, Tensor]:
    """Weights under the names of their layers; matrices of nameless initialisers come transposed."""
    values, nodes = unpacked(file)
    found = {name.removeprefix(prefix): torch.from_numpy(np.array(value)) for name, value in values.items()
             if name.startswith(prefix)}  # fmt: skip
    for node in nodes:
        nameless = [name for name in node.input if name.startswith("onnx::") and name in values]
        if node.op_type not in ("MatMul", "Conv") or not nameless:
            continue
        layer = node.name.strip("/").replace("/", ".").rsplit(".", 1)[0].removeprefix(prefix)
        # A path like content/layers.0/qkv/MatMul: the layer's name stands before the operation's.
        weight = values[nameless[0]]
        found[f"{layer}.weight"] = torch.from_numpy(np.array(weight.T if node.op_type == "MatMul" else weight))
        if node.op_type == "Conv":
            found[f"{layer}.bias"] = torch.from_numpy(np.array(values[nameless[1]]))
    return found


def load_local(local: Local, weights: dict[str, Tensor]) -> None:
    """Folded convolutions with a normalisation that passes everything through and adds the bias."""
    state = local.state_dict()
    for name, value in weights.items():
        layer, kind = name.rsplit(".", 1)
        if not layer.endswith("conv"):
            state[name] = value
            continue
        if kind == "weight":
            state[name] = value
            continue
        norm = layer.removesuffix("conv") + "norm"
        state[f"{norm}.bias"] = value
        state[f"{norm}.running_mean"] = torch.zeros_like(value)
        state[f"{norm}.running_var"] = torch.ones_like(value) - 1e-3
        state[f"{norm}.weight"] = torch.ones_like(value)
    local.load_state_dict(state)


@torch.no_grad()
def unfolded(local: Local, pictures: Tensor) -> None:
    """``pictures`` N×3×H×W in 0..1: typical ones, enough for steady means."""
    moments: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def note(layer: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        values = inputs[0].float()
        moments[layer] = (values.mean((0, 2, 3)), values.var((0, 2, 3), unbiased=False))

    hooks = [part.norm.register_forward_pre_hook(note) for part in local.modules() if isinstance(part, Convolution)]
    local.eval()(pictures)
    for hook in hooks:
        hook.remove()
    for layer, (mean, measured) in moments.items():
        assert isinstance(layer, nn.BatchNorm2d)
        # Channels that hardly move keep a floor: their noise must not be blown up.
        variance = measured.clamp_min(1e-4)
        layer.weight.copy_((variance + layer.eps).sqrt())
        layer.bias.add_(mean)
        layer.running_mean.copy_(mean)
        layer.running_var.copy_(variance)


HEADS = ("statistics", "content", "mixed", "last", "flaw_", "sort_mixed", "sort_last")


def load_shipped(model: Assessor, *folders: Path) -> list[str]:
    """The mean of the shipped weights into ``model``; gives the names of new layers that stay as they were made.

    Versions that went on from each other lie close enough for their mean to be as good as either. Heads that only some
    of them have are the mean of those.
    """
    load_local(model.local, mean_of([by_layer(folder / "local.onnx", "local.") for folder in folders]))
    content = mean_of([by_layer(folder / "content.onnx", "content.") for folder in folders])
    missing = model.content.load_state_dict(content, strict=False)
    assert not missing.missing_keys, missing.missing_keys
    layers = {name for name, _ in model.joint.named_parameters()}
    heads = mean_of([
        {name: value for name, value in by_layer(folder / "joint.onnx", "joint.").items()
         if name.startswith(HEADS) and name in layers}
        for folder in folders
    ])  # fmt: skip
    return list(model.joint.load_state_dict(heads, strict=False).missing_keys)


def mean_of(states: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    found = {}
    for name in {name for state in states for name in state}:
        values = [state[name] for state in states if name in state]
        found[name] = torch.stack([value.float() for value in values]).mean(0) if len(values) > 1 else values[0]
    return found
