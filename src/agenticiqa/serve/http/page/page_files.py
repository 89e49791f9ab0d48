"""The files of the web page, under the strictest policy they can live with."""

from __future__ import annotations

import os

from fastapi.responses import Response
from fastapi.staticfiles import StaticFiles
from starlette.types import Scope

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
