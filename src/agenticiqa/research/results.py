"""Read result files as `agenticiqa batch` writes them: one JSON object per line, or a CSV table of the same.

A line is read generously (columns people carried along stay reachable) but never leniently: a line that is no JSON
object, or a file without samples, is an error that names the line.
"""

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TextIO

from agenticiqa.answers import lettered, parse_choice, parse_options
from agenticiqa.errors import AgenticIQAError, QueryError
from agenticiqa.vocabulary import UNABLE_TO_DETERMINE, same_name

Status = Literal["ok", "partial", "error"]
FUSED = "quality_score"
TOOL_PREFIX = "tool:"
RAW_PREFIX = "raw:"
MODEL_PREFIX = "model:"
LONGEST_CELL = 16 * 1024 * 1024


class EvaluationError(AgenticIQAError):
    """Results cannot be evaluated."""


@dataclass(frozen=True)
class Result:
    """One sample's result. ``score`` and ``choice`` are None unless the run really gave them."""

    sample_id: str
    status: Status
    score: float | None
    truth: float | None
    choice: str | None
    """The letter chosen, or the words where the question has no options."""
    right: str | None
    line: Mapping[str, Any] = field(repr=False)

    @property
    def is_choice(self) -> bool:
        return self.right is not None

    @property
    def is_scored(self) -> bool:
        return self.truth is not None

    @property
    def correct(self) -> bool:
        return self.choice is not None and self.choice == self.right

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self.line.get("metadata") or {}

    def group(self, column: str) -> str | None:
        """The value of a carried column, as text; None where the line has none."""
        value = self.line.get(column, self.line.get(f"input_{column}"))
        return None if value is None or isinstance(value, (dict, list)) else str(value)


@dataclass(frozen=True)
class ResultFile:
    """A file's results, one for each sample."""

    path: Path
    results: list[Result]
    superseded: int = 0
    """Earlier lines of samples that a later line tried again."""
    torn: bool = False
    """The last line is cut off, as a run that was killed, or still runs, leaves it."""
    score: str = FUSED
    truth: str = "mos"

    def count(self, status: Status) -> int:
        return sum(result.status == status for result in self.results)


def read_results(path: str | Path, *, score: str = FUSED, truth: str = "mos") -> ResultFile:
    """All results of a file. A sample that was tried again counts once, with its last line.

    ``score`` is ``quality_score``, ``tool:NAME`` for one tool's calibrated score, ``raw:NAME`` for its raw value,
    ``model:NAME`` for that of one of several models, or a dotted path into the line. ``truth`` is the column
    with people's opinion.
    """
    file = Path(path)
    latest: dict[str, Result] = {}
    lines, torn = 0, False
    is_table = file.suffix.lower() == ".csv"
    try:
        with file.open(encoding="utf-8-sig", newline="" if is_table else None) as stream:
            for number, line in (_table_lines if is_table else _json_lines)(stream, file):
                if line is None:
                    torn = True
                    break
                result = _read_line(line, f"{file}, line {number}", score, truth)
                latest.pop(result.sample_id, None)
                latest[result.sample_id] = result
                lines += 1
    except (OSError, UnicodeDecodeError) as error:
        raise EvaluationError(f"{file} cannot be read: {error}.", hint=_BATCH_FILE_HINT) from error
    if not latest:
        raise EvaluationError(f"{file} holds no results.", hint="`agenticiqa batch` makes such a file.")
    return ResultFile(file, list(latest.values()), lines - len(latest), torn, score, truth)


def _json_lines(stream: TextIO, file: Path) -> Iterator[tuple[int, Any]]:
    """Every line with its number; None for a last one that is cut off."""
    for number, text in enumerate(stream, 1):
        if not text.strip():
            continue
        try:
            yield number, json.loads(text)
        except (ValueError, RecursionError) as error:
            if text.endswith("\n"):
                raise EvaluationError(
                    f"{file}, line {number} is not JSON: {error}.", hint="Was the file cut off?"
                ) from error
            yield number, None


def _table_lines(stream: TextIO, file: Path) -> Iterator[tuple[int, Any]]:
    """Every row of a table that a batch wrote: nested parts, which stand there as JSON texts, are read back."""
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.DictReader(stream, strict=True)
    try:
        for row in reader:
            cells = {name: cell for name, cell in row.items() if cell and name}
            nested = {name: json.loads(cell) for name, cell in cells.items() if cell.startswith(("{", "["))}
            yield reader.line_num, cells | nested
    except (csv.Error, ValueError) as error:
        raise EvaluationError(f"{file}, line {reader.line_num} is not as a batch writes it: {error}.") from error


def _read_line(line: Any, where: str, score: str, truth: str) -> Result:
    sample_id = line.get("sample_id") if isinstance(line, dict) else None
    if isinstance(sample_id, bool) or not isinstance(sample_id, (str, int)):
        raise EvaluationError(f"{where} is no result: it has no sample_id.", hint=_BATCH_FILE_HINT)
    status = line.get("status")
    if status not in ("ok", "partial", "error"):
        raise EvaluationError(f"{where} has the status {status!r}.", hint="It must be ok, partial or error.")
    # A part of another form than a batch writes is refused here, where the line is still known.
    for path in _OBJECTS:
        if not isinstance(_at(line, path), (Mapping, type(None))):
            raise EvaluationError(f"{where}: {'.'.join(path)} is no object.", hint=_BATCH_FILE_HINT)
    for path in _LISTS:
        found = _at(line, path)
        if found is not None and not (isinstance(found, list) and all(isinstance(each, Mapping) for each in found)):
            raise EvaluationError(f"{where}: {'.'.join(path)} is no list of objects.", hint=_BATCH_FILE_HINT)
    options = _options(line)
    return Result(
        sample_id=str(sample_id),
        status=status,
        # Whatever a failed run left behind is not an answer.
        score=None if status == "error" else score_of(line, score),
        truth=_opinion(line.get(truth)),
        choice=None if status == "error" else _chosen(line, options),
        right=_right(line, options, where),
        line=line,
    )


