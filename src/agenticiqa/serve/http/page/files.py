"""What a browser gets: the web page's files, and the example pictures."""

import mimetypes
from pathlib import Path
from typing import Any

from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field, computed_field

from agenticiqa._data import read_data
from agenticiqa.vocabulary import DEFAULT_QUERY

FOLDER = Path(__file__).parent


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
