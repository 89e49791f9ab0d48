"""``agenticiqa assess``, ``agenticiqa ask``, and how a run and its result look in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel

from agenticiqa.cli import options
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import (
    ExitCode,
    error_console,
    output_console,
    print_error,
    print_json,
    print_table,
    say,
    show_warnings,
)
from agenticiqa.nodes.results import Assessment
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.score_interval import COVERED
from agenticiqa.state import ExecutorOutput
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
    from agenticiqa.embedded.language.meaning.reader import Meaning, OptionMeaning
    from agenticiqa.pictures.inputs import PictureInput

_NEXT = {"planner": "Executor: collecting evidence", "executor": "Summarizer: answering", "summarizer": "Finishing"}
_SEVERITY_STYLE = {"none": "green", "slight": "green", "moderate": "yellow", "severe": "red", "extreme": "bold red"}


@contextmanager
def step_lines(*, quiet: bool) -> Iterator[Callable[..., None] | None]:
    """A listener that prints one line on standard error for each step as it ends; None where all should be quiet."""
    if quiet:
        yield None
        return
    console, started = error_console(), time.perf_counter()
    with console.status("Planner: reading the question") as status:

        def show(event: PipelineEvent, prefix: str = "") -> None:
            if event.kind == "step":
                elapsed = time.perf_counter() - started
                line = escape(_describe_step(event.name, event.details))
                console.print(f"[dim]{elapsed:6.1f} s[/]  {prefix}{'  ' if prefix else ''}{line}", highlight=False)
            elif event.kind == "node":
                status.update(_NEXT.get(event.name, event.name))

        yield show


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
    if not evidence.distortion_analysis and not evidence.tool_logs:
        return
    columns = ("Part", "Damage", "Severity", "Tool", "Raw", "1..5")
    print_table(columns, _evidence_rows(evidence), console=console, title="Evidence")
    for name, entries in (evidence.distortion_analysis or {}).items():
        for entry in entries:
            line = f"{damage_in_words(entry.type).capitalize()} ({part_in_words(name)}): {entry.explanation}"
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
    choices = ((result.summarizer_result.used_evidence if result.summarizer_result else None) or {}).get("options", {})
    return f"{text}. {escape(choices[answer])}" if answer in choices else text


def _interval(found: tuple[float, float] | None) -> str:
    """Older records have none."""
    return "" if found is None else f" ({COVERED * 100:.0f} % interval {found[0]:.1f} to {found[1]:.1f})"


def _evidence_rows(evidence: ExecutorOutput) -> Iterator[list[str]]:
    """What was analysed, with its score; then scores of what was not."""
    scores = evidence.quality_scores or {}
    raw = {(log.object, log.tool): log.raw_score for log in evidence.tool_logs}
    analysed = [
        (name, entry.type, f"[{_SEVERITY_STYLE[entry.severity]}]{entry.severity}[/]")
        for name, entries in (evidence.distortion_analysis or {}).items()
        for entry in entries
    ]
    known = {(name, kind) for name, kind, _ in analysed}
    others = [(name, kind, "") for name, by_kind in scores.items() for kind in by_kind if (name, kind) not in known]
    for name, kind, severity in [*analysed, *others]:
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


# --- what commands that assess share ---


@contextmanager
def assessing(
    backend: str | None,
    config: Path | None,
    *,
    quiet: bool,
    json_output: bool = False,
    no_cache: bool = False,
    memory: str | None = None,
    profile: str | None = None,
) -> Iterator[AgenticIQA]:
    """An assessor to work with; its warnings reach the terminal unless quiet.

    Ctrl-C ends the command with what is known by then and how to continue.
    """
    from agenticiqa.api.assessor import AgenticIQA, RunInterrupted

    overrides = {"pipeline.cache.enabled": False if no_cache else None, "pipeline.memory": memory}
    with AgenticIQA(backend, config_dir=config, overrides=overrides, profile=profile) as assessor:
        if not quiet:
            show_warnings(assessor.settings.secrets)
        try:
            yield assessor
        except RunInterrupted as stopped:
            known = stopped.known
            if json_output:
                print_json(known.model_dump(mode="json"))
            elif known.executor_evidence:
                print_evidence(output_console(), known.executor_evidence)
            run_id, calls = known.metadata["run_id"], known.metadata["calls"]
            say(f"Interrupted after {calls} calls. `agenticiqa runs resume {run_id}` continues the run.")
            raise typer.Exit(ExitCode.INTERRUPTED) from None


def unless_full(code: int, assessor: AgenticIQA) -> int:
    """The exit code; where all went well but for the home, which has no room, that is the end of the command."""
    if code == ExitCode.OK and assessor.home_full is not None:
        raise assessor.home_full
    return code


def show(result: Assessment, *, json_output: bool, quiet: bool = False) -> None:
    if json_output:
        print_json(result.model_dump(mode="json"))
    elif result.status == "error":
        print_error(result.error or "The run failed.")
    elif not quiet:
        print_assessment(output_console(), result)
    elif result.conflict:
        low, high = result.conflict.interval
        typer.echo(f"{result.answer} {low:.2f} to {high:.2f} (conflict)")
    else:
        typer.echo(result.answer if result.score is None else f"{result.answer} {result.score:.2f}")


def exit_code(result: Assessment, fail_under: float | None = None) -> int:
    if result.status == "error":
        return ExitCode.ERROR
    if fail_under is None:
        return ExitCode.OK
    if result.gate_score is None:
        say("--fail-under: this question has no score. Ask for a rating.")
        return ExitCode.ERROR
    return ExitCode.BELOW_THRESHOLD if result.gate_score < fail_under else ExitCode.OK


# --- ``agenticiqa assess``: one question about one picture ---


ImageArgument = Annotated[
    str,
    typer.Argument(
        help="The picture to judge: a file, an address (https://, s3://, …), or - for standard input.",
        show_default=False,
    ),
]
QueryOption = Annotated[
    str, typer.Option("--query", "-q", help="The question. Options may be part of it: 'Which? A. Blur B. Noise'.")
]
FailUnderOption = Annotated[
    float | None,
    typer.Option(
        "--fail-under",
        callback=finite,
        min=1,
        max=5,
        help="Exit with code 3 when the score is below this; in a conflict the lower reading counts.",
    ),
]


def assess(
    image: ImageArgument,
    query: QueryOption = DEFAULT_QUERY,
    reference: options.ReferenceOption = None,
    align: options.AlignOption = "none",
    option: options.AnswersOption = None,
    region: options.RegionsOption = None,
    backend: options.BackendOption = None,
    max_replan: options.MaxReplanOption = None,
    mode: options.ModeOption = None,
    without: options.WithoutOption = None,
    profile: options.ProfileOption = None,
    fail_under: FailUnderOption = None,
    json_output: options.JsonOption = False,
    quiet: options.QuietOption = False,
    report: options.ReportOption = None,
    maps: options.MapsOption = None,
    overwrite: options.OverwriteOption = False,
    no_cache: options.NoCacheOption = False,
    memory: options.MemoryOption = None,
    config: options.ConfigOption = None,
) -> None:
    """Answer a question about a picture: rate it, explain it, choose an option."""
    from agenticiqa.pictures.regions import parse_region

    options.choose_one(json=json_output, quiet=quiet)
    if option is not None and len(option) < 2:
        raise typer.BadParameter("one --option leaves no choice: give at least two.")
    scaling, chosen, left_out = options.chosen_align(align), options.chosen_mode(mode), options.parts_left_out(without)
    inputs = [image, reference]
    options.check_outputs(report, inputs=inputs, overwrite=overwrite)
    silent = quiet or json_output
    with assessing(
        backend, config, quiet=quiet, json_output=json_output, no_cache=no_cache, memory=memory, profile=profile
    ) as assessor:
        boxes = [parse_region(text) for text in region or []]
        regions = {name: box.as_list() for name, box in boxes}
        if len(regions) < len(boxes):
            raise typer.BadParameter("two --region options have the same name.")
        with step_lines(quiet=silent) as listener:
            result = assessor.assess(
                _picture(image),
                query,
                reference=reference,
                options=option,
                regions=regions or None,
                max_replan_iterations=max_replan,
                align=scaling,
                mode=chosen,
                without=left_out,
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
                say(f"Maps: {len(written)} in {maps}" if written else "Maps: none of the tools that ran has one")
        if report is not None:
            from agenticiqa.reports.assessment import report_item, write_report

            write_report(report, [report_item(result, assessor.limits)])
            if not silent:
                say(f"Report: {report}")
    raise typer.Exit(unless_full(exit_code(result, fail_under), assessor))


def _picture(image: str) -> PictureInput:
    """What the argument names; an address is fetched within the limits that batches have."""
    from agenticiqa.batch.remote_pictures import picture_at
    from agenticiqa.pictures.formats import STANDARD_INPUT

    if image == STANDARD_INPUT:
        return sys.stdin.buffer.read()
    return picture_at(image)


# --- ``agenticiqa ask``: what a question means to the embedded backend, without a picture ---


app = typer.Typer(help="See how a question is understood.", no_args_is_help=True)

_FORMS = {"yes_no": "yes or no", "open": "in words", "which": "which", "where": "where", "compare": "compare parts"}


@app.callback()
def ask() -> None:
    """A group, though it holds one command so far."""


@app.command("explain")
def explain(
    question: Annotated[str, typer.Argument(help="The question; options may stand in it.", show_default=False)],
    option: options.AnswersOption = None,
    json_output: options.JsonOption = False,
) -> None:
    """Print what a question means: property, part, form, and what each option claims. No picture is needed."""
    from agenticiqa.embedded.language.question import understand

    understood = understand(question, option)
    if json_output:
        print_json(understood.meaning.as_dict() | {"language": understood.language})
        return
    for name, text in [*_lines(understood.meaning), ("Language", understood.language or "unknown")]:
        typer.echo(f"{name:<11} {text}")


def _lines(meaning: Meaning) -> list[tuple[str, str]]:
    known = meaning.known()
    lines = [("Question", meaning.text)]
    lines.append(("Property", f"{known.title}. {known.sentence}" if known else "none that is known: outside the field"))
    lines.append(("Part", ", ".join(part.name for part in meaning.parts) or "the whole picture"))
    lines.append(("Form", _FORMS.get(meaning.form, meaning.form)))
    if known and meaning.form == "yes_no":
        lines.append(("Yes means", _claimed_by_yes(meaning)))
    if known:
        lines.append(("Answered by", ", ".join(f"{kind}: {name}" for kind, name in known.reading.items())))
    return lines + [(f"Option {each.letter}", f"{each.text!r}: {_option(each)}") for each in meaning.options]


def _claimed_by_yes(meaning: Meaning) -> str:
    from agenticiqa.embedded.language.meaning.properties import properties

    if meaning.value:
        return meaning.value.replace("_", " ")
    said = [
        f"{'much' if each.polarity > 0 else 'little or no'} {properties()[each.property].title}"
        for each in meaning.statements
    ]
    return f" {meaning.joined or 'and'} ".join(said)


def _option(option: OptionMeaning) -> str:
    from agenticiqa.embedded.language.meaning.properties import properties

    if option.property and option.amount is not None:
        return f"{option.amount:.0%} {properties()[option.property].title}"
    return (option.claim or "nothing known").replace("_", " ")
