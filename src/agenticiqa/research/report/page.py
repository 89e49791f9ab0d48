"""A batch on one page: figures, charts, cases, errors, and a table of all samples, whose rows are data in the page."""

import base64
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from statistics import fmean, median
from typing import Any, get_args

from PIL import Image
from pydantic import ValidationError

from agenticiqa.errors import ImageError
from agenticiqa.nodes.results import Assessment
from agenticiqa.pictures.images import load_image
from agenticiqa.reports.assessment import picture_article, report_item
from agenticiqa.reports.look import models_of, page, quiet, shown_name, table, without_folders
from agenticiqa.research.agreement import FigureSettings, pairs
from agenticiqa.research.evaluate import Counts, Evaluation, evaluate
from agenticiqa.research.report.charts import figure, histogram, scatter
from agenticiqa.research.results import Result, ResultFile, Status, sum_or_none
from agenticiqa.research.statistics import LogisticFit
from agenticiqa.research.tables import Table, outcomes, tables
from agenticiqa.runtime.config import ROLES, ImageLimits

MOST_ROWS = 50_000
MOST_THUMBNAILS = 10_000
THUMBNAIL = (120, 88)
"""Twice as fine as it is shown, for screens with small pixels."""
COLUMNS = ("", "Sample", "Status", "Score", "Opinion", "Answer", "Distortion", "Question")
WIDTHS = (5, 16, 5, 4.5, 5, 9, 9, 14)

Progress = Callable[[str], None]


def samples_table(results: Sequence[Result], file_name: str) -> str:
    """The table's head and the tools above it; the page's script fills it."""
    if not results:
        return ""
    rows = [_facts_of(result) for result in results[:MOST_ROWS]]
    # Those that tell something of these samples; picture, name, status and score are always there.
    columns = [place for place in range(len(COLUMNS)) if place < 4 or any(row[place - 2] is not None for row in rows)]
    widths = "".join(f'<col style="width:{WIDTHS[place]}rem">' for place in columns)
    buttons = {place: f'<button type="button">{COLUMNS[place]}</button>' if COLUMNS[place] else "" for place in columns}
    head = "".join(f'<th scope="col" data-column="{place}">{button}</th>' for place, button in buttons.items())
    more = len(results) - MOST_ROWS
    note = quiet(f"The first {MOST_ROWS:,} of {len(results):,} samples; all are in {file_name}.") if more > 0 else ""
    return (
        '<div class="tools"><label>Filter <input id="filter" type="search" placeholder="words"></label>'
        '<label>Status <select id="status"><option value="">all</option><option>ok</option><option>partial</option>'
        '<option>error</option></select></label><span id="shown" class="dim" role="status"></span></div>'
        f'<div id="window" tabindex="0"><table id="samples"><colgroup>{widths}</colgroup><thead><tr>{head}</tr></thead>'
        "<tbody></tbody></table></div>"
        f"<noscript>{quiet('The table needs JavaScript; the file holds the same.')}</noscript>{note}"
    )


def samples_data(
    results: Sequence[Result], limits: ImageLimits, progress: Progress | None = None, *, thumbnails: bool = True
) -> str:
    """The rows as JSON inside the page. A browser runs nothing of it, and no text in it can end it."""
    shown = results[:MOST_ROWS]
    name_of = shown_ids(shown)
    rows = []
    for number, result in enumerate(shown):
        if progress and number % 100 == 0:
            progress(f"thumbnails: {number:,} of {len(shown):,}")
        picture = _thumbnail(result, limits) if thumbnails and number < MOST_THUMBNAILS else ""
        rows.append([picture, name_of(result), *_facts_of(result)])
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="rows">{text}</script>'


def _facts_of(result: Result) -> list[Any]:
    """The cells of a row, after picture and name."""
    summary = (result.line.get("summarizer_result") or {}) if result.status != "error" else {}
    answer, asked = summary.get("final_answer"), (summary.get("used_evidence") or {}).get("asked_scale")
    answer = f"{answer} ({asked})" if asked else answer
    return [result.status, result.score, result.truth, answer, result.group("distortion"), result.line.get("query")]