_BATCH_FILE_HINT = "Give a file of `agenticiqa batch`."
_OBJECTS = (("plan",), ("executor_evidence",), ("summarizer_result",), ("metadata",), ("metadata", "timings"))
_LISTS = (
    ("measurements",),
    ("executor_evidence", "tool_logs"),
    ("metadata", "call_log"),
    ("summarizer_result", "models"),
)


# --- scores ----------------------------------------------------------------------------------------------


def score_of(line: Mapping[str, Any], name: str) -> float | None:
    """A line's prediction by the name of :func:`read_results`; of tools the whole picture's score, not a region's."""
    if name == FUSED:
        return _number(_at(line, ["summarizer_result", "quality_score"]))
    for prefix, key in ((TOOL_PREFIX, "calibrated"), (RAW_PREFIX, "raw")):
        if name.startswith(prefix):
            tool = name.removeprefix(prefix).casefold()
            for entry in tool_entries(line):
                if str(entry.get("tool", "")).casefold() == tool and entry.get("region") is None:
                    return _number(entry.get(key, entry.get(f"{key}_score")))
            return None
    if name.startswith(MODEL_PREFIX):
        own = (each for each in models_of(line) if each.get("backend") == name.removeprefix(MODEL_PREFIX))
        return _number(next(own, {}).get("quality_score"))
    return _opinion(_at(line, name.split(".")))


def models_of(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What each of several models answered; nothing where one did."""
    return _at(line, ["summarizer_result", "models"]) or []


def tool_entries(line: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What tools said, in measured lines and in the evidence of assessed ones."""
    return [*(line.get("measurements") or []), *(_at(line, ["executor_evidence", "tool_logs"]) or [])]


def lower_reading(line: Mapping[str, Any]) -> float | None:
    """Of a line whose tools and model contradict each other: the worse of the two; None for every other line."""
    readings = [_number(_at(line, ["summarizer_result", "conflict", name])) for name in ("tools", "model")]
    return min((each for each in readings if each is not None), default=None)


def refuse_unknown_score(file: ResultFile, judged: Iterable[Result]) -> None:
    """Samples that worked, no question with a right answer among them, and not one score: the wrong one was named."""
    worked = [result for result in judged if result.status != "error"]
    if worked and not any(result.is_choice or result.score is not None for result in worked):
        entries = [entry for result in worked for entry in tool_entries(result.line) if entry.get("region") is None]
        names = ", ".join(dict.fromkeys(f"tool:{entry.get('tool')}" for entry in entries))
        others = f" The results hold {names}." if names else ""
        raise EvaluationError(
            f"No result of {file.path} has the score {file.score!r}.", hint=f"--score names another one.{others}"
        )


def sum_or_none(amounts: Iterable[float | None]) -> float | None:
    known = list(amounts)
    return None if None in known else float(sum(amount for amount in known if amount is not None))


def _at(line: Any, path: Iterable[str]) -> Any:
    for key in path:
        line = line.get(key) if isinstance(line, Mapping) else None
    return line


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _opinion(value: Any) -> float | None:
    """Columns of a CSV manifest arrive as texts."""
    try:
        return _number(float(value)) if isinstance(value, str) else _number(value)
    except ValueError:
        return None


# --- choices ---------------------------------------------------------------------------------------------


def _options(line: Mapping[str, Any]) -> dict[str, str]:
    given = line.get("options") or _at(line, ["metadata", "options"])
    if isinstance(given, list) and all(isinstance(option, str) for option in given):
        try:
            return lettered(given)
        except QueryError:
            return {}
    return parse_options(str(line.get("query") or ""))


def _chosen(line: Mapping[str, Any], options: Mapping[str, str]) -> str | None:
    answer = _at(line, ["summarizer_result", "final_answer"])
    if not isinstance(answer, str) or same_name(answer, UNABLE_TO_DETERMINE):
        return None
    return parse_choice(answer, options) if options else _comparable(answer)


def _right(line: Mapping[str, Any], options: Mapping[str, str], where: str) -> str | None:
    answer = line.get("answer")
    if answer is None or not str(answer).strip():
        return None
    if not options:
        return _comparable(str(answer))
    letter = parse_choice(str(answer), options)
    if letter is None:
        raise EvaluationError(
            f"{where}: the right answer {answer!r} is none of the options {list(options.values())}.",
            hint="Correct `answer` or `options` in the manifest: the option's letter or its text.",
        )
    return letter


def _comparable(text: str) -> str:
    """An open answer without what makes no difference: case, blanks around it, its full stop."""
    if len(text.strip()) == 1:
        # A bare letter: the run failed before it noted the options.
        return text.strip().upper()
    return " ".join(text.casefold().split()).strip(" .!\"'")
