"""What every report is made of: the page around it, pictures, tables, names and the foot.

Everything is inside the file: pictures as data URLs, charts as SVG, no font or style from elsewhere. Text that came
from outside (file names, questions, model replies) is escaped, and a content security policy lets the browser run
nothing but a script that was handed to :func:`page`.
"""

import base64
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from html import escape
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from agenticiqa._version import __version__
from agenticiqa.pictures.images import LoadedImage

SHOWN_SIDE = 640
NOTEBOOK_SIDE = 420
"""A notebook keeps what it showed: smaller pictures keep it small."""
NO_PICTURES = "The pictures are no longer where they were, or cannot be read."
LEVEL_COLOURS = {5: "#1a7f37", 4: "#5aa02c", 3: "#b08800", 2: "#bc4c00", 1: "#b3261e"}

Box = Sequence[int]


@cache
def colours() -> str:
    """What every page of ours begins its style with."""
    return resources.files(__package__).joinpath("colours.css").read_text(encoding="utf-8")


@cache
def style() -> str:
    return colours() + resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")


def page(title: str, content: str, models: Iterable[str] = (), *, script: str = "", data: str = "") -> str:
    """A page of this look around ready HTML; ``data`` is ready HTML too, put before the script that reads it."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    allowed = f"; script-src 'sha256-{digest}'" if script else ""
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'{allowed}"
    code = f"{data}<script>{script}</script>" if script else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{style()}</style></head><body><main><h1>{escape(title)}</h1>\n{content}\n</main>"
        f"<footer>{foot(models)}</footer>{code}</body></html>\n"
    )


def foot(models: Iterable[str]) -> str:
    """When the report was made, by which version, and whose answers it shows."""
    made = datetime.now(timezone.utc)
    named = ", ".join(dict.fromkeys(models))
    asked = f" Model: {escape(named)}." if named else ""
    return f"Made on {made.day} {made:%B %Y, %H:%M} UTC by AgenticIQA {__version__}.{asked}"


def models_of(metadata: Mapping[str, Any]) -> list[str]:
    """The models that answered, as their provider calls them, each once.

    >>> models_of({"call_log": [{"backend": "openai.gpt-4o", "model": "gpt-4o-2024-08-06"}], "backend": {}})
    ['openai.gpt-4o (gpt-4o-2024-08-06)']
    """
    calls = [(str(call.get("backend") or ""), str(call.get("model") or "")) for call in metadata.get("call_log") or []]
    asked = [f"{backend} ({model})" if model and model != backend else backend for backend, model in calls if backend]
    configured = [str(name) for name in (metadata.get("backend") or {}).values()]
    return list(dict.fromkeys(asked or configured))


def in_notebook(content: str) -> str:
    """HTML to embed in another page: the style is scoped to this part of it."""
    scoped = style().replace(":root {", "& {").replace("body {", "& {").replace("@page { margin: 16mm 14mm; }", "")
    return f'<div class="agenticiqa"><style>.agenticiqa {{ {scoped} }}</style>{content}</div>'


# --- names ---


def shown_name(path: str) -> str:
    r"""A file without its folders: reports are shared, and folder names can be private.

    >>> shown_name("/home/ada/shoot/a.jpg"), shown_name("C:\\shoot\\a.jpg"), shown_name("a.jpg")
    ('a.jpg', 'a.jpg', 'a.jpg')
    """
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1] or path


def without_folders(text: str, *paths: str | None) -> str:
    """A sentence that names files, without their folders.

    >>> without_folders("There is no file /data/a.png.", "/data/a.png", None)
    'There is no file a.png.'
    """
    for path in paths:
        if path:
            text = text.replace(path, shown_name(path))
    return text


# --- parts ---


def thumbnail(picture: LoadedImage, side: int = SHOWN_SIDE) -> npt.NDArray[np.uint8]:
    """The picture, small enough to be put into a page."""
    copy = picture.pil.copy()
    copy.thumbnail((side, side), Image.Resampling.LANCZOS)
    return np.asarray(copy, np.uint8)


def figure(
    rgb: npt.NDArray[np.uint8],
    caption: str,
    regions: Mapping[str, Box] | None = None,
    size: Sequence[int] | None = None,
) -> str:
    """A picture inside the page, with its caption; ``regions`` are boxes in a picture of ``size`` (width, height)."""
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "JPEG", quality=85)
    data = base64.b64encode(buffer.getvalue()).decode("ascii")
    return framed(data, caption, _boxes(regions, size) if regions and size else "")


def framed(jpeg: str, caption: str, drawn: str = "") -> str:
    """A picture inside the page, from a JPEG file in base64, with its caption; ``drawn`` is HTML that lies over it."""
    return (
        f'<figure><div class="frame"><img alt="{escape(caption)}" src="data:image/jpeg;base64,{jpeg}">{drawn}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _boxes(regions: Mapping[str, Box], size: Sequence[int]) -> str:
    """Outlines with their names, which stay inside the picture."""
    width, height = size
    outlines, names = "", ""
    for name, (x, y, w, h) in regions.items():
        outlines += f'<rect x="{x}" y="{y}" width="{w}" height="{h}"></rect>'
        left, right = f"left:{100 * x / width:.2f}%", f"right:{100 * (1 - (x + w) / width):.2f}%"
        place = f"{left if x < 0.7 * width else right};top:{100 * y / height:.2f}%"
        names += f'<span class="name" style="{place}">{escape(name)}</span>'
    return f'<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" aria-hidden="true">{outlines}</svg>{names}'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of plain text, escaped; nothing at all without rows."""
    if not rows:
        return ""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll" tabindex="0"><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'


def quiet(words: str) -> str:
    return f'<p class="dim">{escape(words)}</p>'


def axis(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def ticks(low: float, high: float) -> list[float]:
    """A handful of round numbers.

    >>> ticks(0, 9)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    if high <= low:
        return [low]
    rough = (high - low) / 5
    power = 10 ** np.floor(np.log10(rough))
    step = float(min((1, 2, 5, 10), key=lambda each: abs(each * power - rough)) * power)
    first = np.ceil(low / step) * step
    return [float(round(value, 10)) for value in np.arange(first, high + step * 1e-9, step)]
