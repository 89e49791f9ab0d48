"""``agenticiqa assess``, ``compare`` and ``ask``, and how a run and its result look in a terminal."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from agenticiqa.cli import options, terminal
from agenticiqa.cli.options import finite
from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.score_interval import COVERED
from agenticiqa.state import MODEL_COLUMNS, ExecutorOutput, ModelAnswer, View
from agenticiqa.vocabulary import (
    DEFAULT_QUERY,
    LETTER_LEVELS,
    LEVEL_NAMES,
    damage_in_words,
    part_in_words,
    severity_in_words,
)

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA
    from agenticiqa.embedded.question import Meaning, OptionMeaning

_NEXT = {"planner": "Executor: collecting evidence", "executor": "Summarizer: answering", "summarizer": "Finishing"}
_SEVERITY_STYLE = {"none": "green", "slight": "green", "moderate": "yellow", "severe": "red", "extreme": "bold red"}
_SIDE_STYLE = {"A": "blue", "B": "dark_orange", "tie": "dim"}


@contextmanager
def step_lines(*, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """A listener that prints one line on standard error for each step as it ends; None where all should be quiet."""
    if quiet:
        yield None
        return
    console, started = terminal.error_console(), time.perf_counter()
    with console.status("Planner: reading the question") as status:

        def show(event: PipelineEvent, prefix: str = "") -> None:
            if event.kind == "step":
                elapsed = time.perf_counter() - started
                line = escape(_describe_step(event.name, event.details))
                console.print(f"[dim]{elapsed:6.1f} s[/]  {prefix}{'  ' if prefix else ''}{line}", highlight=False)
            elif event.kind == "node":
                status.update(_NEXT.get(event.name, event.name))

        yield show


def _describe_step(name: str, details: Any) -> str:  # noqa: PLR0911 - one for each step
    if name == "plan":
        plan = details["plan"]
        scope = [plan["query_scope"]] if isinstance(plan["query_scope"], str) else plan["query_scope"]
        about = "quality" if plan["query_type"] == "IQA" else "something else"
        reference = "with a reference" if plan["reference_mode"] == "Full-Reference" else "no reference"
        steps = ", ".join(step.replace("_", " ") for step, on in plan["plan"].items() if on)
        parts = ", ".join(map(part_in_words, scope))
        return f"planned     about {about}: {parts}, {reference}; steps: {steps or 'none'}"
    if name == "views":
        views = [View.model_validate(each) for each in details["views"]]
        return f"looked      closer at {len(views)} places: {'; '.join(view.place_text for view in views)}"
    if name == "detection":
        found = "; ".join(
            f"{part_in_words(part)}: {', '.join(map(damage_in_words, kinds)) or 'nothing'}"
            for part, kinds in details["distortions"].items()
        )
        return f"detected    {found or 'nothing'}"
    if name == "analysis":
        entries = [(part, entry) for part, entries in details["analysis"].items() for entry in entries]
        listed = ", ".join(f"{_finding(it['severity'], it['type'])} ({part_in_words(part)})" for part, it in entries)
        return f"analysed    {listed or 'nothing to analyse'}"
    if name == "selection":
        chosen = [pair for by in (details["tools"] or {}).values() for pair in by.items()]
        listed = ", ".join(f"{damage_in_words(kind)} → {tool}" for kind, tool in chosen)
        return f"selected    {listed or 'no tool'}"
    if name == "tools":
        scores = [(log["tool"], log["calibrated_score"]) for log in details["logs"]]
        listed = ", ".join(f"{tool} {'failed' if score is None else f'{score:.2f}'}" for tool, score in scores)
        return f"measured    {listed or 'nothing'}"
    result = details["result"]
    again = f"; planning again: {result['replan_reason']}" if result["need_replan"] else ""
    return f"answered    {result['final_answer']}{again}"


def _finding(severity: str, kind: str) -> str:
    """ "severe blur"; "no blur" where it was looked for and not found."""
    return f"no {damage_in_words(kind)}" if severity == "none" else severity_in_words(severity, kind)


def print_assessment(console: Console, result: Assessment) -> None:
    """Answer, score, reasons and the evidence table."""
    for turn in result.earlier:
        console.print(f"[dim]{escape(turn['query'])} {escape(turn['answer'])}[/]", highlight=False)
    console.print(Panel(_headline(result), title="Answer", title_align="left", expand=False))
    if rest := result.reasoning.removeprefix(f"{result.answer}.").strip():
        console.print(escape(rest), highlight=False)
    print_models(console, result.models)
    # An answer that is advice says it already; a question about colours or the file did not ask for any.
    about_quality = result.plan is None or result.plan.query_type == "IQA"
    if result.advice and about_quality and result.advice[0].do != result.answer and not result.earlier:
        console.print(f"[bold]What to do first:[/] {escape(result.advice[0].do)}", highlight=False)
    evidence, notes = result.executor_evidence, [result.error] if result.error else []
    if evidence:
        rows = list(_evidence_rows(evidence))
        if rows:
            terminal.print_table(
                ("Part", "Damage", "Severity", "Tool", "Raw", "1..5"), rows, console=console, title="Evidence"
            )
        for name, entries in (evidence.distortion_analysis or {}).items():
            for entry in entries:
                line = f"{damage_in_words(entry.type).capitalize()} ({part_in_words(name)}): {entry.explanation}"
                console.print(f"[dim]•[/] {escape(line)}", highlight=False)
        for view in evidence.views:
            console.print(f"[dim]•[/] {escape(f'Looked closer at {view.place_text}: {view.reason}.')}", highlight=False)
        notes += [*evidence.errors, *(log.note for log in evidence.tool_logs if log.note)]
    used = (result.summarizer_result and result.summarizer_result.used_evidence) or {}
    told = json.dumps(evidence.model_dump(mode="json"), ensure_ascii=False) if evidence else ""
    for line in used.get("measured", []):
        if line.rstrip(".") not in told and not line.startswith("Measured: "):
            console.print(f"[dim]•[/] {escape(line)}", highlight=False)
    for note in dict.fromkeys([*notes, *used.get("evidence_gaps", []), *result.metadata.get("image_notes", [])]):
        console.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)
    console.print(f"[dim]{escape(_footer(result))}[/]", highlight=False)


def print_models(console: Console, models: Sequence[ModelAnswer], title: str = "Models") -> None:
    """What each of several models answered, and how much it counts."""
    rows = [[escape(cell) for cell in each.cells()] for each in models]
    if rows:
        terminal.print_table(MODEL_COLUMNS, rows, console=console, title=title)


def _headline(result: Assessment) -> str:
    answer = result.answer
    text = f"[bold]{escape(answer)}[/]"
    if result.conflict:
        return f"{text} ({LEVEL_NAMES[LETTER_LEVELS[answer]]}) says the model; {escape(result.score_text)}"
    if result.score is not None and answer in LETTER_LEVELS:
        text = f"[bold]{escape(result.asked_scale)}[/], that is {text}" if result.asked_scale else text
        text = f"{text} ({LEVEL_NAMES[LETTER_LEVELS[answer]]}), score [bold]{result.score:.2f}[/] of 5"
        # Older records have no interval.
        low, high = result.score_interval or (None, None)
        return text if low is None else f"{text} ({COVERED * 100:.0f} % interval {low:.1f} to {high:.1f})"
    choices = ((result.summarizer_result and result.summarizer_result.used_evidence) or {}).get("options", {})
    return f"{text}. {escape(choices[answer])}" if answer in choices else text


def _evidence_rows(evidence: ExecutorOutput) -> Iterator[list[str]]:
    """What was analysed, with its score; then scores of what was not."""
    scores = evidence.quality_scores or {}
    raw = {(log.object, log.tool): log.raw_score for log in evidence.tool_logs}
    rows = [
        (name, entry.type, f"[{_SEVERITY_STYLE[entry.severity]}]{entry.severity}[/]")
        for name, entries in (evidence.distortion_analysis or {}).items()
        for entry in entries
    ]
    known = {(name, kind) for name, kind, _ in rows}
    rows += [(name, kind, "") for name, by_kind in scores.items() for kind in by_kind if (name, kind) not in known]
    for name, kind, severity in rows:
        tool, score = scores.get(name, {}).get(kind, ("", None))
        measured = raw.get((name, tool))
        yield [
            escape(part_in_words(name)),
            escape(damage_in_words(kind)),
            severity,
            escape(tool),
            "" if measured is None else f"{measured:.4g}",
            "" if score is None else f"{score:.2f}",
        ]


def _footer(result: Assessment) -> str:
    meta = result.metadata
    backends = "/".join(dict.fromkeys(str(name) for name in meta["backend"].values()))
    cost = "cost unknown" if meta["cost_usd"] is None else f"${meta['cost_usd']:.4f}"
    # How the run differed from the usual one; results of earlier versions do not say.
    way = f"without {', '.join(meta['without'])}; " if meta.get("without") else ""
    way = "the model alone; " if meta.get("mode") == "direct" else way
    return (
        f"{result.status}; run {meta['run_id']}; {way}{backends}; {meta['calls']} calls, {cost}; "
        f"{meta['replans']} replans; {meta['timings'].get('total', 0):.1f} s"
    )


# --- what commands that assess share ---


@contextmanager
def assessing(
    backend: str | None,
    config: Path | None,
    *,
    quiet: bool,
    no_cache: bool = False,
    memory: str | None = None,
    profile: str | None = None,
    backends: str | None = None,
) -> Iterator[AgenticIQA]:
    """An assessor; its warnings reach the terminal unless quiet, and Ctrl-C ends the command with how to continue."""
    from agenticiqa.api.assessor import AgenticIQA, RunInterrupted

    overrides = {"pipeline.cache.enabled": False if no_cache else None, "pipeline.memory": memory, "backends": backends}
    with AgenticIQA(backend, config_dir=config, overrides=overrides, profile=profile) as assessor:
        if not quiet:
            terminal.show_warnings(assessor.settings.secrets)
        try:
            yield assessor
        except RunInterrupted as stopped:
            resumed = f"`agenticiqa runs resume {stopped.run_id}` continues the run."
            terminal.print_message(f"Interrupted after {stopped.calls} calls. {resumed}")
            raise typer.Exit(terminal.ExitCode.INTERRUPTED) from None


def unless_full(code: int, assessor: AgenticIQA) -> int:
    """The exit code; where all went well but for the home, which has no room, that is the end of the command."""
    if code == terminal.ExitCode.OK and assessor.home_full is not None:
        raise assessor.home_full
    return code


def show(result: Assessment, *, json_output: bool, quiet: bool = False) -> None:
    if json_output:
        terminal.print_json(result.model_dump(mode="json"))
    elif result.status == "error":
        terminal.print_error(result.error or "The run failed.")
    elif not quiet:
        print_assessment(terminal.output_console(), result)
    elif result.conflict:
        low, high = result.conflict.interval
        typer.echo(f"{result.answer} {low:.2f} to {high:.2f} (conflict)")
    else:
        typer.echo(result.answer if result.score is None else f"{result.answer} {result.score:.2f}")


def exit_code(result: Assessment, fail_under: float | None = None) -> int:
    if result.status == "error":
        return terminal.ExitCode.ERROR
    if fail_under is None:
        return terminal.ExitCode.OK
    if result.gate_score is None:
        terminal.print_message("--fail-under: this question has no score. Ask for a rating.")
        return terminal.ExitCode.ERROR
    return terminal.ExitCode.BELOW_THRESHOLD if result.gate_score < fail_under else terminal.ExitCode.OK


def assess(
    image: Annotated[
        str | None,
        typer.Argument(
            help="The picture to judge: a file, an address (https://, s3://, …), or - for standard input. "
            "With --after, the question instead: assess --after last 'why?'."
        ),
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            "-q",
            help="The question. Options may be part of it: 'Which? A. Blur B. Noise'.",
            show_default=DEFAULT_QUERY,
        ),
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            help="Ask on from a recorded run (its id, the beginning of it, or 'last'): its picture, reference, regions "
            "and backend are taken where none are given, and what was asked before is known."
        ),
    ] = None,
    reference: options.ReferenceOption = None,
    align: options.AlignOption = "none",
    option: options.AnswersOption = None,
    region: options.RegionsOption = None,
    backend: options.BackendOption = None,
    backends: options.BackendsOption = None,
    max_replan: options.MaxReplanOption = None,
    mode: options.ModeOption = None,
    without: options.WithoutOption = None,
    views: options.ViewsOption = None,
    profile: options.ProfileOption = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            callback=finite,
            min=1,
            max=5,
            help="Exit with code 3 when the score is below this; in a conflict the lower reading counts.",
        ),
    ] = None,
    json_output: options.JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print the answer only.")] = False,
    report: options.ReportOption = None,
    maps: options.MapsOption = None,
    overwrite: options.OverwriteOption = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Answer a question about a picture: rate it, explain it, choose an option."""
    from agenticiqa.batch.remote_pictures import picture_at
    from agenticiqa.pictures.formats import STANDARD_INPUT
    from agenticiqa.pictures.regions import parse_region

    options.choose_one(json=json_output, quiet=quiet)
    if option is not None and len(option) < 2:
        raise typer.BadParameter("one --option leaves no choice: give at least two.")
    left_out = options.parts_left_out(without)
    if after is not None and query is None:
        image, query = None, image
    if (image if after is None else query) is None:
        what, example = ("picture", "photo.jpg") if after is None else ("question", "--after last 'why?'")
        raise typer.BadParameter(f"there is no {what}: agenticiqa assess {example}")
    inputs = [image, reference]
    options.check_outputs(report, inputs=inputs, overwrite=overwrite)
    silent = quiet or json_output
    with assessing(
        backend, config, quiet=quiet, no_cache=no_cache, memory=memory, profile=profile, backends=backends
    ) as assessor:
        boxes = [parse_region(text) for text in region or []]
        regions = {name: box.as_list() for name, box in boxes}
        if len(regions) < len(boxes):
            raise typer.BadParameter("two --region options have the same name.")
        with step_lines(quiet=silent) as listener:
            given = sys.stdin.buffer.read() if image == STANDARD_INPUT else picture_at(image) if image else None
            again = partial(assessor.follow_up, after or "", image=given)
            ask = again if after is not None else partial(assessor.assess, given or b"")
            result = ask(
                query=query or DEFAULT_QUERY,
                reference=reference,
                options=option,
                regions=regions or None,
                max_replan_iterations=max_replan,
                align=align,
                mode=mode,
                without=left_out,
                views=views,
                on_event=listener,
            )
        # Shown first: an answer is not lost because a file cannot be written.
        show(result, json_output=json_output, quiet=quiet)
        if maps is not None:
            from agenticiqa.reports.scale import write_maps
            from agenticiqa.tools.maps import MapFolder

            folder = MapFolder(maps, inputs=inputs, overwrite=overwrite)
            written = write_maps(result, assessor.tools, folder, assessor.limits)
            if not silent:
                made = f"{len(written)} in {maps}" if written else "none of the tools that ran has one"
                terminal.print_message(f"Maps: {made}")
        if report is not None:
            from agenticiqa.reports.assessment import report_item, write_report

            write_report(report, [report_item(result, assessor.limits)])
            if not silent:
                terminal.print_message(f"Report: {report}")
    raise typer.Exit(unless_full(exit_code(result, fail_under), assessor))


