"""Every sample of a batch as data for the page's table: ten thousand rows are there at once, some dozens are drawn."""

from __future__ import annotations

import base64
import io
import json
import os
from collections.abc import Callable, Sequence
from typing import Any

from PIL import Image

from agenticiqa.errors import ImageError
from agenticiqa.evaluation.results import Result
from agenticiqa.pictures.images import load_image
from agenticiqa.reports.look import quiet, shown_name
from agenticiqa.runtime.config import ImageLimits

MOST_ROWS = 50_000
MOST_THUMBNAILS = 10_000
THUMBNAIL = (120, 88)
"""Twice as fine as it is shown, for screens with small pixels."""
COLUMNS = ("", "Sample", "Status", "Score", "Opinion", "Answer", "Distortion", "Question")
WIDTHS = (5, 16, 5, 4.5, 5, 9, 9, 14)

Progress = Callable[[str], None]


def samples_table(results: Sequence[Result], file_name: str) -> str:
    """The table's head and the tools above it; the page's script fills it."""
    if not results:
        return ""
    columns = _columns_with_values(results[:MOST_ROWS])
    widths = "".join(f'<col style="width:{WIDTHS[column]}rem">' for column in columns)
    head = "".join(_head(column) for column in columns)
    more = len(results) - MOST_ROWS
    note = quiet(f"The first {MOST_ROWS:,} of {len(results):,} samples; all are in {file_name}.") if more > 0 else ""
    return (
        '<div class="tools"><label>Filter <input id="filter" type="search" placeholder="words"></label>'
        '<label>Status <select id="status"><option value="">all</option><option>ok</option><option>partial</option>'
        '<option>error</option></select></label><span id="shown" class="dim" role="status"></span></div>'
        f'<div id="window" tabindex="0"><table id="samples"><colgroup>{widths}</colgroup><thead><tr>{head}</tr></thead>'
        "<tbody></tbody></table></div>"
        f"<noscript>{quiet('The table needs JavaScript; the file holds the same.')}</noscript>{note}"
    )


def _columns_with_values(results: Sequence[Result]) -> list[int]:
    """Those that tell something of these samples; picture, name, status and score are always there."""
    rows = [_row(result, "", "") for result in results]
    return [column for column in range(len(COLUMNS)) if column < 4 or any(row[column] is not None for row in rows)]


def _head(column: int) -> str:
    name = COLUMNS[column]
    if not name:
        return f'<th data-column="{column}"></th>'
    return f'<th scope="col" data-column="{column}"><button type="button">{name}</button></th>'


def samples_data(
    results: Sequence[Result], limits: ImageLimits, progress: Progress | None = None, *, thumbnails: bool = True
) -> str:
    """The rows as JSON inside the page. A browser runs nothing of it, and no text in it can end it."""
    shown = results[:MOST_ROWS]
    common = _common_folder([str(result.sample_id) for result in shown])
    rows = []
    for number, result in enumerate(shown):
        if progress and number % 100 == 0:
            progress(f"thumbnails: {number:,} of {len(shown):,}")
        picture = _thumbnail(result, limits) if thumbnails and number < MOST_THUMBNAILS else ""
        rows.append(_row(result, common, picture))
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="rows">{text}</script>'


def _row(result: Result, common: str, picture: str) -> list[Any]:
    """In the order of the columns."""
    line = result.line
    return [
        picture,
        str(result.sample_id).removeprefix(common),
        result.status,
        result.score,
        result.truth,
        answer_text(result),
        result.group("distortion"),
        line.get("query"),
    ]


def answer_text(result: Result) -> str | None:
    """The answer, with the score on the scale that the question asks for: "B (8.2 of 10)"."""
    summary = (result.line.get("summarizer_result") or {}) if result.status != "error" else {}
    answer, asked = summary.get("final_answer"), (summary.get("used_evidence") or {}).get("asked_scale")
    return f"{answer} ({asked})" if asked else answer


def shown_ids(results: Sequence[Result]) -> Callable[[Result], str]:
    """How samples are called in a report: as they are, without the folders that all of them share.

    A lone absolute path is a file's name; ids that are no paths stay.
    """
    common = _common_folder([str(result.sample_id) for result in results])
    return lambda result: str(result.sample_id).removeprefix(common)


def _common_folder(ids: Sequence[str]) -> str:
    absolute = [each for each in ids if os.path.isabs(each)]
    if not absolute or len(absolute) < len(ids):
        return ""
    if len(absolute) == 1:
        return absolute[0].removesuffix(shown_name(absolute[0]))
    return os.path.commonpath([os.path.dirname(each) for each in absolute]).rstrip("/\\") + os.sep


def _thumbnail(result: Result, limits: ImageLimits) -> str:
    """A small copy of the picture; nothing where it is gone or does not open."""
    path = str(result.line.get("image_path") or "")
    if not path or not os.path.isfile(path):
        return ""
    try:
        picture = load_image(path, limits).pil
    except ImageError:
        return ""
    small = picture.convert("RGB").copy()
    small.thumbnail(THUMBNAIL, Image.Resampling.BILINEAR, reducing_gap=2.0)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=55, method=0)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
