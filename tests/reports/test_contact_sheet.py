"""The contact sheet as a file: what it holds, what it keeps out, and where its thumbnails are."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from agenticiqa.errors import OutputError
from agenticiqa.reports.contact_sheet.page import (
    BLOCK,
    COLUMNS,
    SheetLinks,
    SheetPicture,
    sheet_policy,
    write_contact_sheet,
)

SMALL = base64.b64encode(b"a small file").decode()


def picture(path: str, *, opens: bool = True) -> SheetPicture:
    row = {**dict.fromkeys(COLUMNS), "path": path, "findings": {"blurry": "<b>why</b>"}, "decision": "keep"}
    return SheetPicture(row, SMALL if opens else None)


def write(target: Path, pictures: list[SheetPicture], **options: object) -> str:
    summary = {"pictures": len(pictures), "findings": {}, "sorts": {}}
    write_contact_sheet(target, lambda: pictures, title="A <shoot>", summary=summary, **options)
    return target.read_text(encoding="utf-8")


def data(page: str, name: str) -> dict:
    return json.loads(re.search(rf'id="{name}">(.*?)</script>', page, re.DOTALL)[1])


def test_one_file_holds_everything(tmp_path):
    pictures = [picture(f"{number}.jpg", opens=number != 3) for number in range(BLOCK + 2)]
    page = write(tmp_path / "sheet.html", pictures, base="../photos")
    rows = data(page, "rows")
    assert [row[0] for row in rows["rows"]] == [f"{number}.jpg" for number in range(BLOCK + 2)]
    assert rows["rows"][3][-1] == 0
    assert data(page, "about")["base"] == "../photos"
    blocks = re.findall(r'id="thumbnails-\d+">(.*?)</script>', page, re.DOTALL)
    assert [len(block.split("\n")) for block in blocks] == [BLOCK, 2]
    assert blocks[0].split("\n")[3] == ""
    assert not re.search(r"(src|href)=.?https?://", page)
    assert list(tmp_path.iterdir()) == [tmp_path / "sheet.html"]


def test_its_id_is_that_of_its_title_and_pictures(tmp_path):
    def id_of(*pictures: SheetPicture) -> str:
        return data(write(tmp_path / "sheet.html", list(pictures)), "rows")["id"]

    first, second = picture("a.jpg"), picture("b.jpg")
    assert id_of(first, second) == id_of(first, second)
    changed = SheetPicture({**first.row, "sha256": "another file"}, SMALL)
    assert len({id_of(first, second), id_of(second, first), id_of(first), id_of(changed, second)}) == 4


def test_names_are_text_and_never_markup(tmp_path):
    page = write(tmp_path / "sheet.html", [picture("</script><img src=x onerror=alert(1)>.jpg")])
    assert "<img src=x" not in page
    assert "A &lt;shoot&gt;" in page
    assert data(page, "rows")["rows"][0][0].startswith("</script>")


def test_thumbnails_beside_the_page(tmp_path):
    pictures = [picture("a.jpg"), picture("b.jpg", opens=False)]
    page = write(tmp_path / "sheet.html", pictures, thumbnails="folder")
    assert data(page, "about")["thumbnails"] == "sheet_thumbnails"
    assert "thumbnails-0" not in page
    assert (tmp_path / "sheet_thumbnails" / "0" / "0.jpg").read_bytes() == b"a small file"
    assert not (tmp_path / "sheet_thumbnails" / "0" / "1.jpg").exists()
    with pytest.raises(OutputError):
        write(tmp_path / "sheet.html", pictures, thumbnails="folder")


def test_links_of_a_served_sheet(tmp_path):
    links = SheetLinks(picture="/p/{place}", assess="/?image={place}", compare="/?a={first}&b={second}")
    assert (
        data(write(tmp_path / "a.html", [picture("a.jpg")], links=links), "about")["links"]["assess"]
        == "/?image={place}"
    )


def test_the_policy_allows_exactly_its_own_script_and_style(tmp_path):
    page = write(tmp_path / "sheet.html", [picture("a.jpg")])
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert (len(script), len(style)) == (1, 1)
    for text in (script[0], style[0]):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in sheet_policy()
    assert "unsafe" not in sheet_policy()
