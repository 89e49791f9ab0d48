"""The words of the page: every one it asks for is there, in each language, with the same places to fill in."""

from __future__ import annotations

import json
import re

import pytest

from agenticiqa.serve.http.app import WEB

WORDS = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((WEB / "words").glob("*.json"))}
SCRIPTS = "\n".join(file.read_text("utf-8") for file in sorted((WEB / "js").glob("*.js")))
PAGE = (WEB / "index.html").read_text("utf-8")
IN_PAGE = dict(re.findall(r'data-words="([\w.]+)"[^>]*>([^<]*)<', PAGE)) | {
    key: text for text, key in re.findall(r'aria-label="([^"]*)" data-words-label="([\w.]+)"', PAGE)
}
WHOLE_KEYS = set(re.findall(r'"([a-z]+\.[\w-]+)"', SCRIPTS)) - set(re.findall(r'"(agenticiqa\.\w+)"', SCRIPTS))
BEGINNINGS = tuple(set(re.findall(r"`([a-z]+\.(?:[\w-]*))\$\{", SCRIPTS)) - {"agenticiqa-"})


def test_the_languages_of_the_page_are_there():
    offered = re.search(r"LANGUAGES = \{([^}]*)\}", SCRIPTS)
    assert offered
    assert sorted(re.findall(r"(\w\w):", offered[1])) == sorted(WORDS) == ["de", "en", "zh"]


def test_every_key_has_words_and_every_word_is_used():
    known = set(WORDS["en"])
    assert len(WHOLE_KEYS) > 150
    assert WHOLE_KEYS - known == set()
    unused = {key for key in known - WHOLE_KEYS - set(IN_PAGE) if not key.startswith(BEGINNINGS)}
    assert unused == set()


def test_the_html_says_what_the_english_words_say():
    assert len(IN_PAGE) > 15
    assert {key: WORDS["en"][key] for key in IN_PAGE} == IN_PAGE


@pytest.mark.parametrize("language", ["de", "zh"])
def test_translations_are_whole(language: str):
    assert list(WORDS[language]) == list(WORDS["en"])
    for key, english in WORDS["en"].items():
        text = WORDS[language][key]
        assert text.strip() or not english.strip(), key
        assert sorted(re.findall(r"\{\w+\}", text)) == sorted(re.findall(r"\{\w+\}", english)), key
