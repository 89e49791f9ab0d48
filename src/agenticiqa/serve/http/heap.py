"""How the C library hands out memory to the server's threads."""

from __future__ import annotations

import ctypes

_ARENA_MAX = -8
"""glibc's name for the option (``M_ARENA_MAX`` in malloc.h)."""
ARENAS = 2


def share_arenas() -> bool:
    """Let all threads share a few heaps; False where the C library has no such option.

    glibc gives threads heaps of their own, and what was freed in one is not used by another: under load a server with
    many short-lived threads would hold several hundred megabytes that nobody uses, and ever more of them.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        # Another C library (musl, macOS, Windows): their heaps are not ours to tune.
        return False
    return bool(mallopt(_ARENA_MAX, ARENAS))
