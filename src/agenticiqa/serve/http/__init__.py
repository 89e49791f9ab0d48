"""The HTTP service with its page."""

from __future__ import annotations
