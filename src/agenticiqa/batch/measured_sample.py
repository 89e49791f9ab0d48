"""A sample that is only measured: tools run on its pictures, and no question is answered."""

from __future__ import annotations

import time
from typing import Any

from agenticiqa._version import __version__
from agenticiqa.api.measure import Measurer, Pair, Record
from agenticiqa.batch.manifest.remote_pictures import picture_at
from agenticiqa.batch.sample import Sample
from agenticiqa.pictures.images import Box, LoadedImage


def measure_sample(measurer: Measurer, sample: Sample, run_id: str) -> dict[str, Any]:
    """The sample's result; raises when a picture cannot be opened."""
    started = time.perf_counter()
    pair = Pair(picture_at(sample.image_path), picture_at(sample.reference_path) if sample.reference_path else None)
    boxes = {name: Box(*numbers) for name, numbers in (sample.regions or {}).items()} or None
    with measurer.admitted(pair) as (known, memory):
        test, reference = measurer.open(known)
        records = list(measurer.measure_opened(known, test, reference, boxes, memory))
    errors = [f"{record.tool}: {record.error}" for record in records if record.error]
    return {
        "status": "ok" if not errors else "error" if len(errors) == len(records) else "partial",
        "image_path": pair.image.name,
        "reference_path": pair.reference.name if pair.reference else None,
        "measurements": [_measurement(record) for record in records],
        "error": "; ".join(errors) or None,
        "metadata": {
            "run_id": run_id,
            "error_kind": "tool" if errors else None,
            "timings": {"total": round(time.perf_counter() - started, 4)},
            "versions": {"agenticiqa": __version__},
            **_facts("image", test),
            **(_facts("reference", reference) if reference else {}),
        },
    }


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
