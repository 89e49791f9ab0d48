"""The error that distortions raise."""

from __future__ import annotations

from agenticiqa.errors import AgenticIQAError


class DistortionError(AgenticIQAError):
    """The picture, the kind or the level cannot be used."""
