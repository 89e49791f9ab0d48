"""Pictures inside other files: WebDataset's tar shards, Parquet with bytes or paths, Hugging Face datasets on disk.

Listing hands out addresses (``within://FILE?…``), and whoever works on a picture reads its bytes by that address: what
travels between processes is small, and nothing is unpacked to disk.
"""

from __future__ import annotations

import json
import os
import tarfile
import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from glob import glob
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from agenticiqa.batch.manifest import Manifest, open_manifest, resolved_path
from agenticiqa.errors import ImageError, ImageTooLargeError, ManifestError, MissingExtraError
from agenticiqa.pictures.formats import NO_PICTURE, Skipped, format_named, is_pattern
from agenticiqa.pictures.images import check_header, decode_image
from agenticiqa.pictures.inputs import GivenPicture

SCHEME = "within://"
TAR, PARQUET = (".tar",), (".parquet", ".pq")
EXTRA = "table"
BYTES_COLUMNS = ("image", "img", "picture", "jpg", "jpeg", "png", "webp", "bytes", "content", "image_bytes")
PATH_COLUMNS = ("image_path", "path", "file_name", "filename", "file")
OPEN_FILES = 2
ROWS_AT_ONCE = 16
"""Rows of a Parquet file that are read together; a group of rows may be larger than the memory."""
LINK = "a link to no picture in the same tar file"
Record = dict[str, Any]


def open_sources(*sources: str, outputs: Sequence[Path] = ()) -> Manifest:
    """Files that hold pictures, their folders or patterns; anything else is read as :func:`open_manifest` reads it."""
    found = [each for source in sources for each in _expanded(source)]
    inside = [path for path in found if is_container(path)]
    if not inside:
        return open_manifest(*sources)
    if len(inside) < len(found):
        raise ManifestError("Shards and tables are read alone, not beside pictures or lists.")
    if both := {path.resolve() for path in inside} & {path.resolve() for path in outputs}:
        raise ManifestError(f"{str(both.pop())!r} is read and written.", hint="Write to another folder.")
    # The name alone tells shards apart as a rule; of several with one name it is the path.
    alike = len({path.name for path in inside}) < len(inside)
    name = sources[0] if len(sources) == 1 else f"the {len(sources)} inputs"
    skipped = Skipped()

    def rows() -> Iterator[tuple[int, Record]]:
        # They are gone through more than once, not always to the end, and what is left out counts once.
        noted = Skipped()
        found = (row for each in inside for row in records_in(each, str(each) if alike else each.name, noted))
        yield from enumerate(found, 1)
        skipped.counts, skipped.names = noted.counts, noted.names

    return Manifest(name, "", rows, skipped=skipped)


def _expanded(source: str) -> list[Path]:
    """The shards or tables that a folder or a pattern means: not every shell expands patterns."""
    path = Path(source)
    if source.lower().endswith((*TAR, *PARQUET)) and is_pattern(source):
        return [Path(each) for each in sorted(glob(source))] or [path]
    if path.is_dir() and not is_dataset(path):
        shards = sorted(each for each in path.iterdir() if each.suffix.lower() in (*TAR, *PARQUET) and each.is_file())
        # A folder of pictures stays one, whatever else lies in it.
        if shards and not any(format_named(name) for _, _, names in os.walk(path) for name in names):
            return shards
    return [path]


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


def records_in(path: Path, label: str, skipped: Skipped) -> Iterator[Record]:
    """A row for each picture, with an id of the file's label and the place in it."""
    if path.suffix.lower() in TAR and path.is_file():
        yield from _in_tar(path, label, skipped)
    elif path.is_dir():
        for file in _arrow_files(path):
            yield from _in_table(file, f"{label}/{file.name}")
    else:
        yield from _in_table(path, label)


def _in_tar(path: Path, label: str, skipped: Skipped) -> Iterator[Record]:
    seen: set[str] = set()
    places: dict[str, tuple[int, int]] = {}
    try:
        with tarfile.open(path, "r:") as shard:
            for member in shard:
                if format_named(member.name) is None or member.isdir():
                    continue
                # A hard link has no bytes of its own: it names a member that came before it.
                place = places.get(member.linkname) if member.islnk() else (member.offset_data, member.size)
                name = member.name.encode("utf-8", "replace").decode()
                if place is None or not (member.isfile() or member.islnk()) or member.issparse():
                    skipped.note(f"{label}/{name}", LINK if member.islnk() or member.issym() else NO_PICTURE)
                    continue
                again = f"#{member.offset_data}" if name in seen else ""
                seen.add(name)
                places[member.name] = place
                where = {"at": place[0], "size": place[1], "name": name}
                yield {"sample_id": f"{label}/{name}{again}", "image_path": address(path, where)}
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
    """Rows of a Parquet or Arrow file by number; whoever asks for one after the other has each read once."""

    def __init__(self, path: str) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError(
                f"{path!r} is read with pyarrow.", hint=f"pip install 'agenticiqa[{EXTRA}]'"
            ) from None
        self._batches: Callable[[int, str], Iterator[Any]]
        try:
            if path.endswith(".arrow"):
                reader = pa.ipc.open_stream(pa.memory_map(path))
                self.schema, groups = reader.schema, list(reader)
                counts = [len(each) for each in groups]
                self._batches = lambda number, _column: iter([groups[number]])
            else:
                file = pq.ParquetFile(path, memory_map=True)
                self.schema = file.schema_arrow
                counts = [file.metadata.row_group(each).num_rows for each in range(file.num_row_groups)]
                self._batches = lambda number, column: file.iter_batches(
                    ROWS_AT_ONCE, row_groups=[number], columns=[column]
                )
        except (pa.ArrowException, OSError) as error:
            raise ManifestError(f"{path!r} cannot be read as a table ({error}).") from error
        self._ends = list(accumulate(counts, initial=0))
        self._lock = threading.Lock()
        self._reading: tuple[int, str] | None = None
        self._stream: Iterator[Any] = iter(())
        self._next = 0
        self._kept: deque[tuple[int, Any]] = deque(maxlen=2)
        """The last batches that were read, each with the number of its first row: threads ask a little out of order."""
        self.rows = self._ends[-1]

    def value(self, row: int, column: str) -> Any:
        if not 0 <= row < self.rows:
            raise IndexError(f"there is no row {row}")
        number = bisect_right(self._ends, row) - 1
        with self._lock:
            if self._reading != (number, column) or not self._kept or row < self._kept[0][0]:
                self._reading, self._next = (number, column), self._ends[number]
                self._stream = self._batches(number, column)
                self._kept.clear()
            while row >= self._next:
                try:
                    batch = next(self._stream)
                except Exception as error:
                    # A stream that broke gives nothing more: the next row begins anew.
                    self._reading = None
                    raise ValueError(f"row {row} cannot be read ({str(error) or 'it ends before'})") from error
                self._kept.append((self._next, batch))
                self._next += len(batch)
            first, batch = next(each for each in reversed(self._kept) if each[0] <= row)
            return batch.column(column)[row - first].as_py()


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
