"""A sample that is only measured: tools run on its pictures, and no question is answered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata as package_metadata
from typing import Any

from agenticiqa.api.measure import Measurer, Pair, Record
from agenticiqa.pictures.images import Box, LoadedImage


@dataclass(frozen=True)
class Measured:
    """What the tools said. Written down later: small pictures are measured faster in a row, without other code between
    them.
    """

    records: list[Record]
    pictures: Mapping[str, Any]
    """What is worth knowing of the pictures; they themselves are not kept."""
    seconds: float

    def as_result(self, run_id: str) -> dict[str, Any]:
        errors = [f"{record.tool}: {record.error}" for record in self.records if record.error]
        return {
            "status": "ok" if not errors else "error" if len(errors) == len(self.records) else "partial",
            # In this place among the keys; the sample names the pictures.
            "image_path": None,
            "reference_path": None,
            "measurements": [_measurement(record) for record in self.records],
            "error": "; ".join(errors) or None,
            "metadata": {
                "run_id": run_id,
                "error_kind": "tool" if errors else None,
                "timings": {"total": round(self.seconds, 4)},
                "versions": {"agenticiqa": _version()},
                **self.pictures,
            },
        }


def measure_sample(
    measurer: Measurer, image: str, reference: str | None, regions: Mapping[str, list[int]] | None
) -> Measured:
    started = time.perf_counter()
    pair = Pair.of(image, reference)
    test, original = measurer.open(pair)
    boxes = {name: Box(*numbers) for name, numbers in regions.items()} if regions else None
    records = list(measurer.measure_opened(pair, test, original, boxes))
    facts = _facts("image", test)
    if original is not None:
        facts |= _facts("reference", original)
    return Measured(records, facts, time.perf_counter() - started)


@cache
def _version() -> str:
    return package_metadata.version("agenticiqa")


def _measurement(record: Record) -> dict[str, Any]:
    return {
        "tool": record.tool,
        "region": record.region,
        "raw": record.raw,
        "calibrated": record.calibrated,
        "higher_is_better": record.higher_is_better,
        "seconds": record.seconds,
        "error": record.error,
    }


def _facts(name: str, picture: LoadedImage) -> dict[str, Any]:
    return {f"{name}_sha256": picture.sha256, f"{name}_size": picture.size, f"{name}_notes": picture.notes}