def print_comparison(console: Console, found: Comparison) -> None:
    """Verdict, reasons and the tools side by side."""
    console.print(Panel(f"[bold]{escape(found.verdict)}[/]", title="Verdict", title_align="left", expand=False))
    for reason in found.reasons:
        console.print(f"[dim]•[/] {escape(reason)}", highlight=False)
    rows = []
    for row in found.tools:
        better = f"[{_SIDE_STYLE[row.better]}]{row.better}[/]" if row.better else ""
        cells = [_cell(row.raw_a, row.calibrated_a), _cell(row.raw_b, row.calibrated_b), better]
        rows.append([row.tool, *(["", "", escape(row.error)] if row.error else cells)])
    if rows:
        a, b = (escape(Path(name).name) for name in (found.image_a, found.image_b))
        columns, caption = ("Tool", f"A  {a}", f"B  {b}", "Better"), "raw value (on the 1..5 scale)"
        terminal.print_table(columns, rows, console=console, title="Measured on both", caption=caption)
    for side, result in (("A", found.a), ("B", found.b)):
        print_models(console, result.models if result else [], f"Models on {side}")
    for note in found.notes:
        console.print(f"[yellow]Note:[/] {escape(note)}", highlight=False)


def _cell(raw: float | None, points: float | None) -> str:
    return "" if raw is None or points is None else f"{raw:.4g}  ({points:.2f})"


