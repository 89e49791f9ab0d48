"""Two pictures, one question: which is better, how sure is that, where do they differ, and why."""

from __future__ import annotations

from agenticiqa.api.comparison.comparing import compare_pictures
from agenticiqa.nodes.results import Comparison, Place, ToolComparison

__all__ = ["Comparison", "Place", "ToolComparison", "compare_pictures"]
