"""Pictures inside other files: WebDataset's tar shards, Parquet with bytes or paths, Hugging Face datasets on disk.

Listing hands out addresses (``within://FILE?…``), and whoever works on a picture reads its bytes by that address: what
travels between processes is small, and nothing is unpacked to disk.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from agenticiqa.errors import ImageError, ImageTooLargeError, ManifestError, MissingExtraError
from agenticiqa.pictures.formats import format_named
from agenticiqa.pictures.images import check_header, decode_image
from agenticiqa.pictures.inputs import GivenPicture

SCHEME = "within://"
TAR, PARQUET = (".tar",), (".parquet", ".pq")
EXTRA = "table"
PATH_COLUMNS = ("image_path", "path", "file_name", "filename", "file")
OPEN_FILES = 8
Record = dict[str, Any]


def is_container(path: Path) -> bool:
    """Whether pictures are looked for inside of it."""
    return path.suffix.lower() in (*TAR, *PARQUET) if path.is_file() else is_dataset(path)


def is_dataset(folder: Path) -> bool:
    """Whether a folder is what ``datasets.Dataset.save_to_disk`` wrote."""
    return (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()


def records_in(path: Path) -> Iterator[Record]:
    """A row for each picture, with an id that names the file and the place in it."""
    if path.suffix.lower() in TAR and path.is_file():
        yield from _in_tar(path)
    elif path.is_dir():
        for file in _arrow_files(path):
            yield from _in_table(file)
    else:
        yield from _in_table(path)


def _in_tar(path: Path) -> Iterator[Record]:
    try:
        with tarfile.open(path, "r:") as shard:
            for member in shard:
                if member.isfile() and format_named(member.name) is not None:
                    place = {"at": member.offset_data, "size": member.size, "name": member.name}
                    yield {"sample_id": f"{path.name}/{member.name}", "image_path": address(path, place)}
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ManifestError(f"{str(path)!r} is no whole tar file ({error}).") from error


def _in_table(path: Path) -> Iterator[Record]:
    table = _table(str(path))
    column = _picture_column(table.schema, path)
    for row in range(table.rows):
        sample_id = f"{path.name}/{row}"
        if column.bytes is not None:
            yield {"sample_id": sample_id, "image_path": address(path, {"row": row, "column": column.name})}
        else:
            yield {"sample_id": sample_id, "image_path": str(table.value(row, column.name))}


def address(path: Path, place: dict[str, Any]) -> str:
    return f"{SCHEME}{quote(str(path.resolve()))}?{urlencode(place)}"


def picture_within(named: str) -> GivenPicture:
    """The picture at an address of :func:`records_in`."""
    parts = urlsplit(named)
    path, place = unquote(parts.netloc + parts.path), {key: each[0] for key, each in parse_qs(parts.query).items()}
    name = f"{path}/{place.get('name') or place.get('row')}"

    @lru_cache(1)
    def data(most: int) -> bytes:
        try:
            found = _tar_bytes(path, place) if "at" in place else _table(path).value(int(place["row"]), place["column"])
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise ImageError(f"{name!r} cannot be read: {error}.") from error
        if isinstance(found, dict):
            found = found.get("bytes") or Path(str(found.get("path"))).read_bytes()
        if not isinstance(found, bytes):
            raise ImageError(f"{name!r} holds no picture.")
        if len(found) > most:
            raise ImageTooLargeError(f"{name!r} has {len(found):,} bytes, more than the limit of {most:,}.")
        return found

    return GivenPicture(
        name,
        lambda limits: decode_image(data(limits.max_bytes), path=name, limits=limits),
        in_memory=True,
        peek=lambda limits: check_header(data(limits.max_bytes), name=name, limits=limits),
    )


def _tar_bytes(path: str, place: dict[str, str]) -> bytes:
    with open(path, "rb") as file:
        file.seek(int(place["at"]))
        return file.read(int(place["size"]))


class _Table:
    """Rows of a Parquet or Arrow file by number; of a Parquet file the last group of rows that was read is kept."""

    def __init__(self, path: str) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError(
                f"{path!r} is read with pyarrow.", hint=f"pip install 'agenticiqa[{EXTRA}]'"
            ) from None
        try:
            if path.endswith(".arrow"):
                batches = list(pa.ipc.open_stream(pa.memory_map(path)))
                self.schema, counts = batches[0].schema if batches else pa.schema([]), [len(each) for each in batches]
                self._group = lru_cache(1)(lambda number, _column: batches[number])
            else:
                file = pq.ParquetFile(path)
                self.schema = file.schema_arrow
                counts = [file.metadata.row_group(each).num_rows for each in range(file.num_row_groups)]
                self._group = lru_cache(1)(lambda number, column: file.read_row_group(number, columns=[column]))
        except (pa.ArrowException, OSError) as error:
            raise ManifestError(f"{path!r} cannot be read as a table ({error}).") from error
        self._ends = list(accumulate(counts, initial=0))
        self.rows = self._ends[-1]

    def value(self, row: int, column: str) -> Any:
        number = next(place for place, end in enumerate(self._ends[1:]) if row < end)
        return self._group(number, column).column(column)[row - self._ends[number]].as_py()


@lru_cache(OPEN_FILES)
def _table(path: str) -> _Table:
    return _Table(path)


class _Column:
    def __init__(self, name: str, kind: str | None) -> None:
        self.name, self.bytes = name, kind


def _picture_column(schema: Any, path: Path) -> _Column:
    """Bytes first (Hugging Face's struct of bytes and path, or plain ones), then paths."""
    import pyarrow as pa

    for field in schema:
        fields = {each.name for each in field.type} if pa.types.is_struct(field.type) else set()
        if "bytes" in fields or pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            return _Column(field.name, "bytes")
    for name in PATH_COLUMNS:
        if name in schema.names:
            return _Column(name, None)
    raise ManifestError(
        f"{str(path)!r} has no column with pictures; its columns are {', '.join(schema.names)}.",
        hint=f"Bytes, or paths in a column {', '.join(PATH_COLUMNS[:-1])} or {PATH_COLUMNS[-1]}.",
    )


def _arrow_files(folder: Path) -> list[Path]:
    state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
    return [folder / each["filename"] for each in state["_data_files"]]
