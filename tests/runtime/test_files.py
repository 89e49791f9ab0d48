"""Files appear whole or not at all, and a place that cannot be written is told as such."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agenticiqa.errors import OutputError
from agenticiqa.runtime.files import atomic_file, write_atomic


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    write_atomic(target, "old")
    with pytest.raises(ZeroDivisionError), atomic_file(target) as stream:
        stream.write(b"new" * (1 // 0))
    assert target.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_a_place_that_cannot_be_written_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(OutputError):
        write_atomic(tmp_path / "file" / "page.html", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError):
        write_atomic(tmp_path / "folder", "text")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_half_a_character_does_not_lose_the_page(tmp_path: Path) -> None:
    write_atomic(tmp_path / "page.html", "name \ud800.png")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == "name ?.png"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_what_the_users_mask_allows(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_atomic(tmp_path / "shared.txt", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "shared.txt").stat().st_mode & 0o777 == 0o644
