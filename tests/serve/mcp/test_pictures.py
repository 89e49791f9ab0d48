"""Inline pictures are kept, but not without limit."""

from __future__ import annotations

import base64
import os
import time
from pathlib import Path

from agenticiqa.serve.mcp.replies import PictureStore


def inline(letter: bytes, size: int = 100) -> str:
    return "data:image/png;base64," + base64.b64encode(letter * size).decode()


def test_the_oldest_go_when_the_store_is_full(tmp_path: Path):
    store = PictureStore(tmp_path, None, max_bytes=250)
    kept = []
    for age, letter in zip((400, 300, 200), (b"a", b"b", b"c"), strict=True):
        with store.in_use() as file:
            kept.append(file(inline(letter)))
        if kept[-1].exists():
            os.utime(kept[-1], (time.time() - age, time.time() - age))
    assert [path.exists() for path in kept] == [False, True, True]
    assert kept[2].read_bytes() == b"c" * 100


def test_a_picture_in_use_stays(tmp_path: Path):
    store = PictureStore(tmp_path, None, max_bytes=150)
    with store.in_use() as file:
        first = file(inline(b"a"))
        with store.in_use() as other:
            # The same picture twice: it is in use until both calls have ended.
            assert other(inline(b"a")) == first
            second = other(inline(b"b"))
        assert first.exists()
        assert second.exists()
    with store.in_use() as file:
        third = file(inline(b"c"))
    assert [path.exists() for path in (first, second, third)] == [False, False, True]
