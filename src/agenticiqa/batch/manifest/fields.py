"""From one row of a manifest (JSON values or CSV texts) to a sample."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import ValidationError

from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ManifestError, QueryError, RegionError, without_credentials
from agenticiqa.models.answers import lettered, parse_choice, parse_options
from agenticiqa.pictures.regions import parse_region

KNOWN_FIELDS = frozenset(Sample.model_fields) - {"carried"}
# "s3://", "zip://a.png::s3://"; a Windows drive ("C:\\") has one letter.
_URL = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+://")

# Halves of characters, and the end of a C string: no file name or question holds them.
_NO_TEXT = re.compile("[\ud800-\udfff\0]")


def is_url(path: str) -> bool:
    """Whether a path names something that is not simply a file here.

    >>> is_url("s3://bucket/a.png"), is_url("C:/a.png"), is_url("a.png")
    (True, False, False)
    """
    return "://" in path and bool(_URL.match(path))


def resolved_path(path: str, base: str) -> str:
    """Where a manifest's path leads: relative ones start at the manifest's folder, which may be a URL itself.

    >>> resolved_path("a.png", "/data"), resolved_path("/b.png", "/data"), resolved_path("s3://x/c.png", "/data")
    ('/data/a.png', '/b.png', 's3://x/c.png')
    >>> resolved_path("file:///tmp/a%20b.png", "/data"), resolved_path("a.png", "s3://bucket/set")
    ('/tmp/a b.png', 's3://bucket/set/a.png')
    """
    if path.startswith("file://"):
        return url2pathname(urlsplit(path).path)
    if is_url(path):
        return path
    if is_url(base):
        return path if path.startswith("/") else f"{base.rstrip('/')}/{PurePosixPath(path)}"
    return path if base in ("", ".") else os.path.join(base, path)


def sample_from_row(row: Mapping[str, Any], base: str) -> Sample:
    """The sample a row describes; ManifestError says what is wrong with it."""
    values = {key: value for key, value in row.items() if value is not None and value != ""}
    image = _text(values, "image_path")
    if image is None:
        raise ManifestError("image_path is missing.")
    known: dict[str, Any] = {
        # Of several questions about one picture without ids, all but the first get numbers: see checking.py.
        "sample_id": _text(values, "sample_id") or without_credentials(image),
        "image_path": resolved_path(image, base),
        "query": _text(values, "query"),
        "answer": _text(values, "answer"),
        "task_type": _text(values, "task_type"),
        "mos": _number(values, "mos"),
        "options": _options(values.get("options")),
        "regions": _regions(values.get("regions")),
    }
    _check_answer(known["answer"], known["options"], known["query"])
    reference = _text(values, "reference_path")
    known["reference_path"] = resolved_path(reference, base) if reference else None
    carried = {key: value for key, value in row.items() if key not in KNOWN_FIELDS}
    try:
        return Sample(**known, carried=carried)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ManifestError(f"{problems}.") from None


def _text(values: Mapping[str, Any], key: str) -> str | None:
    value = values.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ManifestError(f"{key} is {json.dumps(value)}, which is not text.")
    text = str(value)
    if _NO_TEXT.search(text):
        raise ManifestError(f"{key} holds characters that are not valid text.")
    return text


def _number(values: Mapping[str, Any], key: str) -> float | None:
    value = values.get(key)
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ManifestError(f"{key} is {value!r}, which is not a number.") from None
    except OverflowError:
        raise ManifestError(f"{key} is too large a number.") from None
    if isinstance(value, bool) or not math.isfinite(number):
        raise ManifestError(f"{key} is {value!r}, which is not a number.")
    return number


def _options(value: Any) -> list[str] | None:
    """A list, a JSON list as text, or texts divided by bars: ``A. blur|B. noise``."""
    if value is None:
        return None
    if isinstance(value, str):
        value = _json(value, "options") if value.lstrip().startswith("[") else value.split("|")
    if not isinstance(value, list) or not all(isinstance(each, (str, int, float)) for each in value):
        raise ManifestError("options are neither a list of texts nor texts divided by '|'.")
    options = [str(each).strip() for each in value]
    if len(options) < 2 or not all(options):
        raise ManifestError("options need at least two texts, none of them empty.")
    return options


def _check_answer(answer: str | None, given: list[str] | None, query: str | None) -> None:
    """A right answer that nobody can choose would only be noticed when everything is paid for."""
    try:
        options = lettered(given) if given else parse_options(query or "")
    except QueryError as error:
        raise ManifestError(f"options: {error.message}") from None
    if options and answer and answer.strip() and parse_choice(answer, options) is None:
        raise ManifestError(f"answer is {answer!r}, which is none of the options {list(options.values())}.")


def _regions(value: Any) -> dict[str, list[int]] | None:
    """An object of boxes, the same as JSON text, or ``NAME=x,y,width,height`` divided by semicolons."""
    if value is None:
        return None
    try:
        if isinstance(value, str) and not value.lstrip().startswith("{"):
            return {name: box.as_list() for name, box in map(parse_region, value.split(";"))}
        boxes = _json(value, "regions") if isinstance(value, str) else value
        if not isinstance(boxes, dict) or not all(isinstance(box, list) for box in boxes.values()):
            raise ManifestError('regions are not an object of the form {"NAME": [x, y, width, height]}.')
        pairs = [parse_region(f"{name}={','.join(map(str, box))}") for name, box in boxes.items()]
    except RegionError as error:
        raise ManifestError(f"regions: {error}") from None
    return {name: box.as_list() for name, box in pairs} or None


def _json(text: str, key: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ManifestError(f"{key} is not valid JSON ({error}).") from None
    # JSON within a text: its escapes have not been looked at before.
    if _NO_TEXT.search(json.dumps(value, ensure_ascii=False)):
        raise ManifestError(f"{key} holds characters that are not valid text.")
    return value
