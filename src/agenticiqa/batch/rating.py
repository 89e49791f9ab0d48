"""The fast lane: the score of every picture, no question, no graph; the numbers are those that ``assess`` gives."""

from __future__ import annotations

import ast
import csv
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from types import CodeType
from typing import Any

from pydantic_core import to_json

from agenticiqa._version import __version__
from agenticiqa.batch import containers
from agenticiqa.batch.remote_pictures import is_url, picture_at
from agenticiqa.batch.results import read_results
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import ConfigError, MissingExtraError, PictureTooSmallError
from agenticiqa.pictures.images import LoadedImage, UInt8Image
from agenticiqa.runtime.config import ImageLimits
from agenticiqa.runtime.files import atomic_file
from agenticiqa.runtime.memory import MemoryBudget, process_budget
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.score_interval import likely_interval
from agenticiqa.tools.needs import LOOKING_BYTES, OPENING_BYTES, PICTURE_BYTES
from agenticiqa.vision.network import WEIGHTS, LRUCache, described, load_vision
from agenticiqa.vision.picture_facts import facts_of
from agenticiqa.vision.scene import FLAW_THRESHOLD, LEAST_SIDE, Scene, sort_of

ALIKE = 1024
"""So many files are remembered by their content: one that comes again is not looked at again."""
ROWS_AT_ONCE = 20_000


def rating_of(scene: Scene) -> dict[str, Any]:
    """What is said of a picture: columns of a rated table, but for its name, size and hash."""
    reading, fusion = scene.read_adjusted(), ScoreFusion()
    levels = reading.level_probabilities
    score = fusion.fuse_scores([], levels)
    low, high = likely_interval(levels) or (score, score)
    flaws = {
        name: round(min(chance, reading.presence(scene.vision.flaws[name])), 4)
        for name, chance in reading.flaws.items()
    }
    return {
        "score": round(score, 4),
        "low": low,
        "high": high,
        "level": fusion.map_to_level(score),
        "levels": [round(each, 4) for each in levels.values()],
        "flaws": sorted((each for each in flaws if flaws[each] > FLAW_THRESHOLD), key=lambda each: -flaws[each]),
        **{f"chance_{name}": chance for name, chance in flaws.items()},
        "sort": sort_of(reading, scene.facts),
        "generated": reading.generated > FLAW_THRESHOLD,
        "chance_generated": round(reading.generated, 4),
    }


@dataclass(frozen=True)
class Opened:
    """What is known of a picture once it is open."""

    size: tuple[int, int]
    sha256: str


def record_of(sample: Sample, run_id: str, image: LoadedImage | Opened, rating: Mapping[str, Any]) -> dict[str, Any]:
    """The result of one picture, as a line of a results file keeps it."""
    return {
        "status": "ok",
        "image_path": sample.image_path,
        "error": None,
        "rating": {**rating, "width": image.size[0], "height": image.size[1], "sha256": image.sha256},
        "metadata": {"run_id": run_id, "error_kind": None, "versions": {"agenticiqa": __version__}},
    }


@dataclass(frozen=True)
class PictureRater:
    """Rates pictures one after the other on the CPU; the model is loaded with the first."""

    limits: ImageLimits
    memory: MemoryBudget = field(default_factory=lambda: process_budget(None))
    known: LRUCache[dict[str, Any]] = field(default_factory=lambda: LRUCache(ALIKE))

    def rate(self, sample: Sample, run_id: str) -> dict[str, Any]:
        """The picture's record; raises when it cannot be opened."""
        with opened(sample, self.limits, self.memory) as image:
            rating = self.known.get(image.sha256, lambda: rating_of(_looked_at(image.rgb)))
            return record_of(sample, run_id, image, rating)


def _looked_at(rgb: UInt8Image) -> Scene:
    """Not remembered by its pixels as other looks are: files that come again are known by their hash."""
    vision = load_vision()
    return Scene(vision, vision.look(rgb), facts_of(rgb))


@contextmanager
def opened(sample: Sample, limits: ImageLimits, memory: MemoryBudget) -> Iterator[LoadedImage]:
    """A picture that is large enough to be rated, with its memory held while it is open."""
    path = sample.image_path
    given = containers.picture_within(path) if path.startswith(containers.SCHEME) else picture_at(path)
    size = given.peek(limits) if given.peek else None
    need = (PICTURE_BYTES + max(OPENING_BYTES, LOOKING_BYTES)) * (size[0] * size[1] if size else 0)
    with memory.hold(need, "Looking at a picture of this size"):
        image = given.open(limits)
        if min(image.size) < LEAST_SIDE:
            raise PictureTooSmallError(
                f"The picture is {image.size[0]}×{image.size[1]} pixels; none below {LEAST_SIDE}×{LEAST_SIDE} is rated."
            )
        yield image


# --- The table that is made of the results ---

COLUMNS: dict[str, str] = {
    "id": "string", "path": "string", "score": "float32", "low": "float32", "high": "float32", "level": "string",
    "levels": "list<float32>", "flaws": "list<string>",
    **{f"chance_{flaw['name']}": "float32" for flaw in described(WEIGHTS)["flaws"]},
    "sort": "string", "generated": "bool", "chance_generated": "float32", "width": "int32", "height": "int32",
    "sha256": "string", "error": "string",
}  # fmt: skip
"""What a rated table holds, with the types that Parquet keeps."""


