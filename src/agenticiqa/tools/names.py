"""What people call the tools: one spelling for a name, and the other names of ``tool_names.yaml``."""

from __future__ import annotations

import re
from functools import cache

from agenticiqa._data import by_word, read_data

# Names of tools that are also words: only capitals tell them apart.
ENGLISH_WORDS = frozenset({"unique"})
# One name, two tools: the reference decides.
_WADIQAM = "wadiqam"


def tool_key(name: str) -> str:
    """ASCII letters and digits alone, so that case, hyphens and the characters of other scripts do not matter.

    >>> tool_key("MS-SSIM") == tool_key("ms_ssim") == tool_key("请用MS-SSIM")
    True
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def same_tool(left: str, right: str) -> bool:
    """
    >>> same_tool("MS-SSIM", "ms_ssim")
    True
    """
    return tool_key(left) == tool_key(right)


@cache
def tool_by_alias() -> dict[str, str]:
    """Tools by what people write for them, hyphens and underscores read as blanks."""
    return by_word(read_data("tools/tool_names.yaml")) | {"topiq nr": "TOPIQ_NR", _WADIQAM: "WaDIQaM_NR"}


def tool_for(alias: str, *, has_reference: bool) -> str:
    """The tool an alias stands for.

    >>> tool_for("wadiqam", has_reference=False), tool_for("ms ssim", has_reference=True)
    ('WaDIQaM_NR', 'MS-SSIM')
    """
    if alias == _WADIQAM:
        return "WaDIQaM_FR" if has_reference else "WaDIQaM_NR"
    known = tool_by_alias()
    return next(known[form] for form in (alias, alias.removesuffix("s")) if form in known)
