"""What the service was asked and what came of it, in one SQLite file; no accepted work is missing from it."""

import json
import sqlite3
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from agenticiqa.errors import AgenticIQAError, ConfigError
from agenticiqa.runtime.files import is_out_of_space, make_private, make_private_folder
from agenticiqa.runtime.runs import INTERRUPTED, now, open_database, record_failure
from agenticiqa.serve.http.problems import ServiceError

_SCHEMA = Path(__file__).with_name("jobs.sql").read_text(encoding="utf-8")
# Questions, names of pictures, and answers in words; not the server's own paths.
_HOLDS_WORDS = """(
    EXISTS (SELECT 1 FROM json_tree(request) AS part
            WHERE part.key IN ('query', 'name') AND instr(lower(part.atom), lower(?)))
    OR instr(lower(COALESCE(json_extract(result, '$.summarizer_result.final_answer'), '')), lower(?))
)"""
QUEUED = "queued"
FORGOTTEN_AT_ONCE = 500


@dataclass(frozen=True)
class JobRow:
    """One recorded piece of work."""

    id: str
    owner: str
    kind: str
    status: str
    created_at: str
    finished_at: str | None
    seconds: float | None
    request: dict[str, Any]
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    events: list[dict[str, Any]]
    pinned: bool = False


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended: a result, or why there is none."""

    status: str
    result: dict[str, Any] | None = None
    problem: ServiceError | None = None
    seconds: float | None = None
    events: list[dict[str, Any]] = field(default_factory=list)


class JobRecord:
    """Reads and writes the record; safe for several threads. One server at a time owns it."""

    def __init__(self, database: Path) -> None:
        self._lock = threading.Lock()
        try:
            make_private_folder(database.parent)
            self._claim = _claimed(database.with_name(database.name + ".lock"))
            self._connection = open_database(database, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            self._connection.executescript(_SCHEMA)
            # A record of version 0.1 lacks both.
            columns = {row["name"] for row in self._connection.execute("PRAGMA table_info(jobs)")}
            for name, kind in (("pinned", "INTEGER NOT NULL DEFAULT 0"), ("idempotency_key", "TEXT")):
                if name not in columns:
                    self._write(f"ALTER TABLE jobs ADD COLUMN {name} {kind}")
            self._write("CREATE UNIQUE INDEX IF NOT EXISTS jobs_by_key ON jobs (owner, idempotency_key)")
        except (OSError, sqlite3.Error) as error:
            if is_out_of_space(error):
                raise record_failure(database, error) from error
            raise AgenticIQAError(
                f"The service's record {str(database)!r} cannot be used: {error}.",
                hint="Set AGENTICIQA_HOME to a writable folder.",
            ) from error

    def close(self) -> None:
        with self._lock:
            self._connection.close()
            self._claim.close()

    def _write(self, statement: str, *values: Any) -> int:
        with self._lock, self._connection:
            return self._connection.execute(statement, values).rowcount

    def _rows(self, statement: str, *values: Any) -> list[JobRow]:
        with self._lock, self._connection:
            return [_row(row) for row in self._connection.execute(statement, values).fetchall()]

    def begin(
        self, job_id: str, owner: str, kind: str, request: Mapping[str, Any], idempotency_key: str | None = None
    ) -> None:
        """A new job, or one on record that ended before its work was done: any other is refused.

        Raises sqlite3.IntegrityError where the owner has another job under this key.
        """
        begun = self._write(
            "INSERT INTO jobs (id, owner, kind, status, created_at, request, idempotency_key) "
            "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET status=excluded.status, "
            "finished_at=NULL, seconds=NULL, result=NULL, error=NULL, events=NULL "
            "WHERE owner=excluded.owner AND kind=excluded.kind AND finished_at IS NOT NULL AND status <> 'ok'",
            *(job_id, owner, kind, QUEUED, now(), json.dumps(request), idempotency_key),
        )
        if not begun:
            raise ServiceError(409, "nothing_to_resume", "Nothing of this is left to be done.")

    def asked_before(self, owner: str, idempotency_key: str) -> JobRow | None:
        """The owner's job under this key; one that ended without an answer gives its key back, and is none."""
        self._write(
            "UPDATE jobs SET idempotency_key=NULL WHERE owner=? AND idempotency_key=? "
            "AND finished_at IS NOT NULL AND (error IS NOT NULL OR status='error')",
            *(owner, idempotency_key),
        )
        found = self._rows("SELECT * FROM jobs WHERE owner=? AND idempotency_key=?", owner, idempotency_key)
        return found[0] if found else None

    def finish(self, job_id: str, outcome: JobOutcome) -> None:
        """Keep how a job ended. The first outcome counts: a late worker does not overwrite an interruption."""
        result = None if outcome.result is None else json.dumps(outcome.result)
        problem = json.dumps(outcome.problem.document()) if outcome.problem else None
        self._write(
            "UPDATE jobs SET status=?, finished_at=?, seconds=?, result=?, error=?, events=? "
            "WHERE id=? AND finished_at IS NULL",
            *(outcome.status, now(), outcome.seconds, result, problem, json.dumps(outcome.events), job_id),
        )

    def note_interrupted(self, problem: ServiceError) -> int:
        """Work that a server which died had accepted; called before any is accepted here."""
        return self._write(
            "UPDATE jobs SET status=?, finished_at=?, error=? WHERE finished_at IS NULL",
            *(INTERRUPTED, now(), json.dumps(problem.document())),
        )

    def forget_ended_before(self, moment: datetime) -> list[JobRow]:
        """Remove the jobs that ended longest ago; returns what is gone."""
        oldest = "SELECT id FROM jobs WHERE finished_at < ? AND NOT pinned ORDER BY finished_at LIMIT ?"
        text = moment.astimezone(timezone.utc).isoformat(timespec="milliseconds")
        statement = f"DELETE FROM jobs WHERE id IN ({oldest}) RETURNING *"  # noqa: S608 - no value is put in
        return self._rows(statement, text, FORGOTTEN_AT_ONCE)

    def pin(self, job_id: str, *, pinned: bool) -> None:
        """A pinned job is not forgotten with age."""
        self._write("UPDATE jobs SET pinned=? WHERE id=?", int(pinned), job_id)

    def delete(self, job_id: str) -> None:
        self._write("DELETE FROM jobs WHERE id=?", job_id)

    def mentions(self, owner: str, file_name: str) -> bool:
        """Whether any job of this owner asked about a stored file of this name."""
        return bool(self._rows("SELECT * FROM jobs WHERE owner=? AND instr(request, ?) LIMIT 1", owner, file_name))

    def find(self, job_id: str, owner: str | None) -> JobRow | None:
        """A job by its whole id, if it is this owner's; an ``owner`` of None means any owner."""
        found = self._rows("SELECT * FROM jobs WHERE id=? AND owner=COALESCE(?, owner)", job_id, owner)
        return found[0] if found else None

    def latest(
        self,
        owner: str,
        kinds: tuple[str, ...],
        limit: int,
        before: str | None = None,
        *,
        words: str | None = None,
        pinned: bool | None = None,
    ) -> list[JobRow]:
        """The owner's newest jobs, or those before a given one; ``words`` are looked for in questions and names."""
        marks = ", ".join("?" * len(kinds))
        return self._rows(
            f"SELECT * FROM jobs WHERE owner=? AND kind IN ({marks}) AND number < "  # noqa: S608 - question marks
            "COALESCE((SELECT number FROM jobs WHERE id=? AND owner=?), 9223372036854775807) "
            f"AND (? IS NULL OR {_HOLDS_WORDS}) AND pinned=COALESCE(?, pinned) ORDER BY number DESC LIMIT ?",
            *(owner, *kinds, before, owner, words, words, words, pinned, limit),
        )


def _claimed(file: Path) -> sqlite3.Connection:
    """A lock that ends with the process, on every system."""
    make_private(file)
    connection = sqlite3.connect(file, timeout=0.2, check_same_thread=False, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        connection.close()
        raise ConfigError(
            f"Another server uses {str(file.parent)!r}.", hint="Stop it, or set AGENTICIQA_HOME to another folder."
        ) from None
    return connection


def _row(row: sqlite3.Row) -> JobRow:
    values = dict(row)
    del values["number"], values["idempotency_key"]
    documents = {name: json.loads(values[name]) for name in ("request", "result", "error", "events") if values[name]}
    return JobRow(**{**values, "events": [], **documents, "pinned": bool(row["pinned"])})