def compare(
    a: Annotated[Path, typer.Argument(help="One picture.", metavar="A")],
    b: Annotated[Path, typer.Argument(help="The other picture.", metavar="B")],
    reference: Annotated[Path | None, typer.Option("--reference", "-r", help="How both should look.")] = None,
    query: Annotated[
        str, typer.Option("--query", "-q", help="What to compare by, such as 'Which is sharper?'; else quality.")
    ] = DEFAULT_QUERY,
    backend: options.BackendOption = None,
    backends: options.BackendsOption = None,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", help="Write where they differ as a PNG: blue where A is better, orange where B."),
    ] = None,
    report: options.ReportOption = None,
    overwrite: options.OverwriteOption = False,
    expect: Annotated[
        Literal["A", "B"] | None,
        typer.Option(help="Exit with code 3 unless this one is better.", case_sensitive=False, metavar="A|B"),
    ] = None,
    json_output: options.JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print A, B or tie only.")] = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Say which of two pictures is better, how sure that is, where they differ, and why."""
    from agenticiqa.api.comparison import compare_pictures
    from agenticiqa.reports.comparison import write_difference, write_page

    options.choose_one(json=json_output, quiet=quiet)
    options.check_outputs(map_file, report, inputs=[a, b, reference], overwrite=overwrite)
    silent = quiet or json_output
    with (
        assessing(backend, config, quiet=silent, no_cache=no_cache, memory=memory, backends=backends) as assessor,
        step_lines(quiet=silent) as listener,
    ):
        on_event = None if listener is None else lambda side, event: listener(event, prefix=side)
        found = compare_pictures(assessor, a, b, reference=reference, query=query, on_event=on_event)
    if json_output:
        terminal.print_json(found.model_dump(mode="json"))
    elif found.status == "error":
        terminal.print_error(found.error or "The comparison failed.")
    elif quiet:
        typer.echo(found.winner)
    else:
        print_comparison(terminal.output_console(), found)
    if found.status == "error":
        raise typer.Exit(terminal.ExitCode.ERROR)
    if map_file is not None:
        if not write_difference(found, map_file, assessor.limits):
            # Printed even if quiet: the file was asked for.
            terminal.print_message(f"No map can be made of these pictures; {map_file} was not written.")
        elif not silent:
            terminal.print_message(f"Map: {map_file}")
    if report is not None:
        write_page(found, report, assessor.limits)
        if not silent:
            terminal.print_message(f"Report: {report}")
    code = terminal.ExitCode.OK if expect in (None, found.winner) else terminal.ExitCode.BELOW_THRESHOLD
    raise typer.Exit(unless_full(code, assessor))


