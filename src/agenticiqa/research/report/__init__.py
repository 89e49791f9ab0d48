"""A whole batch on one self-contained page: figures, charts, cases, errors."""

from __future__ import annotations

from agenticiqa.research.report.page import BatchReport, prepare, render_page

__all__ = ["BatchReport", "prepare", "render_page"]
