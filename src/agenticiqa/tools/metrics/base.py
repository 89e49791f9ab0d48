"""What every metric declares about itself, what it returns, how it refuses a picture, and how it is stopped.

The declarations of our own metrics stand in ``metrics.yaml``. A long measurement can be stopped between two tiles: the
same idea as ``agenticiqa.runtime.stopping``, whose check is handed in here, because metrics import nothing of the rest.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from agenticiqa._data import read_data

_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("between_tiles", default=None)


@contextmanager
def checked_between_tiles(check: Callable[[], None]) -> Iterator[None]:
    """Inside, ``check`` is called between tiles; what it raises ends the measurement."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def checkpoint() -> None:
    """Call the check between two tiles or two steps over the whole picture; raises what it raises."""
    check = _CHECK.get()
    if check is not None:
        check()


# --- declarations and results ---

Array = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float32]
ByteArray = npt.NDArray[np.uint8]

Kind = Literal["FR", "NR", "probe"]


@lru_cache
def stored_parameters(name: str, dtype: type[np.floating[Any]] = np.float64) -> dict[str, Array]:
    """The arrays that a metric's authors published, from ``parameters/NAME.npz``."""
    with np.load(Path(__file__).with_name("parameters") / f"{name}.npz") as stored:
        return {key: stored[key].astype(dtype) for key in stored.files}


class MetricInputError(ValueError):
    """The picture cannot be measured as given; the message says what to change."""


@dataclass(frozen=True)
class MetricSpec:
    """The facts a user needs to read a metric's number.

    ``range`` holds the ends that the value can reach; ``higher_is_better`` is ``None`` for a probe
    whose quantity has no good end (mean luminance, say).

    >>> MetricSpec(name="Toy", kind="FR", range=(0.0, 1.0), higher_is_better=True,
    ...            variant="as printed", paper="Doe, 2000", good_at=("Blurs",)).minimum_size
    (1, 1)
    """

    name: str
    kind: Kind
    range: tuple[float, float]
    higher_is_better: bool | None
    variant: str
    paper: str
    good_at: tuple[str, ...]
    """Categories of damage that the metric follows; which there are is not for a metric to say."""
    minimum_size: tuple[int, int] = (1, 1)
    unit: str = ""
    version: str = "1"
    map_higher_is_better: bool | None = None
    """Where the map points the other way than the value: GMSD's map holds similarities. None: the same way."""

    map_range: tuple[float, float] | None = None
    """Where the map does not run over the metric's own range. None: it does."""

    bytes_per_pixel: float = 200
    """What measuring takes at its peak, beside the decoded pictures (`python benchmarks/speed/tool_memory.py`); the
    default is that of a memory-intensive tool."""

    max_megapixels: float | None = None
    """Larger pictures are refused, because measuring them would fill the memory. None: no limit of its own."""

    max_megapixels_setting: str = ""
    """The setting that raises that limit, where there is one."""

    @property
    def type(self) -> Literal["FR", "NR"]:
        """With or without a reference."""
        return "FR" if self.kind == "FR" else "NR"

    @property
    def map_ends(self) -> tuple[float, float]:
        return self.map_range or self.range

    @property
    def map_is_quality(self) -> bool:
        """Whether large values of the map are good (similarities), rather than bad (errors)."""
        pointing = self.higher_is_better if self.map_higher_is_better is None else self.map_higher_is_better
        return bool(pointing)


@cache
def declarations() -> dict[str, dict[str, Any]]:
    """``metrics.yaml``: for each metric of ours, its module, if it is here, and the fields of its declaration."""
    found: dict[str, dict[str, Any]] = read_data("tools/metrics/metrics.yaml")
    return found


@cache
def declared(name: str) -> MetricSpec:
    """The declaration of one of our metrics; KeyError where there is no such metric."""
    stored = {key: value for key, value in declarations()[name].items() if key != "module"}
    fields: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in stored.items()}
    return MetricSpec(name, **fields)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A metric's value, its map where there is one, and named partial results in ``details``."""

    value: float
    map: FloatArray | None = None
    details: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Metric:
    """A declared metric together with the function that computes it."""

    spec: MetricSpec
    measure: Callable[..., Measurement]
    make_map: Callable[..., FloatArray] | None = None
    """Makes the map where making it costs more than the value itself, so that only those pay who ask."""
