"""The words of the page: every one that it asks for is there, and every one that is there is asked for."""

from __future__ import annotations

import json
import re

from agenticiqa.serve.http.app import WEB

WORDS = json.loads((WEB / "words.json").read_text("utf-8"))
SCRIPTS = "\n".join(file.read_text("utf-8") for file in sorted((WEB / "js").glob("*.js")))
PAGE = (WEB / "index.html").read_text("utf-8")
IN_PAGE = dict(re.findall(r'data-words="([\w.]+)"[^>]*>([^<]*)<', PAGE)) | {
    key: text for text, key in re.findall(r'aria-label="([^"]*)" data-words-label="([\w.]+)"', PAGE)
}
WHOLE_KEYS = set(re.findall(r'"([a-z]+\.[\w-]+)"', SCRIPTS)) - set(re.findall(r'"(agenticiqa\.\w+)"', SCRIPTS))
BEGINNINGS = tuple(set(re.findall(r"`([a-z]+\.(?:[\w-]*))\$\{", SCRIPTS)) - {"agenticiqa-"})


def test_every_key_has_words_and_every_word_is_used():
    known = set(WORDS)
    assert len(WHOLE_KEYS) > 150
    assert WHOLE_KEYS - known == set()
    unused = {key for key in known - WHOLE_KEYS - set(IN_PAGE) if not key.startswith(BEGINNINGS)}
    assert unused == set()


def test_the_html_says_what_the_words_say():
    assert len(IN_PAGE) > 15
    assert {key: WORDS[key] for key in IN_PAGE} == IN_PAGE
