"""From a request to typed fields and pictures. Nothing here decodes a pixel.

A body is JSON (pictures as base64, as a path inside an allowed folder, as a shipped example, or as one that an earlier
run of the same caller was about) or multipart (pictures as files, or named like that). The pictures of a run end up as
copies in the upload store once the run is accepted, and not before; the pipeline opens nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect

from agenticiqa.errors import AgenticIQAError, ImageError, ImageTooLargeError
from agenticiqa.pictures.images import check_header, read_beneath
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.serve.http.keys import RefusedWork
from agenticiqa.serve.http.page.files import EXAMPLES
from agenticiqa.serve.http.problems import ServiceError, invalid_fields
from agenticiqa.serve.http.settings import ServiceSettings
from agenticiqa.serve.http.store.uploads import StoredPicture, UploadStore
from agenticiqa.serve.http.wire import PictureRequest, PictureSource
from agenticiqa.state import Turn

MAX_FIELDS = 128
MAX_FIELD_BYTES = 256 * 1024
"""Of one field of a form; of JSON, of all that is no picture."""
INTAKES_OF_ONE = 2
"""Bodies of one caller that are looked at in the same moment."""
LEAST_BYTES = 4 * 1024 * 1024
BYTES_PER_PIXEL = 256
"""Files of more than both together are no pictures of their size: what else is in them takes long to go through."""
# Text of this alphabet has no structure: it becomes one string, however long it is.
_LONG_TEXT = re.compile(rb'"[A-Za-z0-9+/=\\]{1024,}"')
MAX_NAME = 120
_NOT_PRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# Form fields that hold JSON rather than text; these may also be given once for each value.
_LISTS = frozenset({"options", "tools", "without", "backends"})
_OBJECTS = frozenset({"regions", "region"})
# What stands for a picture that came as a file of a form, where the fields are checked.
_AS_FILE = PictureSource(path="file")

Body = TypeVar("Body", bound=PictureRequest)
Earlier = Callable[[str], StoredPicture]
"""Finds a picture of the caller's earlier work by ``id/name``; raises LookupError where there is none."""