def shown_ids(results: Sequence[Result]) -> Callable[[Result], str]:
    """How samples are called in a report: without the folders that all share; ids that are no paths stay."""
    ids = [result.sample_id for result in results]
    common = ""
    if len(ids) == 1 and os.path.isabs(ids[0]):
        common = ids[0].removesuffix(shown_name(ids[0]))
    elif ids and all(os.path.isabs(each) for each in ids):
        common = os.path.commonpath([os.path.dirname(each) for each in ids]).rstrip("/\\") + os.sep
    return lambda result: result.sample_id.removeprefix(common)


def _thumbnail(result: Result, limits: ImageLimits) -> str:
    """A small copy of the picture; nothing where it is gone or does not open."""
    path = str(result.line.get("image_path") or "")
    if not path or not os.path.isfile(path):
        return ""
    try:
        picture = load_image(path, limits).pil
    except ImageError:
        return ""
    small = picture.convert("RGB").copy()
    small.thumbnail(THUMBNAIL, Image.Resampling.BILINEAR, reducing_gap=2.0)
    buffer = io.BytesIO()
    small.save(buffer, "WEBP", quality=55, method=0)
    return "data:image/webp;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


# --- What a result file says as a whole ---


@dataclass(frozen=True)
class AgentCost:
    """What one agent took over all samples; money is None when a price is unknown."""

    agent: str
    seconds: float
    calls: int
    tokens: int
    usd: float | None


@dataclass(frozen=True)
class Case:
    """A sample worth looking at, and why it is shown."""

    result: Result
    why: str


@dataclass(frozen=True)
class BatchReport:
    """Everything a report shows."""

    file: ResultFile
    title: str
    evaluation: Evaluation | None
    scores: list[float]
    agents: list[AgentCost]
    usd: float | None
    cases: dict[str, list[Case]]
    errors: list[Result]
    error_kinds: dict[str, int]

    @property
    def mean_score(self) -> float | None:
        return fmean(self.scores) if self.scores else None

    @property
    def median_score(self) -> float | None:
        return median(self.scores) if self.scores else None

    def as_dict(self) -> dict[str, Any]:
        """The report's facts for other programs; pictures and charts are in the page alone."""
        return {
            "title": self.title,
            "score": self.file.score,
            "samples": len(self.file.results),
            **{status: self.file.count(status) for status in get_args(Status)},
            "mean_score": self.mean_score,
            "median_score": self.median_score,
            "cost_usd": self.usd,
            "errors": self.error_kinds,
            "evaluation": self.evaluation.as_dict() if self.evaluation else None,
        }


def prepare(file: ResultFile, *, title: str | None = None, cases: int = 4, resamples: int = 1000) -> BatchReport:
    """Collect what the report shows; agreement with people only where the results hold opinions or right answers."""
    judged = any(result.is_scored or result.is_choice for result in file.results)
    errors = [result for result in file.results if result.status == "error"]
    costs = [result.metadata.get("cost_usd") for result in file.results if result.metadata]
    return BatchReport(
        file=file,
        title=title or f"Quality report: {file.path.name}",
        evaluation=evaluate(file, settings=FigureSettings(resamples=resamples)) if judged else None,
        scores=[result.score for result in file.results if result.score is not None],
        agents=list(_agents(file.results)),
        usd=sum_or_none(costs) if costs else None,
        cases=_cases(file.results, cases),
        errors=errors,
        error_kinds=dict(Counter(error_kind(result) for result in errors).most_common()),
    )


def error_kind(result: Result) -> str:
    """The machine-readable name of a failure."""
    return str(result.metadata.get("error_kind") or result.line.get("error_kind") or "unknown")


def _agent(call: Mapping[str, Any]) -> str:
    """The agent that made a call: several summarizers are one."""
    return str(call.get("role")).partition(":")[0]


