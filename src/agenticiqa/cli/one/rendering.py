"""How a run and its result look in a terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.status import Status
from rich.table import Table

from agenticiqa.nodes.results import Assessment
from agenticiqa.nodes.run_state import PipelineEvent
from agenticiqa.score_interval import COVERED
from agenticiqa.state import ExecutorOutput
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES, damage_in_words, part_in_words, severity_in_words

_NEXT = {"planner": "Executor: collecting evidence", "executor": "Summarizer: answering", "summarizer": "Finishing"}
_SEVERITY_STYLE = {"none": "green", "slight": "green", "moderate": "yellow", "severe": "red", "extreme": "bold red"}


class StepLines:
    """One line for each step as it ends, and a spinner for the one under way."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("Planner: reading the question", console=console)
        self._started = time.perf_counter()

    def __enter__(self) -> StepLines:
        self._status.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _tb: TracebackType | None
    ) -> None:
        self._status.stop()

    def show(self, event: PipelineEvent, prefix: str = "") -> None:
        if event.kind == "step":
            elapsed = time.perf_counter() - self._started
            line = escape(_describe_step(event.name, event.details))
            self._console.print(f"[dim]{elapsed:6.1f} s[/]  {prefix}{'  ' if prefix else ''}{line}", highlight=False)
        elif event.kind == "node":
            self._status.update(_NEXT.get(event.name, event.name))


def _describe_step(name: str, details: Any) -> str:
    if name == "plan":
        return _describe_plan(details["plan"])
    if name == "detection":
        found = "; ".join(
            f"{part_in_words(part)}: {', '.join(map(damage_in_words, kinds)) or 'nothing'}"
            for part, kinds in details["distortions"].items()
        )
        return f"detected    {found or 'nothing'}"
    if name == "analysis":
        parts = [
            f"{_finding(entry['severity'], entry['type'])} ({part_in_words(part)})"
            for part, entries in details["analysis"].items()
            for entry in entries
        ]
        return f"analysed    {', '.join(parts) or 'nothing to analyse'}"
    if name == "selection":
        chosen = [pair for by in (details["tools"] or {}).values() for pair in by.items()]
        parts = [f"{damage_in_words(kind)} → {tool}" for kind, tool in chosen]
        return f"selected    {', '.join(parts) or 'no tool'}"
    if name == "tools":
        parts = [f"{log['tool']} {_score(log['calibrated_score'])}" for log in details["logs"]]
        return f"measured    {', '.join(parts) or 'nothing'}"
    result = details["result"]
    again = f"; planning again: {result['replan_reason']}" if result["need_replan"] else ""
    return f"answered    {result['final_answer']}{again}"


def _describe_plan(plan: Any) -> str:
    scope = [plan["query_scope"]] if isinstance(plan["query_scope"], str) else plan["query_scope"]
    about = "quality" if plan["query_type"] == "IQA" else "something else"
    parts = ", ".join(map(part_in_words, scope))
    steps = [name.replace("_", " ") for name, on in plan["plan"].items() if on]
    reference = "with a reference" if plan["reference_mode"] == "Full-Reference" else "no reference"
    return f"planned     about {about}: {parts}, {reference}; steps: {', '.join(steps) or 'none'}"


def _finding(severity: str, kind: str) -> str:
    """ "severe blur"; "no blur" where it was looked for and not found."""
    return f"no {damage_in_words(kind)}" if severity == "none" else severity_in_words(severity, kind)


def _score(value: float | None) -> str:
    return "failed" if value is None else f"{value:.2f}"


def print_assessment(console: Console, result: Assessment) -> None:
    """Answer, score, reasons and the evidence table."""
    console.print(Panel(_headline(result), title="Answer", title_align="left", expand=False))
    console.print(escape(result.reasoning), highlight=False)
    # An answer that is advice says it already; a question about colours or the file did not ask for any.
    about_quality = result.plan is None or result.plan.query_type == "IQA"
    if result.advice and about_quality and result.advice[0].do != result.answer:
        console.print(f"[bold]What to do first:[/] {escape(result.advice[0].do)}", highlight=False)
    if result.executor_evidence:
        print_evidence(console, result.executor_evidence)
    for note in _notes(result):
        console.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)
    console.print(f"[dim]{escape(_footer(result))}[/]", highlight=False)


