"""The contact sheet's words and colours: complete, and those of the web page."""

from __future__ import annotations

import json
import re
from importlib.resources import files

from agenticiqa.auditing.findings import NAMES
from agenticiqa.reports.contact_sheet.page import SCRIPTS
from agenticiqa.reports.look import colours
from agenticiqa.serve.http.app import WEB

SHEET = files("agenticiqa.reports.contact_sheet") / "sheet"
WORDS = json.loads((SHEET / "words.json").read_text("utf-8"))
SCRIPT = "\n".join((SHEET / name).read_text("utf-8") for name in SCRIPTS)
PAGE = (SHEET / "sheet.html").read_text("utf-8")
IN_PAGE = dict(re.findall(r'data-words="([\w.]+)"[^>]*>([^<]*)<', PAGE)) | {
    key: text for text, key in re.findall(r'(?:aria-label|placeholder)="([^"]*)" data-words-\w+="([\w.]+)"', PAGE)
}
WHOLE_KEYS = set(re.findall(r'"([a-z]+\.[a-z]+)"', SCRIPT)) - {
    "agenticiqa.theme",
    "pictures.txt",
    "pictures.csv",
}
BEGINNINGS = tuple(re.findall(r"`([a-z]+\.)\$\{", SCRIPT))


def test_every_key_has_words_and_every_word_is_used():
    known = set(WORDS)
    assert len(WHOLE_KEYS) > 15
    assert WHOLE_KEYS - known == set()
    assert {key for key in known - WHOLE_KEYS - set(IN_PAGE) if not key.startswith(BEGINNINGS)} == set()
    assert {name for name in NAMES if f"finding.{name}" not in known} == set()


def test_the_html_says_what_the_words_say():
    assert len(IN_PAGE) > 25
    assert {key: WORDS[key] for key in IN_PAGE} == IN_PAGE


def test_reports_and_the_page_have_the_same_colours():
    def named(style: str) -> dict[str, str]:
        return dict(re.findall(r"(--[\w-]+): (light-dark\([^)]*\))", style))

    of_the_page = named((WEB / "css" / "base.css").read_text("utf-8"))
    ours = named(colours())
    assert len(ours) > 15
    assert {name: of_the_page.get(name) for name in ours} == ours
