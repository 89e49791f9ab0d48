"""The trained vision model on a GPU: its ONNX graphs run by PyTorch, many pictures at a time.

PyTorch rather than ONNX Runtime's CUDA build: that one replaces the files of the build for the CPU, which the core
install brings, and whoever has a GPU for pictures has PyTorch with a CUDA of its own beside it. In single precision:
half of it is hardly faster, because cores that decode are what limits a rating, and moves scores by a third more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import PIL

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
from agenticiqa.vision.torch_graph import TorchGraph, joined, on_host

if TYPE_CHECKING:
    from torch import Tensor

Array = npt.NDArray[Any]
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
        import torch

        side = int(self.about["view"])
        views = torch.empty((len(pictures), side, side, 3), dtype=torch.uint8, device=self._device)
        wholes = []
        for places, pixels in self._on_device([(each.whole, each.size) for each in pictures]):
            height, width = pictures[places[0]].size
            views[places] = squeezed(pixels[:, :height, :width], side)
            wholes.append((places, self._whole(pixels)))
        farther = [(place, each.farther) for place, each in enumerate(pictures) if each.farther is not None]
        windows = [(place, window) for place, each in enumerate(pictures) for window in each.windows]
        scales = [each.scale for each in pictures]
        return self._features(views, wholes, scales, self._means_of(farther), self._means_of(windows))

    def see_tensor(self, pictures: Tensor) -> list[Features]:
        """Pictures of one size on the device (N×H×W×3 bytes, none larger than LONGEST), seen where they are."""
        from torch.nn import functional

        cell, (height, width) = int(self.about["cell"]), pictures.shape[1:3]

        def padded(some: Tensor) -> Tensor:
            for axis in (1, 2):
                missing = -some.shape[axis] % cell
                some = joined({"axis": axis}, some, some.flip(axis).narrow(axis, 0, missing)) if missing else some
            return some.byte()

        longer = max(height, width)
        farther: dict[int, Floats] = {}
        if longer > FAR_FROM:
            size = (max(1, round(height * FAR / longer)), max(1, round(width * FAR / longer)))
            planes = pictures.permute(0, 3, 1, 2).float()
            found = functional.interpolate(planes, size, mode="bicubic", antialias=True).round().clamp(0, 255)
            farther = dict(enumerate(on_host(_means(self._local(padded(found.byte().permute(0, 2, 3, 1)))))[0]))
        wholes = [(list(range(len(pictures))), self._whole(padded(pictures)))]
        views = squeezed(pictures, int(self.about["view"]))
        return self._features(views, wholes, [1.0] * len(pictures), farther, {})

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
            focus += self._sessions["focus.onnx"].tensors(given)[0].reshape(count, rows, columns)
        flat, *others = on_host(torch.cat([each.flatten() for each in focus]), content, means)
        parts = np.split(flat, np.cumsum([each.numel() for each in focus])[:-1])
        order = [place for places, _ in wholes for place in places]
        in_focus = {place: own.reshape(each.shape) for place, own, each in zip(order, parts, focus, strict=True)}
        shown = zip(*others, scales, strict=True)
        nothing = np.empty((0, 0, 0), np.float32)
        return [
            Features(nothing, one, nothing, scale, farther.get(place), closer.get(place), mean, in_focus[place])
            for place, (one, mean, scale) in enumerate(shown)
        ]

    def _on_device(self, pieces: Sequence[tuple[Array, Any]]) -> Iterator[tuple[list[int], Tensor]]:
        """Places of pieces of one size and kind, with them on the device: all sizes, a limited number at once."""
        alike = defaultdict(list)
        for place, (piece, kind) in enumerate(pieces):
            alike[piece.shape, kind].append(place)
        for ((height, width, _), _), places in alike.items():
            step = max(1, PIXELS_AT_ONCE // (height * width))
            for start in range(0, len(places), step):
                some = places[start : start + step]
                yield some, self._stacked([pieces[place][0] for place in some])

    def _means_of(self, pieces: Sequence[tuple[int, Array]]) -> dict[int, Floats]:
        """Mean statistics by picture. Pieces of one picture are of one size, so that each counts alike."""
        on_device = self._on_device([(piece, None) for _, piece in pieces])
        placed = [(places, _means(self._local(pixels))) for places, pixels in on_device]
        found = defaultdict(list)
        for (places, _), means in zip(placed, on_host(*(means for _, means in placed)), strict=True):
            for place, mean in zip(places, means, strict=True):
                found[pieces[place][0]].append(mean)
        return {place: np.asarray(np.mean(some, 0, np.float64), np.float32) for place, some in found.items()}

    def _whole(self, pictures: Tensor) -> Tensor:
        """Cells of whole pictures; of small ones as seen with their mirror images."""
        found = self._local(pictures)
        return (found + self._local(pictures.flip(2)).flip(2)) / 2 if self.is_small(pictures.shape) else found

    def _local(self, pictures: Tensor) -> Tensor:
        found: list[Tensor] = self._sessions["local.onnx"].tensors({"picture": pictures})
        return found[0]

    def _stacked(self, pieces: Sequence[Array]) -> Tensor:
        """Pieces of one size, on the device: through memory that it reads without the processor."""
        import torch

        shape = (len(pieces), *pieces[0].shape)
        values = torch.empty(shape, dtype=torch.uint8, pin_memory=self._device == "cuda")
        np.stack(pieces, out=values.numpy())
        return values.to(self._device, non_blocking=True)


def _means(cells: Tensor) -> Tensor:
    """Of each picture's cells, in double precision."""
    return cells.double().mean((1, 2)).float()


