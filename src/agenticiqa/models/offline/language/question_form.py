"""What kind of answer a question wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agenticiqa.models.offline.language.options import Option
from agenticiqa.models.offline.language.tagging import Item
from agenticiqa.models.offline.language.word_lists import word_set

Form = Literal["rating", "yes-no", "which-of-options", "degree", "what", "why", "where", "compare", "describe"]

_RATING = word_set(
    "rate rated rating score scored scoring grade graded grading assess assessment evaluate evaluation judge "
    "judged quantify mos"
)
_ASKING = word_set("why where how what which who when whether")
_WHOLE = word_set("quality mos score rating grade")
_DESCRIBE = word_set("rank describe explain list name identify mention summarize discuss analyze analyse comment")
_AMOUNT = word_set(
    "severe serious strong bad much badly heavily severely strongly visible noticeable heavy obvious high low "
    "well pronounced intense"
)
# "Can you see …?", "Would you call it …?" ask; "Can you rate …?" requests.
_SEEING = word_set("see notice find spot say call consider observe detect recognize")
_GOOD_OR_BAD = frozenset({"good", "bad", "great", "well"})


def form_of(items: Sequence[Item], options: Sequence[Option], *, names_attribute: bool) -> Form:
    """The form, from the first words that decide it and from the options.

    >>> from agenticiqa.models.offline.language.tagging import tagged
    >>> form_of(tagged("How noisy is the sky?"), (), names_attribute=True)
    'degree'
    """
    words = [item.plain for item in items]
    if options and all(option.claim.kind in ("yes", "no") for option in options):
        return "yes-no"
    form = _form_of_words(items, words, names_attribute=names_attribute)
    if options and (form in ("what", "rating", "yes-no", "describe") or (form == "degree" and not _asks_amount(words))):
        return "which-of-options"
    return form


def _asks_amount(words: list[str]) -> bool:
    return bool({"how", "to what extent", "to what degree", "degree", "level", "extent", "amount"} & set(words))


def _form_of_words(items: Sequence[Item], words: list[str], *, names_attribute: bool) -> Form:
    asked = next((word for word in words if word in _ASKING), None)
    by_word = _form_of_question_word(items, words, asked)
    if by_word:
        return by_word
    if asked == "how":
        return _how(words, names_attribute=names_attribute)
    if _is_yes_no(items, words):
        return "yes-no"
    if _DESCRIBE & set(words[:4]):
        return "describe"
    return _statement(words, asked, names_attribute=names_attribute)


def _form_of_question_word(items: Sequence[Item], words: list[str], asked: str | None) -> Form | None:
    """Forms that one word or phrase settles."""
    if asked == "why":
        return "why"
    if _compares(items, words):
        return "compare"
    if asked == "where" or ("which" in words and {"part", "area", "region"} & set(words)):
        return "where"
    return "degree" if {"to what extent", "to what degree"} & set(words) else None


def _compares(items: Sequence[Item], words: list[str]) -> bool:
    if "than" in words or any(word.startswith("compare") for word in words):
        return True
    return "which" in words and "or" in words and any(item.tag != "tool" for item in items)


def _how(words: list[str], *, names_attribute: bool) -> Form:
    after = words[words.index("how") + 1 :]
    if _RATING & set(after):
        return "rating"
    if after[:1] == ["many"]:
        return "what"
    if after and after[0] in _GOOD_OR_BAD and not names_attribute:
        return "rating"
    if after and after[0] in _AMOUNT:
        return "degree"
    if names_attribute:
        return "degree"
    return "rating" if _WHOLE & set(after) else "what"


def _is_yes_no(items: Sequence[Item], words: list[str]) -> bool:
    if "or not" in " ".join(words) or "whether" in words or ("if" in words and words[:1] != ["if"]):
        return True
    for at, item in enumerate(items):
        starts = at == 0 or items[at - 1].ends_clause or items[at - 1].tag in ("degree", "filler", "unknown")
        if item.tag == "auxiliary" and starts:
            request = at + 1 < len(items) and items[at + 1].plain == "you" and item.plain in ("can", "could", "would")
            return not request or bool(_SEEING & set(words))
        if item.tag in ("question", "verb"):
            return False
    # "The photo is dark, right?"
    return "?" in words and "question" not in [item.tag for item in items] and "auxiliary" in [i.tag for i in items]


def _statement(words: list[str], asked: str | None, *, names_attribute: bool) -> Form:
    if _RATING & set(words):
        return "rating"
    if asked in ("what", "which") and "quality" in words and not names_attribute:
        return "rating" if not {"problem", "issue", "problems", "issues", "causes", "cause"} & set(words) else "what"
    if asked:
        return "degree" if names_attribute and (_asks_amount(words) or "like" in words) else "what"
    return "degree" if names_attribute else "rating"
