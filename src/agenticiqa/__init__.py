"""AgenticIQA: how good a picture is, what is wrong with it, where, and why.

>>> import agenticiqa
>>> result = agenticiqa.assess("photo.jpg", "Is the vehicle blurry?")  # doctest: +SKIP
>>> result.answer, result.reasoning  # doctest: +SKIP
('Yes', 'The vehicle shows severe motion blur …')
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agenticiqa.api.assessor import AgenticIQA, assess
    from agenticiqa.errors import AgenticIQAError
    from agenticiqa.nodes.results import Assessment

__all__ = ["AgenticIQA", "AgenticIQAError", "Assessment", "assess"]

# A library stays silent until its user asks for logs.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Importing the package must cost nothing: LangGraph alone takes most of a second.
_HOMES = {
    "AgenticIQA": "agenticiqa.api.assessor",
    "Assessment": "agenticiqa.nodes.results",
    "assess": "agenticiqa.api.assessor",
    "AgenticIQAError": "agenticiqa.errors",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'agenticiqa' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
