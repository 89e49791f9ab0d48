"""Kernels for a GPU, run by Triton's interpreter on a CPU, beside PyTorch's own operations. Needs torch and Triton."""

from __future__ import annotations

import os

import pytest

# Read when Triton is imported.
os.environ["TRITON_INTERPRET"] = "1"
torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from agenticiqa.vision import gpu_kernels, torch_graph  # noqa: E402


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize(
    ("by_place", "gelu", "added"), [(False, False, False), (False, True, False), (True, False, True)]
)
@pytest.mark.parametrize("kind", [torch.float32, torch.float16])
def test_rounded_matrices(by_place, gelu, added, kind):
    value = (normal(2, 5, 48) * torch.linspace(0.1, 9, 5)[:, None]).to(kind)
    weight = (normal(48, 24) * 20).clamp(-64, 64).to(torch.int8)
    sums, step, bias = weight.sum(0).int(), normal(24).abs() / 100, normal(24)
    more = normal(2, 5, 24) if added else None
    plain = torch_graph._rounded_linear({"by_place": by_place, "gelu": gelu}, value, weight, sums, step, bias, more)
    ours = gpu_kernels.rounded_linear(value, weight, sums, step, bias, more, by_place=by_place, gelu=gelu)
    torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("size", "stride", "pads"), [(3, 1, [1, 1, 1, 1]), (3, 2, [0, 0, 1, 1]), (5, 2, [1, 1, 2, 2])])
@pytest.mark.parametrize("rounded", [False, True])
def test_convolutions_channel_by_channel(size, stride, pads, rounded):
    value, weight, bias = normal(2, 8, 18, 22), normal(12, 8, 1, 1), normal(12)
    next_weight, next_bias = normal(12, 1, size, size), normal(12)
    step, zero = torch.tensor(0.05), torch.tensor(100, dtype=torch.uint8)
    limits = (step, zero) if rounded else (torch.tensor(0.0), torch.tensor(6.0))
    second = {"strides": [stride, stride], "pads": pads, "group": 12}
    about = {"first": {}, "second": second, "rounded": rounded}
    plain = torch_graph._pair(about, value, weight, bias, *limits, next_weight, next_bias, *limits)
    both = torch_graph._limits(*limits, rounded=rounded)
    without_bias = torch_graph._convolved({}, value, weight)
    ours = gpu_kernels.depthwise(without_bias, bias, next_weight, next_bias, second, both, both)
    # A sum on the edge of a step may fall to either side.
    apart = (ours - plain).abs()
    assert (apart > 1e-4).float().mean() < 0.01
    assert apart.max() <= (0.051 if rounded else 1e-4)