def body_kind(request: Request) -> Literal["json", "form"]:
    """What the request says its body is; any other kind is refused."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind == "application/json":
        return "json"
    if kind == "multipart/form-data":
        return "form"
    taken = {"Accept-Post": "application/json, multipart/form-data"}
    message = "Send application/json or multipart/form-data."
    raise ServiceError(415, "unsupported_media_type", message, headers=taken)


@contextmanager
def body_faults() -> Iterator[None]:
    """What can go wrong while a body is read, as the client is to see it."""
    try:
        yield
    except ValidationError as error:
        raise invalid_fields(error) from None
    except ClientDisconnect:
        raise ServiceError(400, "client_left", "The client left before the request was complete.") from None


@dataclass(frozen=True)
class Intake(Generic[Body]):
    """A request that was understood."""

    fields: Body
    """What was asked; its pictures are left out."""
    pictures: Mapping[str, StoredPicture]
    unstored: dict[Path, bytes] = field(default_factory=dict, repr=False)
    """What the upload store is to keep for it, by place."""
    earlier: Sequence[Turn] = ()
    """What was asked of the picture before."""

    @property
    def files(self) -> list[Path]:
        return [picture.path for picture in self.pictures.values()]

    @property
    def sizes(self) -> list[tuple[int, int]]:
        return [picture.size for picture in self.pictures.values()]


@dataclass(frozen=True)
class RequestReader:
    """Reads bodies and looks at the headers of their pictures."""

    settings: ServiceSettings
    uploads: UploadStore
    limits: ImageLimits
    refused: RefusedWork
    _turns: dict[str, asyncio.Semaphore] = field(default_factory=dict)

    async def read(self, request: Request, form: type[Body], owner: str, earlier: Earlier) -> Intake[Body]:
        form_values: dict[str, Any] | None = None
        given: dict[str, tuple[str, bytes]] = {}
        with body_faults():
            if body_kind(request) == "form":
                form_values, given = await self._from_form(request, form.pictures(), earlier)
            else:
                await request.body()
            # From here on nothing waits for the client.
            async with self._turns.setdefault(owner, asyncio.Semaphore(INTAKES_OF_ONE)), self._counted(owner):
                if form_values is None:
                    fields, given = await asyncio.to_thread(self._from_json, await request.body(), form, earlier)
                else:
                    fields = form.model_validate({**form_values, **dict.fromkeys(given, _AS_FILE)})
                intake = Intake(fields.model_copy(update=dict.fromkeys(form.pictures())), pictures := {})
                for name, each in given.items():
                    pictures[name] = await asyncio.to_thread(self.look_at, *each, owner, intake.unstored)
        return intake

    @asynccontextmanager
    async def _counted(self, owner: str) -> AsyncIterator[None]:
        """What takes long to be refused is charged to its owner."""
        started = time.monotonic()
        try:
            yield
        except (AgenticIQAError, ServiceError, ValidationError):
            self.refused.add(owner, time.monotonic() - started)
            raise

    def _from_json(self, body: bytes, form: type[Body], earlier: Earlier) -> tuple[Body, dict[str, tuple[str, bytes]]]:
        # Numbers and lists take thirty times their bytes once they are built: they are counted first.
        rest = len(body) - sum(found.end() - found.start() for found in _LONG_TEXT.finditer(body))
        if rest > MAX_FIELD_BYTES:
            most = f"{MAX_FIELD_BYTES // 1024} KB"
            raise ServiceError(413, "body_too_large", f"Beside pictures, a request may have {most} of JSON.")
        # JSON has types of its own: a number is no switch and "3" is no number. Form fields are all texts.
        fields = form.model_validate_json(body, strict=True)
        named = {name: getattr(fields, name) for name in form.pictures()}
        return fields, {
            name: self.bytes_of(name, source, earlier) for name, source in named.items() if source is not None
        }

    async def _from_form(
        self, request: Request, pictures: Mapping[str, bool], earlier: Earlier
    ) -> tuple[dict[str, Any], dict[str, tuple[str, bytes]]]:
        values: dict[str, Any] = {}
        given: dict[str, tuple[str, bytes]] = {}
        async with request.form(max_files=len(pictures), max_fields=MAX_FIELDS, max_part_size=MAX_FIELD_BYTES) as form:
            for name, value in form.multi_items():
                picture, _, way = name.rpartition("_")
                if isinstance(value, UploadFile):
                    if name not in pictures or name in given:
                        raise ServiceError(422, "invalid_request", "A file came under a name that takes none.")
                    given[name] = (display_name(value.filename), await value.read())
                elif way in ("path", "example", "kept") and picture in pictures:
                    source = PictureSource.model_validate({way: value})
                    given[picture] = await asyncio.to_thread(self.bytes_of, picture, source, earlier)
                else:
                    _add_field(values, name, value)
        return values, given

    def bytes_of(self, name: str, source: PictureSource, earlier: Earlier) -> tuple[str, bytes]:
        """What to call a picture, and its file's bytes; ``name`` is where it stands in the request."""
        if source.base64 is not None:
            try:
                return display_name(source.name), base64.b64decode(source.base64, validate=True)
            except ValueError:
                raise ServiceError(422, "invalid_request", f"{name}: this is not base64.") from None
        if source.example is not None:
            example = EXAMPLES.get(source.example)
            if example is None:
                raise ServiceError(422, "unknown_example", f"{name}: there is no such example. See GET /v1/examples.")
            return example.file, example.data()
        if source.kept is not None:
            try:
                found = earlier(source.kept)
                return found.name, found.path.read_bytes()
            except (LookupError, OSError):
                message = f"{name}: this picture is no longer kept here. Send it again."
                raise ServiceError(422, "picture_gone", message) from None
        return display_name(source.path), self._read_allowed(name, source.path or "")

    def _read_allowed(self, name: str, path: str) -> bytes:
        """A file inside an allowed folder. Whatever is wrong with a path, the answer is the same."""
        try:
            return read_beneath(path, self.settings.allowed_roots, self.settings.max_upload_bytes)
        except (ImageError, OSError, ValueError):
            message = f"{name}: this path is not a picture this server may read."
            raise ServiceError(422, "path_refused", message) from None

    def look_at(self, name: str, data: bytes, owner: str, unstored: dict[Path, bytes]) -> StoredPicture:
        """A picture whose header says that it is one, of a size this server takes, and its place in the store."""
        width, height = size = check_header(data, name=name, limits=self.limits)
        if len(data) > LEAST_BYTES + BYTES_PER_PIXEL * width * height:
            raise ImageTooLargeError(f"{name!r} has {len(data):,} bytes for {width}×{height} pixels.")
        picture = self.uploads.place(data, name, size, owner)
        unstored[picture.path] = data
        return picture


def _add_field(values: dict[str, Any], name: str, value: str) -> None:
    if name in _LISTS and not value.lstrip().startswith("["):
        values.setdefault(name, []).append(value)
    elif name in values:
        raise ServiceError(422, "invalid_request", "A field was given twice.")
    elif name in _LISTS or name in _OBJECTS:
        try:
            values[name] = json.loads(value)
        except (ValueError, RecursionError):
            raise ServiceError(422, "invalid_request", f"{name}: this is not JSON.") from None
    else:
        values[name] = value


def display_name(given: str | None) -> str:
    """What a picture is called in replies: the last part of its name, printable, of bounded length.

    >>> display_name("../../etc/pass\\r\\nwd.png")
    'passwd.png'
    """
    last = re.split(r"[\\/]", given or "")[-1]
    return _NOT_PRINTABLE.sub("", last).strip()[:MAX_NAME] or "picture"
