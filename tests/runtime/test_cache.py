"""The disk cache."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agenticiqa.runtime.cache import DiskCache, content_key, open_cache

parts = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=4)


@pytest.mark.hard
@given(parts, parts)
def test_keys_differ_when_parts_do(one: dict[str, object], other: dict[str, object]) -> None:
    """D2-27: equal parts, equal keys; else not."""
    assert (content_key("reply", one) == content_key("reply", other)) is (one == other)
    assert content_key("reply", one) != content_key("score", one)


def test_lone_surrogates_have_a_key() -> None:
    """D2-27: a file name that is no UTF-8 reaches the prompt and must not crash the cache."""
    assert content_key("reply", {"user": "\udcff"}) != content_key("reply", {"user": "?"})


def test_values_survive_reopening(tmp_path: Path) -> None:
    """D2-27: JSON in, the same JSON out."""
    first = DiskCache(tmp_path)
    first.put("k", {"a": [1, None, "ü"]})
    first.close()
    second = DiskCache(tmp_path)
    assert second.get("k") == {"a": [1, None, "ü"]}
    assert second.get("other") is None
    second.close()


def test_no_pickles(tmp_path: Path) -> None:
    """D2-27: what is not JSON is refused, so that a foreign folder cannot run code."""
    cache = DiskCache(tmp_path)
    with pytest.raises(TypeError):
        cache.put("k", object())
    cache.close()


def test_a_damaged_cache_costs_time_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """D2-27: no result is lost for it."""
    cache = DiskCache(tmp_path / "cache")
    cache.put("k", {"a": 1})
    cache.close()
    for file in (tmp_path / "cache").glob("cache.db*"):
        file.write_bytes(b"this is no database" * 100)
    assert open_cache(tmp_path / "cache", 10) is None
    assert "No cache" in caplog.text


def test_a_cache_damaged_while_open(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """D2-27: reading and writing warn instead of failing."""
    cache = DiskCache(tmp_path / "cache")
    cache.put("k", {"a": 1})
    cache.close()
    for file in (tmp_path / "cache").glob("cache.db*"):
        file.write_bytes(b"this is no database" * 100)
    assert cache.get("k") is None
    cache.put("k", {"a": 2})
    assert "could not be read" in caplog.text
    assert "could not be written" in caplog.text


def test_a_folder_that_cannot_be_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """D2-27: None and a warning."""
    (tmp_path / "file").write_text("x")
    assert open_cache(tmp_path / "file" / "cache", 10) is None
    assert "No cache" in caplog.text