def _agents(results: Sequence[Result]) -> Iterator[AgentCost]:
    metadata = [result.metadata for result in results]
    for name in ROLES:
        calls = [call for each in metadata for call in each.get("call_log") or [] if _agent(call) == name]
        seconds = sum(float((each.get("timings") or {}).get(name, 0.0)) for each in metadata)
        if seconds or calls:
            tokens = sum(count or 0 for call in calls for count in (call.get("tokens") or {}).values())
            usd = sum_or_none(call.get("cost_usd") for call in calls) if calls else None
            yield AgentCost(name, seconds, len(calls), tokens, usd)


def _cases(results: list[Result], count: int) -> dict[str, list[Case]]:
    """The best and the worst pictures, and where opinion and score part most."""
    answered = [result for result in results if result.score is not None]
    ranked = sorted(answered, key=lambda result: result.score or 0.0)
    wrong = [result for result in results if result.is_choice and not result.correct and result.status != "error"]
    found = {
        "Lowest scores": [Case(result, f"score {result.score:.2f}") for result in ranked[:count]],
        # A small batch has each picture once.
        "Highest scores": [Case(result, f"score {result.score:.2f}") for result in ranked[count:][::-1][:count]],
        "Wrong choices": [Case(r, f"chose {r.choice or 'nothing'}, right is {r.right}") for r in wrong[:count]],
    }
    both = [result for result in ranked if result.truth is not None]
    if len(both) > 2:
        # By the difference of ranks: opinions may be on any scale.
        by_truth = {id(r): place for place, r in enumerate(sorted(both, key=lambda r: r.truth or 0.0), 1)}
        ranks = [(place, by_truth[id(result)], result) for place, result in enumerate(both, 1)]
        found["Furthest from people"] = [
            Case(
                result,
                f"rank {place} of {len(both)} by score, {opinion_rank} by people "
                f"(score {result.score:.2f}, opinion {result.truth:.4g})",
            )
            for place, opinion_rank, result in sorted(ranks, key=lambda rank: -abs(rank[0] - rank[1]))[:count]
            if place != opinion_rank
        ]
    return {title: own for title, own in found.items() if own}


# --- The page of a batch ---


DEFAULT_LIMITS = ImageLimits()
MOST_ERRORS = 200


def render_page(
    report: BatchReport,
    progress: Progress | None = None,
    limits: ImageLimits = DEFAULT_LIMITS,
    *,
    thumbnails: bool = True,
) -> str:
    """The page as text; ``progress`` is told which case or thumbnail is drawn, because that takes time."""
    results = report.file.results
    sections = [
        ("summary", "Summary", _summary(report)),
        ("distribution", "Scores", histogram(report.scores) if report.scores else quiet("No sample has a score.")),
        ("agreement", "Agreement with people", _agreement(report)),
        ("cost", "Time and cost", _cost(report)),
        ("cases", "Cases", "".join(_case_list(report, progress, limits))),
        ("errors", "Errors", _errors(report)),
        ("all", "All samples", samples_table(results, report.file.path.name)),
    ]
    shown = [section for section in sections if section[2]]
    contents = "".join(f'<a href="#{name}">{title}</a>' for name, title, _ in shown)
    body = "".join(f'<section id="{name}"><h2>{title}</h2>{text}</section>\n' for name, title, text in shown)
    return page(
        report.title,
        f"<nav>{contents}</nav>{body}",
        (model for result in results for model in models_of(result.metadata)),
        script=resources.files(__package__).joinpath("samples.js").read_text(encoding="utf-8"),
        data=samples_data(results, limits, progress, thumbnails=thumbnails),
    )


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _summary(report: BatchReport) -> str:
    file = report.file
    facts = [
        (f"{len(file.results):,}", "samples"),
        (f"{len(report.errors):,}", "failed"),
        (_shown(report.mean_score), "mean score"),
        (_shown(report.median_score), "median score"),
        ("unknown" if report.usd is None else f"${report.usd:,.2f}", "cost"),
    ]
    cells = "".join(f'<div class="fact"><strong>{value}</strong><span>{name}</span></div>' for value, name in facts)
    about = quiet(f"{file.path.name}; judged: {file.score}")
    return f'<div class="facts">{cells}</div>{_laid_out(outcomes(Counts.of(file)))}{about}'


