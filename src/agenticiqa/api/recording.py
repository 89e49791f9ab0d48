"""What is kept of runs in the home. Whatever cannot be kept costs itself, with a warning, and never the answer."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agenticiqa.errors import AgenticIQAError, HomeFullError, RunNotFoundError
from agenticiqa.runtime.runs import RunStore, record_failure

if TYPE_CHECKING:
    from agenticiqa.api.checkpoints import Checkpoints

logger = logging.getLogger(__name__)


class Recorder:
    """The record of runs, and where interrupted ones continue."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._store: RunStore | None = None
        self.full: HomeFullError | None = None
        """Set once something could not be kept because there was no room for it."""
        try:
            self._store = RunStore(database)
        except AgenticIQAError as error:
            self._note("Runs are not recorded", error)

    @property
    def store(self) -> RunStore:
        if self._store is None:
            raise self.full or RunNotFoundError(
                "Runs are not recorded.", hint=f"{str(self._database)!r} cannot be used; the log says why."
            )
        return self._store

    def begin(self, run_id: str, request: Mapping[str, Any]) -> None:
        self._keep(lambda store: store.begin(run_id, request))

    def begin_again(self, run_id: str) -> None:
        self._keep(lambda store: store.begin_again(run_id))

    def finish(self, run_id: str, result: Mapping[str, Any]) -> None:
        """Keep the result; the run need not be continued any more."""
        self._keep(lambda store: store.finish(run_id, result))
        if self.checkpoints:
            self.checkpoints.delete_thread(run_id)

    def stop(self, run_id: str, status: str) -> None:
        self._keep(lambda store: store.stop(run_id, status))

    def forget(self, run_ids: Collection[str]) -> None:
        self._keep(lambda store: store.forget(run_ids))
        if self.checkpoints:
            for run_id in run_ids:
                self.checkpoints.delete_thread(run_id)

    # Made when first needed: LangGraph takes longer to import than everything else together.
    @cached_property
    def checkpoints(self) -> Checkpoints | None:
        if self._store is None:
            return None
        from agenticiqa.api.checkpoints import Checkpoints

        file = self._database.with_name(self._database.stem + ".checkpoints.sqlite")
        try:
            return Checkpoints(file, lambda error: self._note("The run cannot be resumed", record_failure(file, error)))
        except (OSError, sqlite3.Error) as error:
            self._note("Interrupted runs cannot be resumed", record_failure(file, error))
            return None

    def close(self) -> None:
        made = self.__dict__.get("checkpoints")
        if made is not None:
            made.conn.close()

    def _keep(self, write: Callable[[RunStore], None]) -> None:
        if self._store is None and self.full is None:
            return
        try:
            # A disk that was full when this began may have room by now.
            self._store = self._store or RunStore(self._database)
            write(self._store)
        except AgenticIQAError as error:
            self._note("The run is not recorded", error)

    def _note(self, what: str, error: AgenticIQAError) -> None:
        if isinstance(error, HomeFullError):
            self.full = self.full or error
        logger.warning("%s: %s", what, error)
