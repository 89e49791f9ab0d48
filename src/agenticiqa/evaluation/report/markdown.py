"""The same facts as Markdown, for a pull request or a wiki."""

from __future__ import annotations

from agenticiqa.evaluation.report.samples import answer_text
from agenticiqa.evaluation.report.summary import BatchReport, error_kind
from agenticiqa.evaluation.tables import Table, tables
from agenticiqa.runtime.shown_text import markdown_text

MOST_ERRORS = 50


def render_markdown(report: BatchReport) -> str:
    """Summary, figures, distortions, cost, cases and errors."""
    parts = [f"# {markdown_text(report.title)}\n", *(each.markdown() for each in _tables(report))]
    return "\n".join(parts)


def _tables(report: BatchReport) -> list[Table]:
    file = report.file
    found = [
        Table(
            "Summary",
            ["Samples", "Complete", "Partial", "Failed", "Mean score", "Median", "Cost (US$)"],
            [
                [
                    str(len(file.results)),
                    str(file.count("ok")),
                    str(file.count("partial")),
                    str(file.count("error")),
                    _number(report.mean_score),
                    _number(report.median_score),
                    "unknown" if report.usd is None else f"{report.usd:.4f}",
                ]
            ],
        )
    ]
    if report.evaluation:
        found += [each for each in tables(report.evaluation) if each.title != "Samples"]
    if report.heat:
        rows = [
            [kind, str(c["all"].count), _number(c["all"].score), _number(c["all"].opinion)]
            for kind, c in report.heat.items()
        ]
        found.append(Table("By distortion", ["Distortion", "Samples", "Mean score", "Mean opinion"], rows))
    if report.agents:
        rows = [
            [a.agent, f"{a.seconds:.1f}", str(a.calls), "unknown" if a.usd is None else f"{a.usd:.4f}"]
            for a in report.agents
        ]
        found.append(Table("Time and cost", ["Agent", "Seconds", "Calls", "US$"], rows))
    for title, cases in report.cases.items():
        rows = [[case.result.sample_id, answer_text(case.result) or "–", case.why] for case in cases]
        found.append(Table(title, ["Sample", "Answer", "Why"], rows))
    if report.errors:
        rows = [[r.sample_id, error_kind(r), str(r.line.get("error") or "")] for r in report.errors[:MOST_ERRORS]]
        left = len(report.errors) - len(rows)
        notes = [f"{left} more are in {file.path.name}."] if left else []
        found.append(Table("Errors", ["Sample", "Kind", "What happened"], rows, notes))
    return found


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
