"""From a result to the line that is kept: the sample's own columns beside the result's keys, in a settled order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

from pydantic_core import to_json

from agenticiqa.batch.sample import Sample

VOLATILE = (
    "metadata.timings",
    "metadata.call_log[].seconds",
    "executor_evidence.tool_logs[].seconds",
    "measurements[].seconds",
)
"""All that differs between two runs of the same batch, apart from what a cache or a model's mood changes."""
RECORDED_FIELDS = ("mos", "answer", "task_type")
_STRICT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def result_line(sample: Sample, result: Mapping[str, Any]) -> bytes:
    """One line of JSON, ending included."""
    record: dict[str, Any] = {"sample_id": sample.sample_id, **_in_fixed_order(result)}
    given = {name: value for name in RECORDED_FIELDS if (value := getattr(sample, name)) is not None}
    for name, value in (given | sample.carried).items():
        free = name
        while free in record:
            free = f"input_{free}"
        record[free] = value
    return _json(record) + b"\n"


def _json(record: Mapping[str, Any]) -> bytes:
    """Pydantic's encoder takes a quarter of the time of Python's own, which is asked about what only it refuses or can
    write: values that are no numbers, and halves of characters.
    """
    try:
        line = to_json(record)
    except ValueError:
        return _STRICT.encode(record).encode()
    return _STRICT.encode(record).encode() if b"NaN" in line or b"Infinity" in line else line


def _in_fixed_order(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Steps that ran side by side are listed in one fixed order, whichever ended first."""
    ordered_parts: dict[str, Any] = {}
    calls = (result.get("metadata") or {}).get("call_log")
    if calls:
        by_role = groupby(calls, key=lambda call: call["role"])
        ordered = [call for _, group in by_role for call in sorted(group, key=lambda call: call["step"])]
        ordered_parts["metadata"] = {**result["metadata"], "call_log": ordered}
    evidence = result.get("executor_evidence")
    if evidence and evidence.get("errors"):
        ordered_parts["executor_evidence"] = {**evidence, "errors": sorted(evidence["errors"])}
    return {**result, **ordered_parts} if ordered_parts else result


def without_volatile(record: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what :data:`VOLATILE` names, for comparing two runs.

    >>> without_volatile({"metadata": {"timings": {"total": 1.5}, "calls": 5}})
    {'metadata': {'calls': 5}}
    """
    copy: dict[str, Any] = json.loads(json.dumps(record))
    for path in VOLATILE:
        _remove(copy, path.split("."))
    return copy


def _remove(value: Any, path: list[str]) -> None:
    if not isinstance(value, dict):
        return
    name, *rest = path
    if not rest:
        value.pop(name, None)
        return
    inner = value.get(name.removesuffix("[]"))
    for each in (inner or []) if name.endswith("[]") else [inner]:
        _remove(each, rest)