PRECISION = 22
"""Pillow's factors are whole numbers of so many bits behind the point …"""
LOW = 11
"""… half of which a float multiplies and sums without an error."""
DOWN_FIRST = int(PIL.__version__.partition(".")[0]) >= 13


def squeezed(pictures: Tensor, side: int) -> Tensor:
    """N×H×W×3 bytes as squares, to the digit as Pillow's bilinear filter makes them.

    It goes across, then down; from version 13 on it begins downwards where that way drops more than twice as much.
    """
    height, width = pictures.shape[1:3]
    across, down = (_factors(length, side, str(pictures.device)) for length in (width, height))
    planes = pictures.permute(0, 3, 1, 2).float()
    if DOWN_FIRST and height > side and height - side > 2 * (width - side):
        planes = _resized(down, planes, side).transpose(2, 3)
        return _resized(across, planes, side).byte().permute(0, 3, 2, 1)
    planes = _resized(across, planes.transpose(2, 3), side).transpose(2, 3)
    return _resized(down, planes, side).byte().permute(0, 2, 3, 1)


def _resized(factors: Tensor, planes: Tensor, side: int) -> Tensor:
    """Along the third axis, from sums with both halves of the factors."""
    return _as_bytes(*(factors @ planes).split(side, -2))


def _as_bytes(high: Tensor, low: Tensor) -> Tensor:
    sums = (high.int() << LOW) + low.int() + (1 << (PRECISION - 1))
    return (sums >> PRECISION).clamp_(0, 255).float()


@lru_cache(maxsize=256)
def _factors(length: int, side: int, device: str) -> Tensor:
    """What each of ``side`` pixels takes of ``length``: the upper halves of all factors, then the lower ones."""
    import torch

    scale = length / side
    reach, middles = max(scale, 1.0), (np.arange(side)[:, None] + 0.5) * scale
    first = np.maximum((middles - reach + 0.5).astype(int), 0)
    last = np.minimum((middles + reach + 0.5).astype(int), length)
    places = np.arange(length)
    weights = np.maximum(0.0, 1.0 - np.abs((places - middles + 0.5) * (1.0 / reach)))
    weights *= (places >= first) & (places < last)
    whole = np.floor(weights / weights.sum(axis=1, keepdims=True) * (1 << PRECISION) + 0.5).astype(np.int64)
    return torch.from_numpy(np.concatenate(np.divmod(whole, 1 << LOW)).astype(np.float32)).to(device)
