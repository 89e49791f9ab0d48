"""Pictures inside other files: WebDataset's tar shards, Parquet with bytes or paths, Hugging Face datasets on disk.

Listing hands out addresses (``within://FILE?…``), and whoever works on a picture reads its bytes by that address: what
travels between processes is small, and nothing is unpacked to disk.
"""

from __future__ import annotations

import json
import tarfile
import threading
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from glob import glob
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from agenticiqa.batch.manifest import Manifest, open_manifest, resolved_path
from agenticiqa.errors import ImageError, ImageTooLargeError, ManifestError, MissingExtraError
from agenticiqa.pictures.formats import format_named, is_pattern
from agenticiqa.pictures.images import check_header, decode_image
from agenticiqa.pictures.inputs import GivenPicture

SCHEME = "within://"
TAR, PARQUET = (".tar",), (".parquet", ".pq")
EXTRA = "table"
BYTES_COLUMNS = ("image", "img", "picture", "jpg", "jpeg", "png", "webp", "bytes", "content", "image_bytes")
PATH_COLUMNS = ("image_path", "path", "file_name", "filename", "file")
OPEN_FILES = 2
Record = dict[str, Any]


def open_sources(*sources: str) -> Manifest:
    """Files that hold pictures, or patterns of them; anything else is read as :func:`open_manifest` reads it."""
    found = [Path(each) for source in sources for each in _expanded(source)]
    inside = [path for path in found if is_container(path)]
    if not inside:
        return open_manifest(*sources)
    if len(inside) < len(found):
        raise ManifestError("Shards and tables are read alone, not beside pictures or lists.")
    # The name alone tells shards apart as a rule; of several with one name it is the path.
    alike = len({path.name for path in inside}) < len(inside)
    name = sources[0] if len(sources) == 1 else f"the {len(sources)} inputs"

    def rows() -> Iterator[tuple[int, Record]]:
        yield from enumerate((row for each in inside for row in records_in(each, str(each) if alike else each.name)), 1)

    return Manifest(name, "", rows)


def _expanded(source: str) -> list[str]:
    """The shards or tables that a pattern means: not every shell expands it."""
    shards = source.lower().endswith((*TAR, *PARQUET)) and is_pattern(source)
    return sorted(glob(source)) or [source] if shards else [source]


def is_container(path: Path) -> bool:
    """Whether pictures are looked for inside of it."""
    if path.name.lower().endswith((".tar.gz", ".tgz")):
        raise ManifestError(f"{str(path)!r} is compressed.", hint="Unpack it to a plain tar file: gunzip.")
    return path.suffix.lower() in (*TAR, *PARQUET) if path.is_file() else is_dataset(path)


def is_dataset(folder: Path) -> bool:
    """Whether a folder is what ``datasets.Dataset.save_to_disk`` wrote."""
    if (folder / "dataset_dict.json").is_file():
        raise ManifestError(f"{str(folder)!r} holds several splits.", hint="Name one: the folder of a split below it.")
    return (folder / "state.json").is_file() and (folder / "dataset_info.json").is_file()


def records_in(path: Path, label: str) -> Iterator[Record]:
    """A row for each picture, with an id of the file's label and the place in it."""
    if path.suffix.lower() in TAR and path.is_file():
        yield from _in_tar(path, label)
    elif path.is_dir():
        for file in _arrow_files(path):
            yield from _in_table(file, f"{label}/{file.name}")
    else:
        yield from _in_table(path, label)


def _in_tar(path: Path, label: str) -> Iterator[Record]:
    seen: set[str] = set()
    try:
        with tarfile.open(path, "r:") as shard:
            for member in shard:
                if member.isfile() and format_named(member.name) is not None:
                    name = member.name.encode("utf-8", "replace").decode()
                    place = {"at": member.offset_data, "size": member.size, "name": name}
                    again = f"#{member.offset_data}" if name in seen else ""
                    seen.add(name)
                    yield {"sample_id": f"{label}/{name}{again}", "image_path": address(path, place)}
    except (tarfile.TarError, OSError, EOFError) as error:
        raise ManifestError(f"{str(path)!r} is no whole, plain tar file ({error}).", hint="Check the file.") from error


def _in_table(path: Path, label: str) -> Iterator[Record]:
    table = _table(str(path))
    column, holds_bytes = _picture_column(table.schema, path)
    for row in range(table.rows):
        named = None if holds_bytes else table.value(row, column)
        # Of a row without a path the address says so when it is opened.
        image = resolved_path(str(named), str(path.parent)) if named else address(path, {"row": row, "column": column})
        yield {"sample_id": f"{label}/{row}", "image_path": image}