def print_evidence(console: Console, evidence: ExecutorOutput) -> None:
    if evidence.distortion_analysis or evidence.tool_logs:
        console.print(_evidence_table(evidence))
        for line in _explanations(evidence):
            console.print(f"[dim]•[/] {escape(line)}", highlight=False)


def _headline(result: Assessment) -> str:
    answer = result.answer
    text = f"[bold]{escape(answer)}[/]"
    if result.conflict:
        return f"{text} ({LEVEL_NAMES[LETTER_LEVELS[answer]]}) says the model; {escape(result.score_text)}"
    if result.score is not None and answer in LETTER_LEVELS:
        asked = result.asked_scale
        text = f"[bold]{escape(asked)}[/], that is {text}" if asked else text
        score = f"score [bold]{result.score:.2f}[/] of 5{_interval(result.score_interval)}"
        return f"{text} ({LEVEL_NAMES[LETTER_LEVELS[answer]]}), {score}"
    options = ((result.summarizer_result.used_evidence if result.summarizer_result else None) or {}).get("options", {})
    return f"{text}. {escape(options[answer])}" if answer in options else text


def _interval(found: tuple[float, float] | None) -> str:
    """Older records have none."""
    return "" if found is None else f" ({COVERED * 100:.0f} % interval {found[0]:.1f} to {found[1]:.1f})"


def _evidence_table(evidence: ExecutorOutput) -> Table:
    table = Table(title="Evidence", title_justify="left")
    for column in ("Part", "Damage", "Severity", "Tool", "Raw", "1..5"):
        table.add_column(column, overflow="fold")
    scores = evidence.quality_scores or {}
    raw = {(log.object, log.tool): log.raw_score for log in evidence.tool_logs}
    shown: set[tuple[str, str]] = set()
    for name, entries in (evidence.distortion_analysis or {}).items():
        for entry in entries:
            tool, score = scores.get(name, {}).get(entry.type, ("", None))
            shown.add((name, entry.type))
            severity = f"[{_SEVERITY_STYLE[entry.severity]}]{entry.severity}[/]"
            table.add_row(*_row(name, entry.type, severity, tool, raw.get((name, tool)), score))
    for name, by_kind in scores.items():
        for kind, (tool, score) in by_kind.items():
            if (name, kind) not in shown:
                table.add_row(*_row(name, kind, "", tool, raw.get((name, tool)), score))
    return table


def _row(name: str, kind: str, severity: str, tool: str, raw: float | None, score: float | None) -> list[str]:
    words = escape(part_in_words(name)), escape(damage_in_words(kind))
    return [*words, severity, escape(tool), _raw(raw), "" if score is None else f"{score:.2f}"]


def _explanations(evidence: ExecutorOutput) -> list[str]:
    return [
        f"{damage_in_words(entry.type).capitalize()} ({part_in_words(name)}): {entry.explanation}"
        for name, entries in (evidence.distortion_analysis or {}).items()
        for entry in entries
    ]


def _raw(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _notes(result: Assessment) -> list[str]:
    notes: list[str] = []
    if result.error:
        notes.append(result.error)
    evidence = result.executor_evidence
    if evidence:
        notes += evidence.errors
        notes += [log.note for log in evidence.tool_logs if log.note]
    summary = result.summarizer_result
    notes += (summary.used_evidence or {}).get("evidence_gaps", []) if summary else []
    notes += result.metadata.get("image_notes", [])
    return list(dict.fromkeys(notes))


def _footer(result: Assessment) -> str:
    meta = result.metadata
    backends = "/".join(dict.fromkeys(str(name) for name in meta["backend"].values()))
    cost = "cost unknown" if meta["cost_usd"] is None else f"${meta['cost_usd']:.4f}"
    return (
        f"{result.status}; run {meta['run_id']}; {_way(meta)}{backends}; {meta['calls']} calls, {cost}; "
        f"{meta['replans']} replans; {meta['timings'].get('total', 0):.1f} s"
    )


def _way(meta: Mapping[str, Any]) -> str:
    """How the run differed from the usual one; results of earlier versions do not say."""
    if meta.get("mode") == "direct":
        return "the model alone; "
    return f"without {', '.join(meta['without'])}; " if meta.get("without") else ""
