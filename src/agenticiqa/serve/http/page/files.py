"""What a browser gets: the web page's files, the example pictures, and the HTTP interface as a page to read.

The last is made of the OpenAPI document, without scripts or anything from elsewhere.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field, computed_field

from agenticiqa._data import read_data
from agenticiqa.vocabulary import DEFAULT_QUERY

FOLDER = Path(__file__).parent
TITLES = {
    "work": "Asking",
    "runs": "Runs",
    "batches": "Batches",
    "audits": "Many pictures looked through",
    "catalogue": "What there is",
    "operation": "Operating the server",
}
ORDER = ("get", "post", "delete")
_CODE = re.compile(r"`([^`]+)`")


def api_page(document: Mapping[str, Any]) -> str:
    access = "This server asks for no key; it answers under the names of its own machine only."
    if document["components"].get("securitySchemes"):
        access = "This server asks for a key: send the header Authorization: Bearer KEY."
    sections = dict.fromkeys(TITLES, "")
    for path, methods in document["paths"].items():
        for method in sorted(methods, key=ORDER.index):
            sections[methods[method]["tags"][0]] += _operation(path, method, methods[method], document)
    return Template((FOLDER / "api.html").read_text("utf-8")).substitute(
        version=_text(document["info"]["version"]),
        about=_text(document["info"]["description"]),
        access=access,
        contents="".join(f'<li><a href="#{tag}">{title}</a></li>' for tag, title in TITLES.items()),
        sections="".join(f'<section id="{tag}"><h2>{TITLES[tag]}</h2>{own}</section>' for tag, own in sections.items()),
    )


def _operation(path: str, method: str, operation: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    about = operation.get("description")
    answers = sorted(operation["responses"].items())
    return f"""<article>
<h3><code class="method">{_text(method.upper())}</code> <code>{_text(path)}</code></h3>
<p>{_text(operation["summary"])}.{" " + _text(about) if about else ""}</p>
{_table(("Field", "Where", "Kind", "Meaning"), _fields(operation, document))}
{_table(("Status", "When"), ((status, answer["description"]) for status, answer in answers))}
</article>"""


def _fields(operation: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in operation.get("parameters", ()):
        needed = " (needed)" if each.get("required") else ""
        yield each["name"] + needed, each["in"], _kind(each["schema"]), each.get("description", "")
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        schema = body["schema"]
        if "$ref" in schema:
            schema = document["components"]["schemas"][_kind(schema)]
        for name, field in schema.get("properties", {}).items():
            needed = " (needed)" if name in schema.get("required", ()) else ""
            yield name + needed, media, _kind(field), field.get("description", "")


def _kind(schema: Mapping[str, Any]) -> str:
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
    default = f", default {schema['default']}" if schema.get("default") not in (None, "") else ""
    return f"{schema.get('type', 'anything')}{default}"


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


class ExamplePicture(BaseModel):
    """A shipped picture and a question that suits it."""

    name: str
    title: str
    licence: str
    query: str = DEFAULT_QUERY
    reference: str | None = None
    first: bool = Field(False, description="One of those to begin with")

    @computed_field(description="Where the picture is")  # type: ignore[prop-decorator]
    @property
    def image(self) -> str:
        return f"/v1/examples/{self.name}"

    @property
    def file(self) -> str:
        return f"{self.name}.jpg"

    def data(self) -> bytes:
        return (FOLDER / "examples" / self.file).read_bytes()


EXAMPLES = {each["name"]: ExamplePicture(**each) for each in read_data("serve/http/page/examples/examples.yaml")}


# --- the web page's files ---


# The page makes its elements with createElement and textContent: with trusted types set to none, the browser itself
# refuses every attempt to turn text into markup or script.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
# Named here because some systems' tables call scripts plain text, which browsers then refuse to run.
mimetypes.add_type("text/css", ".css")
mimetypes.add_type("text/javascript", ".js")
mimetypes.add_type("image/svg+xml", ".svg")


class PageFiles(StaticFiles):
    """Serves the folder of the page. A browser asks each time whether its copy is still the newest."""

    def file_response(self, *given: Any, **more: Any) -> Response:
        response = super().file_response(*given, **more)
        response.headers["cache-control"] = "no-cache"
        response.headers["content-security-policy"] = POLICY
        return response