def address(path: Path, place: dict[str, Any]) -> str:
    return f"{SCHEME}{quote(str(path.resolve()), errors='surrogateescape')}?{urlencode(place)}"


def picture_within(named: str) -> GivenPicture:
    """The picture at an address of :func:`records_in`."""
    parts = urlsplit(named)
    path = unquote(parts.netloc + parts.path, errors="surrogateescape")
    place = {key: each[0] for key, each in parse_qs(parts.query).items()}
    name = f"{path}/{place.get('name') or place.get('row')}"

    @lru_cache(1)
    def data(most: int) -> bytes:
        try:
            found = _tar_bytes(path, place, most) if "at" in place else _table_bytes(path, place)
        except (OSError, ValueError, KeyError, IndexError) as error:
            raise ImageError(f"{name!r} cannot be read: {error}.") from error
        if len(found) > most:
            raise ImageTooLargeError(f"{name!r} has {len(found):,} bytes, more than the limit of {most:,}.")
        return found

    return GivenPicture(
        name,
        lambda limits: decode_image(data(limits.max_bytes), path=name, limits=limits),
        in_memory=True,
        peek=lambda limits: check_header(data(limits.max_bytes), name=name, limits=limits),
    )


def _tar_bytes(path: str, place: dict[str, str], most: int) -> bytes:
    size = int(place["size"])
    if not 0 <= size <= most:
        raise ValueError(f"it has {size:,} bytes, and {most:,} is the limit")
    with open(path, "rb") as file:
        file.seek(int(place["at"]))
        return file.read(size)


def _table_bytes(path: str, place: dict[str, str]) -> bytes:
    """Bytes that stand in the table; a path in their place is not followed: the table may come from anywhere."""
    found = _table(path).value(int(place["row"]), place["column"])
    found = found.get("bytes") if isinstance(found, dict) else found
    if not isinstance(found, bytes):
        raise ValueError("the row holds no bytes of a picture")  # noqa: TRY004 - of the file, not of the program
    return found


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
                reader = pa.ipc.open_stream(pa.memory_map(path))
                self.schema, batches = reader.schema, list(reader)
                counts = [len(each) for each in batches]
                self._group = lru_cache(1)(lambda number, _column: batches[number])
            else:
                file = pq.ParquetFile(path)
                self.schema = file.schema_arrow
                counts = [file.metadata.row_group(each).num_rows for each in range(file.num_row_groups)]
                self._group = lru_cache(1)(lambda number, column: file.read_row_group(number, columns=[column]))
        except (pa.ArrowException, OSError) as error:
            raise ManifestError(f"{path!r} cannot be read as a table ({error}).") from error
        self._ends = list(accumulate(counts, initial=0))
        self._lock = threading.Lock()
        self.rows = self._ends[-1]

    def value(self, row: int, column: str) -> Any:
        if not 0 <= row < self.rows:
            raise IndexError(f"there is no row {row}")
        number = bisect_right(self._ends, row) - 1
        with self._lock:
            return self._group(number, column).column(column)[row - self._ends[number]].as_py()


@lru_cache(OPEN_FILES)
def _table(path: str) -> _Table:
    return _Table(path)


def _picture_column(schema: Any, path: Path) -> tuple[str, bool]:
    """The column of the pictures and whether it holds their bytes: Hugging Face's struct, plain bytes, then paths."""
    import pyarrow as pa

    structs = [
        each.name for each in schema if pa.types.is_struct(each.type) and each.type.get_field_index("bytes") >= 0
    ]
    plain = [each.name for each in schema if pa.types.is_binary(each.type) or pa.types.is_large_binary(each.type)]
    named = [name for name in plain if name.lower() in BYTES_COLUMNS]
    if chosen := structs or named or (plain if len(plain) == 1 else []):
        return chosen[0], True
    for name in PATH_COLUMNS:
        if name in schema.names:
            return name, False
    raise ManifestError(
        f"{str(path)!r} has no column with pictures; its columns are {', '.join(schema.names)}.",
        hint=f"Bytes in {', '.join(BYTES_COLUMNS)}, or paths in {', '.join(PATH_COLUMNS)}.",
    )


def _arrow_files(folder: Path) -> list[Path]:
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        names = [str(each["filename"]) for each in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ManifestError(f"{str(folder)!r} is no whole dataset: state.json cannot be read ({error}).") from error
    if any(Path(name).name != name for name in names):
        raise ManifestError(f"{str(folder)!r} is no dataset: state.json names files elsewhere.")
    return [folder / name for name in names]