# --- ``agenticiqa ask``: what a question means to the embedded backend, without a picture ---


app = typer.Typer(help="See how a question is understood.", no_args_is_help=True)


@app.callback()
def ask() -> None:
    """A group, though it holds one command so far."""


@app.command("explain")
def explain(
    question: Annotated[str, typer.Argument(help="The question; options may stand in it.")],
    option: options.AnswersOption = None,
    json_output: options.JsonOption = False,
) -> None:
    """Print what a question means: property, part, form, and what each option claims. No picture is needed."""
    from agenticiqa.embedded.question import understand

    meaning = understand(question, option).meaning
    lines = (f"{name:<11} {text}" for name, text in _lines(meaning))
    terminal.print_result(meaning.as_dict(), *lines, as_json=json_output)


def _lines(meaning: Meaning) -> list[tuple[str, str]]:
    from agenticiqa.embedded.properties import properties

    known, sure = meaning.known(), {name: f" ({chance:.0%})" for name, chance in meaning.chances.items()}
    asked = f"{known.title}{sure.get('property', '')}. {known.sentence}" if known else "none: not about how it looks"
    lines = [("Question", meaning.text), ("Property", asked)]
    if meaning.next_property and meaning.is_unsure:
        lines.append(("Or rather", properties()[meaning.next_property].title))
    lines.append(("Part", ", ".join(part.name for part in meaning.parts) or "the whole picture"))
    lines.append(("Form", f"{meaning.form.replace('_', ' ')}{sure.get('form', '')}"))
    if known and meaning.end:
        lines.append(("Wording", f"{known.word(meaning.end)}{sure.get('direction', '')}"))
    if known:
        lines.append(("Answered by", ", ".join(f"{kind}: {name}" for kind, name in known.reading.items())))
    return lines + [(f"Option {each.letter}", f"{each.text!r}: {_option(each)}") for each in meaning.options]


def _option(option: OptionMeaning) -> str:
    from agenticiqa.embedded.properties import properties

    if option.property and option.amount is not None:
        return f"{option.amount:.0%} {properties()[option.property].title}"
    return (option.claim or "nothing known").replace("_", " ")
