"""A few pictures of an audit inside a notebook's page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from agenticiqa.reports.contact_sheet.page import SheetPicture


def notebook_sheet(pictures: Iterable[SheetPicture]) -> str:
    """Small pictures with what was found in each, without any script."""
    return (
        '<div style="display:flex;flex-wrap:wrap;gap:10px;margin-top:10px">'
        + "".join(_figure(picture) for picture in pictures)
        + "</div>"
    )


def _figure(picture: SheetPicture) -> str:
    row = picture.row
    name = escape(str(row["path"]))
    shown = (
        f'<img alt="{name}" src="data:image/jpeg;base64,{picture.thumbnail}" '
        'style="max-width:160px;max-height:120px;border-radius:4px">'
        if picture.thumbnail
        else '<span style="display:inline-block;width:160px;height:90px;border:1px dashed gray">does not open</span>'
    )
    score = f" · {row['score']:.2f}" if row.get("score") is not None else ""
    found = escape(", ".join(row["findings"])) or "no finding"
    return (
        f'<figure style="margin:0;width:160px;font-size:12px;overflow-wrap:anywhere">{shown}'
        f"<figcaption><strong>{name}</strong>{score}<br>{found}</figcaption></figure>"
    )
