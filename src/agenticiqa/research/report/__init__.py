"""A whole batch on one self-contained page, or as Markdown: figures, charts, cases, errors."""

from __future__ import annotations

from agenticiqa.research.report.page import BatchReport, prepare, render_markdown, render_page

__all__ = ["BatchReport", "prepare", "render_markdown", "render_page"]
