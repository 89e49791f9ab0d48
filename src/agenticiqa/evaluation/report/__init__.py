"""A whole batch on one self-contained page, or as Markdown: figures, charts, cases, errors."""

from __future__ import annotations

from agenticiqa.evaluation.report.markdown import render_markdown
from agenticiqa.evaluation.report.page import render_page
from agenticiqa.evaluation.report.summary import BatchReport, prepare

__all__ = ["BatchReport", "prepare", "render_markdown", "render_page"]