def rows_of(lines: Path) -> Iterator[dict[str, Any]]:
    """A flat row for each result, every column of :data:`COLUMNS` in it; those of a picture that failed are None."""
    for line in read_results(lines):
        record = line.record
        known = {"id": record["sample_id"], "path": record["image_path"], "error": record["error"]}
        # A list may have a column of that name, which a picture that failed carries along.
        yield {**dict.fromkeys(COLUMNS), **known, **(record["rating"] if record["status"] == "ok" else {})}


def write_rated(lines: Path, target: Path) -> None:
    """The results as .parquet, .csv or .jsonl, whole or not at all; memory does not grow with their number."""
    rows, form = rows_of(lines), target.suffix.lower()
    with atomic_file(target) as file:
        if form == ".parquet":
            _write_parquet(rows, file)
        elif form == ".csv":
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            writer = csv.DictWriter(text, COLUMNS)
            writer.writeheader()
            writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
            # Closed by the caller that opened it.
            text.detach()
        else:
            for row in rows:
                file.write(to_json(row) + b"\n")


def check_table(target: Path) -> None:
    """Refuse what could not be written at the end, before anything is rated."""
    if target.suffix.lower() not in (".parquet", ".csv", ".jsonl"):
        raise ConfigError(f"{str(target)!r}: scores are written as .parquet, .csv or .jsonl.")
    if target.suffix.lower() == ".parquet":
        _pyarrow()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else value


def _pyarrow() -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(
            "Parquet is written with pyarrow.", hint="pip install 'agenticiqa[table]', or name the file .csv."
        ) from None
    return pa, pq


def _write_parquet(rows: Iterator[dict[str, Any]], file: Any) -> None:
    pa, pq = _pyarrow()
    kinds = {
        "string": pa.string(), "float32": pa.float32(), "int32": pa.int32(), "bool": pa.bool_(),
        "list<float32>": pa.list_(pa.float32()), "list<string>": pa.list_(pa.string()),
    }  # fmt: skip
    schema = pa.schema([(name, kinds[kind]) for name, kind in COLUMNS.items()])
    about = {"agenticiqa": __version__, "model": str(described(WEIGHTS)["version"])}
    with pq.ParquetWriter(file, schema.with_metadata(about), compression="zstd") as writer:
        while some := list(islice(rows, ROWS_AT_ONCE)):
            writer.write_table(pa.Table.from_pylist(some, schema=schema))


# --- Which pictures survive ---


class Condition:
    """What a picture must be to be kept, over the columns: ``score >= 3.5 and not generated and 'hazy' not in flaws``.

    >>> good = Condition("score >= 3.5 and (not generated or sort in ('painting', 'drawing'))")
    >>> good.holds({"score": 4.0, "generated": False, "sort": "photograph", "error": None})
    True
    >>> good.holds({"score": None, "generated": None, "sort": None, "error": "damaged"})
    False
    """

    def __init__(self, text: str) -> None:
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ConfigError(f"--keep {text!r} cannot be read ({error}).", hint=_KEEP_HINT) from None
        for node in ast.walk(tree):
            if not isinstance(node, _ALLOWED):
                raise ConfigError(f"--keep {text!r}: {type(node).__name__} is not understood.", hint=_KEEP_HINT)
            if isinstance(node, ast.Name) and node.id not in COLUMNS:
                hint = f"Columns: {', '.join(COLUMNS)}."
                raise ConfigError(f"--keep {text!r}: there is no column {node.id!r}.", hint=hint)
        self.text, self._code = text, compile(tree, "--keep", "eval")
        for node in ast.walk(tree):
            # Each by itself: what stands behind an "or" is compared too, some day.
            if isinstance(node, ast.Compare):
                self._evaluated(compile(ast.Expression(node), "--keep", "eval"), _TYPICAL)

    def holds(self, row: Mapping[str, Any]) -> bool:
        """Never for a picture that could not be rated."""
        if row["error"] is not None:
            return False
        return bool(self._evaluated(self._code, row))

    def _evaluated(self, code: CodeType, row: Mapping[str, Any]) -> Any:
        try:
            # Nothing but comparisons of columns and constants is left in it: no call, no attribute.
            return eval(code, {"__builtins__": {}}, dict(row))  # noqa: S307
        except TypeError as error:
            why = f"--keep {self.text!r} compares what cannot be compared ({error})."
            raise ConfigError(why, hint=_KEEP_HINT) from None


_TYPICAL: dict[str, Any] = {
    name: {"string": "", "bool": False, "list<float32>": [], "list<string>": []}.get(kind, 1.0)
    for name, kind in COLUMNS.items()
}
"""A value of the type of each column."""
_KEEP_HINT = 'Write, for example, --keep "score >= 3.5 and not generated".'
_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.List, ast.UnaryOp, ast.Not, ast.USub, ast.BoolOp,
    ast.And, ast.Or, ast.Compare, ast.cmpop,
)  # fmt: skip


def write_kept(lines: Path, condition: Condition, target: Path) -> int:
    """The paths of the pictures that survive, one on each line, from the root; how many they are."""
    count = 0
    with atomic_file(target) as file:
        for row in rows_of(lines):
            if condition.holds(row):
                path = row["path"] if is_url(row["path"]) else os.path.abspath(row["path"])
                file.write(f"{path}\n".encode("utf-8", "surrogateescape"))
                count += 1
    return count
