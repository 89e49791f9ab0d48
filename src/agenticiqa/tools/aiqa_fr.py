"""AIQA_FR: one full-reference score from a few native metrics that see different damage.

Each part turns its metric into points lost on the 1..5 opinion scale (a five-parameter logistic); the losses are added
with fixed weights. Few numbers are fitted, and none of them to one kind of damage: a fit that follows the protocol more
closely ranks kinds that it did not know worse than its own parts do. The score can only fall when a part gets worse,
and the loss divides exactly into what each part took. A part may also be the growth of a probe over the reference:
edges that became wider, say. Weights and curves stand in ``fused_reference.yaml``, written by
``training/fit_fused_reference.py``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from agenticiqa._data import read_data
from agenticiqa.tools.calibration import HIGHEST, LOWEST, Calibration, CalibrationError
from agenticiqa.tools.metrics import METRICS, Array, FloatArray, Measurement, MetricSpec, Picture, Views
from agenticiqa.tools.metrics.base import declared

Floats = npt.NDArray[np.float64]

_DATA_FILE = "fused_reference.yaml"
_LOWERED_BY = "lowered_by_"


@dataclass(frozen=True)
class Part:
    """One metric's share: its curve to opinion, its weight, and the damage it is there for."""

    metric: str
    curve: Calibration
    weight: float
    sees: str
    growth: bool = False
    """Whether the part is the growth of a no-reference probe over the reference, rather than the metric itself."""

    def raw(self, test: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
        """What the curve takes, from the metric's values of the test picture and of the reference itself.

        >>> curve = Calibration((4, -1, 2, 0, 3), "toy", (0.0, 99.0), False)
        >>> Part("sharpness", curve, 1.0, "blur", growth=True).raw([5.0, 1.5], 2.0).tolist()
        [3.0, 0.0]
        """
        values = np.asarray(test, np.float64)
        return np.maximum(values - np.asarray(reference), 0.0) if self.growth else values

    def loss(self, raw: npt.ArrayLike) -> Floats:
        """Points below the curve's best end; never negative."""
        return self.curve.ends[1] - self.curve.curve(raw)


@dataclass(frozen=True)
class FusedModel:
    """What the parts took, together, from the score of an unchanged picture.

    >>> curve = Calibration((4, 9, 0.5, 0, 3), "toy", (0.0, 1.0), True)
    >>> model = FusedModel({"A": Part("A", curve, 1.0, "this"), "B": Part("B", curve, 1.0, "that")}, 4.6, 0.4)
    >>> model.score({"A": 1.0, "B": 1.0})
    4.6
    >>> {name: round(points, 2) for name, points in model.lowered_by({"A": 1.0, "B": 0.5}).items()}
    {'A': 0.0, 'B': 1.96}
    """

    parts: Mapping[str, Part]
    top: float
    spread: float
    """Standard deviation of people's opinions around the score, on kinds of damage that the curves did not know."""

    def score(self, raw: Mapping[str, float]) -> float:
        """1 to ``top`` from the raw values of all parts."""
        return float(self.scores({name: np.array(value) for name, value in raw.items()}))

    def scores(self, raw: Mapping[str, Floats]) -> Floats:
        """The same for arrays of raw values."""
        return np.clip(self.top - sum(self._losses(raw).values()), LOWEST, HIGHEST)

    def lowered_by(self, raw: Mapping[str, float]) -> dict[str, float]:
        """How many points each part took; together they are ``top`` minus the score."""
        losses = {name: float(loss) for name, loss in self._losses(raw).items()}
        total = sum(losses.values())
        lost = self.top - self.score(raw)
        return {name: lost * loss / total if total else 0.0 for name, loss in losses.items()}

    def _losses(self, raw: Mapping[str, Any]) -> dict[str, Floats]:
        return {name: part.weight * part.loss(raw[name]) for name, part in self.parts.items()}


@cache
def fused_model() -> FusedModel:
    return read_model(read_data(f"tools/{_DATA_FILE}"))


def read_model(fields: Any) -> FusedModel:
    """A model from the plain values of its file; weights that could raise a damaged picture's score are refused."""
    try:
        model = FusedModel(
            parts={name: _read_part(name, part) for name, part in fields["parts"].items()},
            top=float(fields["top"]),
            spread=float(fields["spread"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CalibrationError(f"{_DATA_FILE} is incomplete or malformed: {error!r}.") from error
    sound = model.parts and model.spread > 0 and LOWEST < model.top <= HIGHEST
    if not sound or any(part.weight < 0 for part in model.parts.values()):
        raise CalibrationError(
            f"{_DATA_FILE} lacks parts or a spread, or has a negative weight or a top outside the scale."
        )
    return model


def _read_part(name: str, fields: Any) -> Part:
    low, high = fields["range"]
    b1, b2, b3, b4, b5 = (float(value) for value in fields["coefficients"])
    curve = Calibration((b1, b2, b3, b4, b5), "part of AIQA_FR", (float(low), float(high)), fields["higher_is_better"])
    return Part(
        metric=fields.get("metric", name),
        curve=curve,
        weight=float(fields["weight"]),
        sees=str(fields["sees"]),
        growth=bool(fields.get("growth", False)),
    )


def _spec() -> MetricSpec:
    model = fused_model()
    sizes = [METRICS[part.metric].spec.minimum_size for part in model.parts.values()]
    return replace(
        declared("AIQA_FR"),
        range=(LOWEST, model.top),
        variant=f"weighted sum of the points lost in {', '.join(model.parts)}",
        minimum_size=(max(height for height, _ in sizes), max(width for _, width in sizes)),
    )


SPEC = _spec()


def measure(test: Array | Views, reference: Array | Picture | None = None) -> Measurement:
    """Opinion from 1 (bad) to about 4.6, which is what people give an unchanged picture.

    ``details`` holds each part's raw value and how many points it took (``lowered_by_…``).

    >>> ramp = np.tile(np.linspace(0, 1, 128), (128, 1))
    >>> round(measure(ramp, ramp).value, 1)
    4.6
    """
    views = Views.of(test, reference, SPEC)
    model = fused_model()
    raw = {name: _raw(part, views) for name, part in model.parts.items()}
    lowered = {f"{_LOWERED_BY}{name}": points for name, points in model.lowered_by(raw).items()}
    return Measurement(model.score(raw), details=raw | lowered)


def make_map(test: Array | Views, reference: Array | None = None) -> FloatArray:
    """The score laid out over the picture: its mean is the score, low where the parts with maps see the loss.

    Places can fall below 1, because the loss is not spread evenly. What a part without a map took is laid where the
    others see loss.
    """
    views = Views.of(test, reference, SPEC)
    model = fused_model()
    found = measure(views)
    lost = np.zeros(views.size, np.float32)
    for name, part in model.parts.items():
        local = None if part.growth else METRICS[part.metric].measure(views).map
        if local is None:
            continue
        loss = np.maximum(1 - local, 0)
        share = found.details[f"{_LOWERED_BY}{name}"] / max(float(loss.mean(dtype=np.float64)), 1e-12)
        lost += cv2.resize(loss, views.size[::-1], interpolation=cv2.INTER_LINEAR) * np.float32(share)
    mean = float(lost.mean(dtype=np.float64))
    if mean < 1e-12:
        return np.full(views.size, found.value, np.float32)
    lost *= np.float32((model.top - found.value) / mean)
    return np.asarray(model.top - lost, np.float32)


def _raw(part: Part, views: Views) -> float:
    metric = METRICS[part.metric]
    of_reference = metric.measure(Views(views.reference)).value if part.growth else 0.0
    return float(part.raw(metric.measure(views).value, of_reference))


def explain(measurement: Measurement) -> list[str]:
    """What lowered the score, worst first, in words."""
    took = [
        (points, key.removeprefix(_LOWERED_BY))
        for key, points in measurement.details.items()
        if key.startswith(_LOWERED_BY) and points >= 0.005
    ]
    parts = fused_model().parts
    return [f"{name} ({parts[name].sees}) took {points:.2f} points" for points, name in sorted(took, reverse=True)]
