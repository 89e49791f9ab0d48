"""Many pictures from Python: :func:`run_batch`, and what it hands back."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from agenticiqa.api.arguments import in_thread
from agenticiqa.api.measure import dataframe
from agenticiqa.batch.manifest import Manifest, RowsManifest, open_manifest
from agenticiqa.batch.outputs import BatchOutput, flat_rows
from agenticiqa.batch.preparing import BatchRequest, default_workers, engine_factory, expected_cost, prepare_job
from agenticiqa.batch.rate_limits import RateLimits
from agenticiqa.batch.results import read_results
from agenticiqa.batch.runner import Batch, BatchSummary, ProgressListener
from agenticiqa.errors import ConfigError
from agenticiqa.pictures.inputs import Align
from agenticiqa.runtime.files import ScratchFolder
from agenticiqa.state import RunMode, ViewsMode, known_parts

PicturePath = str | PathLike[str]
Pictures = PicturePath | Iterable[PicturePath | Mapping[str, Any]]
"""A manifest, a folder, a pattern or a picture; or a list of paths and of rows with the columns of a manifest."""
PerMinute = float | Mapping[str, float]
"""For every provider, or by provider."""


def run_batch(  # noqa: PLR0913 - each says what it is
    pictures: Pictures,
    query: str | None = None,
    *,
    output: PicturePath | None = None,
    backend: str | None = None,
    backends: Sequence[str] | None = None,
    tools: Sequence[str] = (),
    align: Align = "none",
    max_replan_iterations: int | None = None,
    mode: RunMode | None = None,
    without: Collection[str] | None = None,
    views: ViewsMode | None = None,
    profile: str | None = None,
    workers: int | None = None,
    timeout_s: float = 600.0,
    resume: bool = True,
    overwrite: bool = False,
    requests_per_minute: PerMinute | None = None,
    tokens_per_minute: PerMinute | None = None,
    budget_usd: float | None = None,
    use_cache: bool = False,
    config_dir: PicturePath | None = None,
    on_progress: ProgressListener | None = None,
) -> BatchResults:
    """Assess many pictures, or with ``tools`` measure them. A picture that fails gets a result that says why.

    Args:
        pictures: A manifest, a folder, or an iterable of paths or of rows with ``image_path`` and other columns.
        query: The question of rows that bring none.
        output: A .jsonl or .csv file; by default results are in temporary files, which go with them.
        backend, backends, align, max_replan_iterations, mode, without, views, profile, config_dir: As for
            :class:`AgenticIQA`.
        tools: Names of tools to measure with, instead of asking the agents.
        workers: Processes, or threads where a remote model does the work; by default as many as fit.
        timeout_s: Seconds that one picture may take.
        resume: Keep the results in ``output`` that succeeded, and do the rest.
        overwrite: Do all of ``output`` anew.
        requests_per_minute, tokens_per_minute: Rate limits, one for all providers or by provider.
        budget_usd: Stop before this is exceeded.
        use_cache: Keep replies and scores in the home folder.
        on_progress: Called with the counts so far.
    Returns:
        The results in the order of the pictures.
    Raises:
        ManifestError, ConfigError, BackendError, ToolUnavailableError, OutputError: Before anything is spent, when a
            row, a setting, a backend, a tool or the output cannot be used.
    """
    if isinstance(tools, str):
        raise ConfigError(f"tools={tools!r} is one text.", hint=f"Write tools=[{tools!r}].")
    of_agents = (backend, backends, query, max_replan_iterations, mode, without, views)
    if tools and any(given is not None for given in of_agents):
        raise ConfigError(
            "With tools no model is asked: backend, backends, query, max_replan_iterations, mode, without and views "
            "have no effect."
        )
    request = BatchRequest(
        backend=backend,
        backends=backends,
        config=Path(config_dir) if config_dir is not None else None,
        query=query,
        max_replan=max_replan_iterations,
        mode=mode,
        without=None if without is None else tuple(known_parts(without)),
        views=views,
        profile=profile,
        tools=tuple(tools),
        align=align,
        timeout_s=timeout_s,
        limits=RateLimits(_by_provider(requests_per_minute), _by_provider(tokens_per_minute)),
        use_cache=use_cache,
    )
    job = replace(prepare_job(request), no_trace=not use_cache)
    count = workers or default_workers(job)
    manifest: Manifest
    if isinstance(pictures, (str, PathLike)):
        manifest = open_manifest(fspath(pictures))
    else:
        rows = (each if isinstance(each, Mapping) else {"image_path": each} for each in pictures)
        manifest = RowsManifest(
            {key: fspath(value) if isinstance(value, PathLike) else value for key, value in row.items()} for row in rows
        )
        count = max(1, min(count, len(manifest)))
    temporary = None
    with closing(manifest), ExitStack() as undo:
        if output is None:
            temporary = ScratchFolder("batch")
            undo.callback(temporary.close)
            output = temporary.path / "results.jsonl"
        target = BatchOutput.named(Path(output))
        batch = Batch(
            manifest=manifest,
            job=job,
            output=target.lines,
            table=target.table,
            make_engine=engine_factory(job, count),
            resume=resume and not overwrite,
            overwrite=overwrite,
            budget_usd=budget_usd,
            expected_cost_usd=expected_cost(job) if budget_usd is not None else 0.0,
            on_progress=on_progress or (lambda _: None),
        )
        with target.held(resume=resume, overwrite=overwrite):
            summary = batch.run()
        undo.pop_all()
    return BatchResults(target.lines, summary, temporary)


arun_batch = in_thread(run_batch)


class BatchResults:
    """The results of a batch in the order of its pictures, read from disk as they are needed.

    Each is a dictionary with the keys of docs/one-picture/result-format.md; ``status`` says whether it is an answer.
    """

    def __init__(self, lines: Path, summary: BatchSummary, temporary: ScratchFolder | None = None) -> None:
        self._lines = lines
        self._summary = summary
        if temporary is not None:
            weakref.finalize(self, temporary.close)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # A generator of its own: the lines' file goes with these results, which may be held by their iteration alone.
        for line in read_results(self._lines):
            yield line.record

    def __len__(self) -> int:
        return self._summary.total - self._summary.not_done

    def summary(self) -> BatchSummary:
        """Counts of results and failures by kind, ids of the failed, and the cost."""
        return self._summary

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dictionary per picture: answer, score, kind of error, cost, a column per tool; the rest as JSON."""
        return [dict(row) for row in flat_rows(self._lines)()]

    def to_dataframe(self) -> Any:
        """:meth:`to_rows` as a pandas DataFrame.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return dataframe(self.to_rows())

    def __str__(self) -> str:
        found = self._summary
        failed = f", {found.failed} failed ({', '.join(found.errors)})" if found.failed else ""
        not_done = f", {found.not_done} not done ({found.stopped})" if found.not_done else ""
        return f"{found.ok + found.partial} of {found.total} have a result{failed}{not_done}"

    def __repr__(self) -> str:
        return f"<BatchResults: {self}>"


def _by_provider(limit: PerMinute | None) -> dict[str, float]:
    if limit is None:
        return {}
    limits = dict(limit) if isinstance(limit, Mapping) else {"*": limit}
    for name, number in limits.items():
        if not 0 < number < float("inf"):
            raise ConfigError(f"{number!r} is no limit for {name}.", hint="Give a number above 0.")
    return limits