def _laid_out(shown: Table) -> str:
    return table(shown.columns, shown.rows) + "".join(quiet(note) for note in shown.notes)


def _agreement(report: BatchReport) -> str:
    if report.evaluation is None:
        return ""
    found = []
    for scores in report.evaluation.scores:
        own = [r for r in report.file.results if scores.dataset is None or r.group("dataset") in (scores.dataset, None)]
        compared = pairs(own)
        if compared.predicted.size > 1:
            curve = LogisticFit(scores.figures.fit) if scores.figures.fit else None
            name = f" on {scores.dataset}" if scores.dataset else ""
            drawn = scatter(compared.predicted, compared.opinions, curve)
            found.append(figure(drawn, f"Score against opinion{name}{'; red: the fitted curve' if curve else ''}."))
    # What became of all samples, their first table, is in the summary.
    found += [f"<h3>{escape(each.title)}</h3>{_laid_out(each)}" for each in [*tables(report.evaluation)][1:]]
    return "".join(found)


def _cost(report: BatchReport) -> str:
    samples = max(len(report.file.results), 1)
    rows = [
        (
            cost.agent,
            f"{cost.seconds:.1f}",
            f"{cost.seconds / samples:.3f}",
            f"{cost.calls:,}",
            f"{cost.tokens:,}" if cost.tokens else "–",
            "unknown" if cost.usd is None else f"{cost.usd:.4f}",
        )
        for cost in report.agents
    ]
    return table(("Agent", "Seconds", "Seconds per sample", "Calls", "Tokens", "US$"), rows)


def _case_list(report: BatchReport, progress: Progress | None, limits: ImageLimits) -> Iterator[str]:
    name_of = shown_ids(report.file.results)
    for title, cases in report.cases.items():
        yield f"<h3>{escape(title)}</h3>"
        for case in cases:
            name = name_of(case.result)
            if progress:
                progress(f"{title}: {name}")
            yield f'<div class="case">{quiet(f"{name}: {case.why}")}{_article(case.result.line, limits)}</div>'


def _article(line: Mapping[str, Any], limits: ImageLimits) -> str:
    """A sample in full: its answer and evidence, or what tools alone measured."""
    if line.get("summarizer_result") is None and line.get("plan") is None:
        rows = [
            (str(it.get("tool")), _shown(it.get("raw")), _shown(it.get("calibrated")), str(it.get("error") or ""))
            for it in line.get("measurements") or []
        ]
        name = shown_name(str(line.get("image_path") or ""))
        return f"<article>{quiet(name)}{table(('Tool', 'Raw', '1..5', ''), rows)}</article>"
    try:
        found = Assessment.model_validate(line)
    except ValidationError as error:
        lacks = f"{error.error_count()} fields are missing or malformed"
        return f"<article>{quiet(f'The line is no complete result ({lacks}): no details are shown.')}</article>"
    return picture_article(report_item(found, limits))


def _errors(report: BatchReport) -> str:
    if not report.errors:
        return ""
    kinds = table(("Kind", "Samples"), [(kind, str(count)) for kind, count in report.error_kinds.items()])
    name_of = shown_ids(report.file.results)
    rows = []
    for each in report.errors[:MOST_ERRORS]:
        paths = each.line.get("image_path"), each.line.get("reference_path")
        rows.append((name_of(each), error_kind(each), without_folders(str(each.line.get("error") or ""), *paths)))
    more = len(report.errors) - len(rows)
    note = quiet(f"{more} more are in {report.file.path.name}.") if more else ""
    return kinds + table(("Sample", "Kind", "What happened"), rows) + note
