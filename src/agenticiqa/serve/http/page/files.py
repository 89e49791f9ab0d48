"""What a browser gets: the web page's files, the example pictures, and the HTTP interface as a page to read.

The last is made of the OpenAPI document, without scripts or anything from elsewhere. Everything in it comes from the
program itself, and is escaped all the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from importlib import resources
from typing import Any

from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

from agenticiqa.vocabulary import DEFAULT_QUERY

TITLES = {
    "work": "Asking",
    "runs": "Runs",
    "batches": "Batches",
    "audits": "Many pictures looked through",
    "catalogue": "What there is",
    "operation": "For whoever runs the server",
}
ORDER = ("get", "post", "delete")
_CODE = re.compile(r"`([^`]+)`")


def api_page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    operations = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in sorted(methods.items(), key=lambda each: ORDER.index(each[0]))
    ]
    sections = "".join(_section(tag, title, operations, document) for tag, title in TITLES.items())
    about = document["info"]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>AgenticIQA: HTTP interface</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/css/base.css">
<link rel="stylesheet" href="/static/css/api.css">
</head>
<body>
<main class="api">
<h1>AgenticIQA {_text(about["version"])}: HTTP interface</h1>
<p>{_text(about["description"])} For programs: <a href="/openapi.json">openapi.json</a>. For people:
<a href="/">the web page</a>.</p>
<p>{_text(_access(document))}</p>
<nav><ul>{"".join(f'<li><a href="#{tag}">{_text(title)}</a></li>' for tag, title in TITLES.items())}</ul></nav>
{sections}
</main>
</body>
</html>
"""


def _access(document: Mapping[str, Any]) -> str:
    if document["components"].get("securitySchemes"):
        return "This server asks for a key: send the header Authorization: Bearer KEY."
    return "This server asks for no key; it answers under the names of its own machine only."


def _section(
    tag: str, title: str, operations: list[tuple[str, str, Mapping[str, Any]]], document: Mapping[str, Any]
) -> str:
    own = [_operation(path, method, each, document) for path, method, each in operations if tag in each["tags"]]
    return f'<section id="{tag}"><h2>{_text(title)}</h2>{"".join(own)}</section>\n'


def _operation(path: str, method: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    about = operation.get("description")
    answers = sorted(operation["responses"].items())
    parts = [
        f'<h3><code class="method">{_text(method.upper())}</code> <code>{_text(path)}</code></h3>',
        f"<p>{_text(operation['summary'])}.{' ' + _text(about) if about else ''}</p>",
        _table(("Parameter", "Where", "Kind", "Meaning"), _parameters(operation)),
        *_bodies(operation, document),
        _table(("Status", "When"), ((status, answer["description"]) for status, answer in answers)),
    ]
    return f"<article>{''.join(parts)}</article>"


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in operation.get("parameters", ()):
        needed = " (needed)" if each.get("required") else ""
        yield each["name"] + needed, each["in"], _kind(each["schema"]), each.get("description", "")


def _bodies(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[str]:
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = body["schema"]
        if "$ref" in schema:
            schema = document["components"]["schemas"][_kind(schema)]
        needed = schema.get("required", ())
        rows = [
            (name + (" (needed)" if name in needed else ""), _kind(field), field.get("description", ""))
            for name, field in schema.get("properties", {}).items()
        ]
        yield f"<h4>Body as <code>{_text(media)}</code></h4>" + _table(("Field", "Kind", "Meaning"), rows)


def _kind(schema: Mapping[str, Any]) -> str:
    """A field's kind in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        kinds = [_kind(each) for each in schema["anyOf"]]
        return " or ".join(kind for kind in dict.fromkeys(kinds) if kind != "null")
    if "enum" in schema:
        return " or ".join(str(each) for each in schema["enum"])
    if schema.get("format") == "binary":
        return "file"
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    limits = [
        f"{word} {schema[key]}"
        for key, word in (("minimum", "from"), ("maximum", "to"), ("maxLength", "at most"))
        if key in schema
    ]
    default = f", default {schema['default']}" if schema.get("default") not in (None, "") else ""
    return " ".join([str(schema.get("type", "anything")), *limits]) + default


def _table(heads: tuple[str, ...], rows: Any) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    if not cells:
        return ""
    head = "".join(f'<th scope="col">{_text(each)}</th>' for each in heads)
    return f'<div class="scrolls"><table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody></table></div>'


def _text(value: object) -> str:
    """Escaped, with what stands between backticks as code.

    >>> _text("`a<b` does the same")
    '<code>a&lt;b</code> does the same'
    """
    return _CODE.sub(r"<code>\1</code>", escape(str(value)))


# --- example pictures ---


_SEEDING = "CC0 1.0 (“seeding” by Clemens Engelhardt, 2018)"


@dataclass(frozen=True)
class ExamplePicture:
    """A shipped picture and a question that suits it."""

    name: str
    file: str
    title: str
    query: str
    reference: str | None = None
    licence: str = _SEEDING
    first: bool = False
    """Shown to whoever opens the page for the first time."""

    def data(self) -> bytes:
        return resources.files(__package__).joinpath("examples").joinpath(self.file).read_bytes()


def _first(name: str, title: str, licence: str, query: str = "How good is this picture?") -> ExamplePicture:
    return ExamplePicture(name, f"{name}.jpg", title, query, licence=licence, first=True)


# Where each comes from and how it was damaged: examples/README.md beside them.
EXAMPLES = {
    example.name: example
    for example in (
        _first("stream_blurred", "A shaken camera", "CC BY 4.0 (“life” by Aitzol Berasategi, 2018, blurred)"),
        _first("cat_noisy", "Grain of high ISO", "CC0 1.0 (“Chelsea” by Stéfan van der Walt, with noise)"),
        _first("coffee_dark", "Too little light", "CC0 1.0 (coffee by Rachel Michetti, darkened)"),
        _first("mountains_hazy", "Haze", "CC BY 4.0 (“picos de Europa” by Aitzol Berasategi, 2018, with haze)"),
        _first("portrait", "A face", "public domain (NASA, Eileen Collins)", "Is the face sharp?"),
        _first("screenshot", "A screenshot, saved as JPEG", "CC0 1.0 (drawn for this project)"),
        ExamplePicture("dandelion", "dandelion.jpg", "A dandelion", DEFAULT_QUERY),
        ExamplePicture(
            "dandelion_compressed",
            "dandelion_compressed.jpg",
            "The same at JPEG quality 12",
            "Which distortion dominates? A. Motion blur B. JPEG compression C. Underexposure",
            reference="dandelion",
        ),
    )
}


# --- the web page's files ---


# The page makes its elements with createElement and textContent: with trusted types set to none, the browser itself
# refuses every attempt to turn text into markup or script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
# Named here because some systems' tables call scripts plain text, which browsers then refuse to run.
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


class PageFiles(StaticFiles):
    """Serves the folder of the page. A browser asks each time whether its copy is still the newest."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        kind = _MEDIA_TYPES.get(os.path.splitext(full_path)[1])
        if kind is not None and "content-type" in response.headers:
            response.headers["content-type"] = kind
        response.headers["cache-control"] = "no-cache"
        response.headers["content-security-policy"] = POLICY
        return response
