"""A whole batch on one self-contained page, or as Markdown: figures, charts, cases, errors."""

from __future__ import annotations

from agenticiqa.batch_report.markdown import render_markdown
from agenticiqa.batch_report.page import render_page
from agenticiqa.batch_report.summary import BatchReport, prepare

__all__ = ["BatchReport", "prepare", "render_markdown", "render_page"]
