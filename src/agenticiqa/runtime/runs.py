"""Every run on record, in one SQLite file: what was asked, what was found, what it cost."""

import json
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from agenticiqa.errors import AgenticIQAError, HomeFullError, RunNotFoundError
from agenticiqa.runtime.files import is_out_of_space, make_private

_SCHEMA = Path(__file__).with_name("runs.sql").read_text(encoding="utf-8")
LOCK_WAIT_S = 30
RUNNING = "running"
INTERRUPTED = "interrupted"
LAST = "last"


@dataclass(frozen=True)
class RunRecord:
    """One row of the record."""

    id: str
    started_at: str
    status: str
    query: str
    image_path: str
    answer: str | None
    score: float | None
    calls: int | None
    cost_usd: float | None
    seconds: float | None
    request: dict[str, Any]
    result: dict[str, Any] | None


def new_run_id() -> str:
    """Short enough to type, unique enough to share."""
    return uuid.uuid4().hex[:12]


class RunStore:
    """Reads and writes the record; safe for several threads and processes at once."""

    def __init__(self, database: Path) -> None:
        self.database = database
        with self._connection() as connection:
            connection.executescript(_SCHEMA)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(open_database(self.database)) as connection, connection:
                connection.row_factory = sqlite3.Row
                yield connection
        except sqlite3.IntegrityError:
            # Not the file's fault: an id that is taken.
            raise
        except (OSError, sqlite3.Error) as error:
            raise record_failure(self.database, error) from error

    def begin(self, run_id: str, request: Mapping[str, Any]) -> None:
        """Note a run before it starts, so that one that dies can be resumed."""
        with self._connection() as connection:
            connection.execute(
                "INSERT INTO runs (id, started_at, status, query, image_path, request) VALUES (?, ?, ?, ?, ?, ?)",
                (run_id, now(), RUNNING, request["query"], request["image_path"], json.dumps(request)),
            )

    def finish(self, run_id: str, result: Mapping[str, Any]) -> None:
        """Keep a run's result (the JSON of an assessment)."""
        metadata = result["metadata"]
        summary = result.get("summarizer_result") or {}
        tokens = metadata["tokens"]
        # In a list there is room for one number: of two readings in conflict, the one that gates count.
        score = summary["score_interval"][0] if summary.get("conflict") else summary.get("quality_score")
        with self._connection() as connection:
            connection.execute(
                "UPDATE runs SET status=?, answer=?, score=?, calls=?, prompt_tokens=?, completion_tokens=?, "
                "cost_usd=?, seconds=?, result=? WHERE id=?",
                (
                    result["status"],
                    # The words of a failure are not an answer.
                    None if result["status"] == "error" else summary.get("final_answer"),
                    score,
                    metadata["calls"],
                    tokens["prompt"],
                    tokens["completion"],
                    metadata["cost_usd"],
                    metadata["timings"].get("total"),
                    json.dumps(result),
                    run_id,
                ),
            )
            connection.execute("DELETE FROM calls WHERE run_id=?", (run_id,))

    def note_call(self, run_id: str, call: Mapping[str, Any]) -> None:
        """Keep what a run that may not finish has spent; its result will list the same call."""
        with self._connection() as connection:
            connection.execute("INSERT INTO calls VALUES (?, ?)", (run_id, json.dumps(call)))

    def calls_before(self, record: RunRecord) -> list[dict[str, Any]]:
        """All calls that a run made until it ended or died."""
        listed = (record.result or {}).get("metadata", {}).get("call_log") or []
        with self._connection() as connection:
            rows = connection.execute("SELECT call FROM calls WHERE run_id=? ORDER BY rowid", (record.id,)).fetchall()
        return [*listed, *(json.loads(row["call"]) for row in rows)]

    def begin_again(self, run_id: str) -> None:
        """Note that a run that had ended is being continued."""
        with self._connection() as connection:
            connection.execute("UPDATE runs SET status=? WHERE id=?", (RUNNING, run_id))

    def stop(self, run_id: str, status: str) -> None:
        """Note that a run ended without a result, for example as ``cancelled``; it can be resumed."""
        with self._connection() as connection:
            connection.execute("UPDATE runs SET status=? WHERE id=? AND status=?", (status, run_id, RUNNING))

    def forget(self, run_ids: Iterable[str]) -> None:
        """Remove runs from the record; ids that are not on it are passed over."""
        with self._connection() as connection:
            for table, key in (("runs", "id"), ("calls", "run_id")):
                statement = f"DELETE FROM {table} WHERE {key}=?"  # noqa: S608 - words of ours
                connection.executemany(statement, [(run_id,) for run_id in run_ids])

    def latest(self, count: int = 20) -> list[RunRecord]:
        with self._connection() as connection:
            rows = connection.execute("SELECT * FROM runs ORDER BY started_at DESC LIMIT ?", (count,)).fetchall()
        return [_record(row) for row in rows]

    def find(self, run_id: str) -> RunRecord:
        """A run by its id or by the beginning of it, where that is unique; ``last`` is the newest."""
        if run_id == LAST and (newest := self.latest(1)):
            return newest[0]
        pattern = run_id.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        with self._connection() as connection:
            rows = connection.execute("SELECT * FROM runs WHERE id LIKE ? ESCAPE '\\' LIMIT 2", (pattern,)).fetchall()
        if not run_id or not rows:
            raise RunNotFoundError(f"There is no run {run_id!r}.")
        if len(rows) > 1:
            hint = "Give more of the id."
            raise RunNotFoundError(f"More than one run begins with {run_id!r}.", hint=hint, client_hint=hint)
        return _record(rows[0])


def record_failure(file: Path, error: Exception) -> AgenticIQAError:
    """What it means that a file of the home cannot be written or read."""
    if is_out_of_space(error):
        return HomeFullError(f"There is no room for {str(file)!r}: {error}.")
    return AgenticIQAError(
        f"The run record {str(file)!r} cannot be used: {error}.",
        hint="Set runs.database in pipeline.yaml to a writable file, or runs.enabled to false.",
        client_hint="",
    )


def open_database(file: Path, *, check_same_thread: bool = True) -> sqlite3.Connection:
    """A connection that waits for other writers, not for the disk: a power cut may cost moments, never the file."""
    make_private(file)
    connection = sqlite3.connect(file, timeout=LOCK_WAIT_S, check_same_thread=check_same_thread)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _record(row: sqlite3.Row) -> RunRecord:
    found = {each.name: row[each.name] for each in fields(RunRecord)}
    found["request"] = json.loads(row["request"])
    found["result"] = json.loads(row["result"]) if row["result"] else None
    return RunRecord(**found)


def now() -> str:
    return datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")
