"""Where interrupted runs continue: LangGraph's checkpoints in SQLite. One that cannot be kept ends no run."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.sqlite import SqliteSaver

from agenticiqa.graph import state_serializer
from agenticiqa.runtime.runs import open_database


class Checkpoints(SqliteSaver):
    """Tells ``on_trouble`` what could not be written, and lets the run go on."""

    def __init__(self, file: Path, on_trouble: Callable[[Exception], None]) -> None:
        super().__init__(open_database(file, check_same_thread=False), serde=state_serializer())
        self.setup()
        self._on_trouble = on_trouble

    @contextmanager
    def _best_effort(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            self._on_trouble(error)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        with self._best_effort():
            return super().put(config, checkpoint, metadata, new_versions)
        # What the next step refers to, as if it had been kept: it is not read during the run.
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with self._best_effort():
            super().put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        with self._best_effort():
            super().delete_thread(thread_id)
