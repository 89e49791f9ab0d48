"""A question as the embedded backend understands it: its language, its form, what it asks of which part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal

from agenticiqa._data import listed
from agenticiqa.embedded.language.meaning.claims import claimed_sense
from agenticiqa.embedded.language.meaning.parts import UNITS
from agenticiqa.embedded.language.meaning.reader import (
    NOT_UNDERSTOOD,
    Meaning,
    NamedDistortion,
    OptionMeaning,
    claims_damage,
    meaning_of,
    named_by_meaning,
    with_degrees,
    with_polarity,
)
from agenticiqa.embedded.language.options import Option, read_options, split_options
from agenticiqa.embedded.language.phrases import Mention, ScopeObject, mentions, negated, objects_by_distortion
from agenticiqa.embedded.language.tagging import CONTENT_WORDS, QUALITY_WORDS, Item, known_words, tagged
from agenticiqa.embedded.language.words import MAX_CHARS, singular_forms, vocabulary, word_list, word_set
from agenticiqa.tools.catalogue import tool_for
from agenticiqa.vocabulary import Polarity, plain_words

ENGLISH = "English"
_WORD = re.compile(r"[^\W_]+|[^\w\s]")
_WIDE_MARKS = str.maketrans("？。，！：；、（）", "?.,!:;,()")
_FEWEST_WORDS = 2


@dataclass(frozen=True)
class Language:
    """A language other than English; ``english`` holds English for the words that are known of it."""

    name: str
    english: Mapping[str, str] = field(default_factory=dict)

    @property
    def longest(self) -> int:
        return max((len(phrase.split()) for phrase in self.english), default=1)


def language_of(text: str) -> Language | None:
    """The language of a text, as far as its letters and small words tell; None for English, and where nothing tells.

    >>> [found.name for text in ("Ist das Bild scharf?", "模糊吗？", "La photo est-elle nette ?")
    ...  if (found := language_of(text))]
    ['German', 'Chinese', 'French']
    >>> language_of("Is the picture sharp?")
    """
    for name, letters in vocabulary("languages")["scripts"].items():
        if re.search(f"[{letters}]", text):
            return _known_languages().get(name, Language(name))
    words = [word.casefold() for word in _WORD.findall(text) if word[0].isalnum()]
    known = {name: sum(word in told for word in words) for name, told in _telling_words().items()}
    best = max(known, key=lambda name: known[name])
    in_english = sum(word in known_words() for word in words)
    if known[best] < min(_FEWEST_WORDS, len(words)) or known[best] <= in_english:
        return None
    return _known_languages().get(best, Language(best))


def in_english(text: str, language: Language) -> str:
    """A text with the words that are known of its language put into English; others stay as they are.

    >>> in_english("Ist das Bild sehr dunkel?", language_of("Ist das Bild sehr dunkel?"))
    'is the picture very dark ?'
    """
    plain = text.translate(_WIDE_MARKS).casefold()
    words = list(_segmented(plain, language)) if language.name == "Chinese" else _WORD.findall(plain)
    said: list[str] = []
    at = 0
    while at < len(words):
        length = next((n for n in range(language.longest, 1, -1) if _joined(words, at, n) in language.english), 1)
        phrase = _joined(words, at, length)
        said.append(language.english.get(phrase, phrase))
        at += length
    return " ".join(said)


def _joined(words: list[str], at: int, length: int) -> str:
    return " ".join(words[at : at + length])


def _segmented(text: str, language: Language) -> Iterator[str]:
    """Chinese writes no blanks: the longest known word from each place on; what is not known is left out."""
    longest = max(map(len, language.english))
    at = 0
    while at < len(text):
        length = next((n for n in range(longest, 0, -1) if text[at : at + n] in language.english), 1)
        piece = text[at : at + length]
        if piece in language.english or piece.isascii():
            yield piece
        at += length


@cache
def _known_languages() -> dict[str, Language]:
    found: dict[str, Language] = {}
    for name, entry in vocabulary("languages").items():
        if "english" in entry:
            english = {word: meant for meant, words in entry["english"].items() for word in listed(words)}
            found[name] = Language(name, english | _words_of_properties(entry["code"]))
    return found


def _words_of_properties(code: str) -> dict[str, str]:
    """A word for a property, and the first English word that claims the same."""
    english: dict[str, str] = {}
    for entry in vocabulary("properties").values():
        for key, words in entry.get("elsewhere", {}).get(code, {}).items():
            meant = listed(entry[key])[0]
            english |= {word.replace("-", " "): meant for word in listed(words)}
    return english


@cache
def _telling_words() -> dict[str, frozenset[str]]:
    known = {language.name: frozenset(language.english) for language in _known_languages().values()}
    told = {name: frozenset(listed(words)) for name, words in vocabulary("languages")["told_by"].items()}
    return known | told


# --- The form of a question as the rest of the embedded backend words it ---


Form = Literal["rating", "yes-no", "which-of-options", "degree", "what", "why", "where", "compare", "describe"]

_DESCRIBE = word_set("rank describe explain list name identify mention summarize discuss analyze analyse comment")


def form_of(meaning: Meaning, items: Sequence[Item]) -> Form:
    """The form in these words.

    >>> from agenticiqa.embedded.language.meaning.reader import meaning_of
    >>> from agenticiqa.embedded.language.tagging import tagged
    >>> form_of(meaning_of("How noisy is the sky?", {}), tagged("How noisy is the sky?"))
    'degree'
    """
    words = [item.plain for item in items]
    if meaning.form == "yes_no":
        return "yes-no"
    if meaning.property == "quality" and not meaning.options:
        return "rating"
    if meaning.form in ("where", "compare", "degree", "rating"):
        return meaning.form
    if meaning.options:
        return "which-of-options"
    if "why" in words[:2]:
        return "why"
    return "describe" if _DESCRIBE & set(words[:4]) else "what"


# --- Understanding a question about a picture ---


__all__ = ["NamedDistortion", "ParsedQuestion", "read_question", "understand"]

_MIN_ENGLISH_SHARE = 0.3
_NAMED_TOOL = re.compile(
    r"\b(?:use|using|with|by|via|apply|run|try)\s+(?:the\s+)?([A-Za-z][\w.+-]*)\s+"
    r"(?:metrics?|index|tool|algorithm|measure|score|model)\b",
    re.IGNORECASE,
)
# "the sky", "man's face": so few words that a thing among them must be what is meant.
_TERSE = 5


@dataclass(frozen=True)
class ParsedQuestion:
    """All that was understood of a question."""

    text: str
    type: Literal["IQA", "Other"]
    form: Form
    scope: tuple[ScopeObject, ...] = ()
    distortions: tuple[NamedDistortion, ...] = ()
    tools: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    attribute: str | None = None
    """The category asked about, when it is one."""
    english: bool = True
    """False when the text does not look like English: answers should then be hedged."""
    language: str | None = ENGLISH
    """None where neither letters nor words tell."""
    unknown_tools: tuple[str, ...] = ()
    """Metrics that the question names and nobody here knows."""
    meaning: Meaning = field(default=NOT_UNDERSTOOD)
    """Property, part, form and polarity, and what each option claims; form and the rest here follow from it."""


def understand(query: str, options: Sequence[str] | None = None, *, has_reference: bool = False) -> ParsedQuestion:
    """Read a question.

    >>> question = understand("How blurry is the building on the left?")
    >>> question.form, question.scope[0].noun, question.scope[0].position, question.distortions[0].category
    ('degree', 'building', 'left', 'Blurs')
    >>> understand("Rate the picture with NIQE").tools
    ('NIQE',)
    """
    alone, texts = split_options(query[:MAX_CHARS], options)
    return read_question(alone, texts, has_reference=has_reference)


def read_question(text: str, options: Mapping[str, str], *, has_reference: bool = False) -> ParsedQuestion:
    """:func:`understand` for a question whose options are known already."""
    language = language_of(text)
    said = {letter: in_english(option, language) for letter, option in options.items()} if language else options
    claims = tuple(replace(option, text=options[option.letter]) for option in read_options(said))
    return _QuestionReader(text[:MAX_CHARS], claims, has_reference).result()


class _QuestionReader:
    """One question on its way from text to meaning."""

    def __init__(self, text: str, options: tuple[Option, ...], has_reference: bool) -> None:
        self.text = text
        self.has_reference = has_reference
        self.language = language_of(text)
        read = in_english(text, self.language) if self.language else text
        self.items = tagged(read)
        self.options = options or _alternatives(self.items)
        self.given_options = options
        # What was put into English can be read like English; what a language without known words says cannot.
        self.english = bool(self.language.english) if self.language else _looks_english(self.items)
        self.meaning = self._meaning(read)

    def _meaning(self, read: str) -> Meaning:
        texts = {option.letter: option.text for option in self.options}
        if self.language and not self.language.english:
            options = tuple(OptionMeaning(letter, text) for letter, text in texts.items())
            return replace(NOT_UNDERSTOOD, text=self.text, options=options)
        if self.language:
            said = {letter: in_english(text, self.language) for letter, text in texts.items()}
            meaning = meaning_of(read, said, self.items)
            options = tuple(replace(each, text=texts[each.letter]) for each in meaning.options)
            return replace(meaning, text=self.text, options=options)
        return meaning_of(read, texts, self.items)

    def result(self) -> ParsedQuestion:
        tools = self._tools()
        kind = self._type(bool(tools))
        found = self._mentions(kind)
        named = with_polarity(self._named(found), self.meaning)
        if kind == "IQA" and not named:
            named = _named_by_options(self.given_options) or named_by_meaning(self.meaning)
        scope = tuple(mention.object for mention in found if not self._is_value(mention))
        if kind == "IQA" and all(self._is_asked_for(mention) for mention in found):
            scope = _regions_of_options(self.given_options) or scope
        categories = {item.category for item in named if not item.from_options}
        return ParsedQuestion(
            text=self.text,
            type=kind,
            form=self._form(kind),
            scope=scope,
            distortions=named,
            tools=tools,
            options=with_degrees(self.options, self.meaning, named),
            attribute=categories.pop() if len(categories) == 1 else None,
            english=self.english and not self.language,
            language=self.language.name if self.language else ENGLISH if self.english else None,
            unknown_tools=self._unknown_tools(),
            meaning=self.meaning,
        )

    def _form(self, kind: str) -> Form:
        form = form_of(self.meaning, self.items)
        if kind == "Other":
            return "what" if form == "rating" and not self._technical() else form
        asked = self.english and (self._technical() or (self._opens_question() and form != "what"))
        return form if asked or self.options else "rating"

    # --- what is named ---

    def _mentions(self, kind: str) -> list[Mention]:
        """Names count in a question; a text that asks for nothing we know (a query language, an order) names none."""
        found = mentions(self.items)
        asked = kind == "Other" or self._technical() or any(item.tag == "tool" for item in self.items)
        if asked and self.english:
            return found
        if not self.english or len(self.items) > _TERSE:
            return []
        return [m for m in found if any(item.tag == "noun" for item in self.items[m.start : m.end])]

    def _is_asked_for(self, mention: Mention) -> bool:
        """ "Which corner is darkest?" with four corners to choose from is about those four."""
        return mention.start > 0 and self.items[mention.start - 1].plain == "which"

    def _is_value(self, mention: Mention) -> bool:
        """ "to print at A3", "a screenshot", "how many stars": what is asked for, not what it is asked of."""
        asked, named = self.meaning.known(), mention.object
        if asked is None:
            return False
        if (asked.name == "quality" and named.noun in UNITS) or plain_words(named.name) in asked.degrees:
            return True
        any_such = mention.start > 0 and self.items[mention.start - 1].plain in ("a", "an")
        return any_such and plain_words(named.name) in asked.values

    def _tools(self) -> tuple[str, ...]:
        wanted = (
            tool_for(_tool_alias(item), has_reference=self.has_reference)
            for at, item in enumerate(self.items)
            if item.tag == "tool" and not negated(self.items, at)
        )
        return tuple(dict.fromkeys(wanted))

    def _unknown_tools(self) -> tuple[str, ...]:
        """ "Use the FooBar metric": a name beside a word for tools that names none."""
        tools = {item.plain for item in self.items if item.tag == "tool"}
        return tuple(
            found[1]
            for found in _NAMED_TOOL.finditer(self.text)
            if plain_words(found[1]) not in tools and plain_words(found[1]) not in known_words()
        )

    def _named(self, found: Sequence[Mention]) -> tuple[NamedDistortion, ...]:
        spots = [at for at, item in enumerate(self.items) if item.term and at not in _asked_colors(self.items)]
        objects_of = objects_by_distortion(self.items, spots, found)
        named: dict[tuple[str, str, tuple[str, ...]], NamedDistortion] = {}
        for at in spots:
            term = self.items[at].term
            if term is None:
                continue
            objects = objects_of.get(at, ())
            entry = NamedDistortion(
                term.category, term.kind, term.polarity, negated(self.items, at), self.items[at].plain, objects
            )
            named.setdefault((term.category, term.kind, objects), entry)
        return tuple(named.values())

    # --- what it is about ---

    def _type(self, has_tools: bool) -> Literal["IQA", "Other"]:
        if has_tools:
            return "IQA"
        if self._is_outside() or self._wants_advice_only() or any(item.tag == "aesthetic" for item in self.items):
            return "Other"
        # What mends a picture follows from what is wrong with it.
        if self._distorted() or self.meaning.form == "advice":
            return "IQA"
        if _asked_colors(self.items) or _contains(self.items, CONTENT_WORDS):
            return "Other"
        return "Other" if not self._technical() and self._asks_something() else "IQA"

    def _wants_advice_only(self) -> bool:
        """ "Give me some advice on this photo": no question, and no rating either."""
        return self.meaning.form == "advice" and not self._opens_question()

    def _is_outside(self) -> bool:
        """ "Write me a poem": nothing that is asked of a picture as a picture."""
        said = f" {' '.join(token.plain for item in self.items for token in item.tokens)} "
        return self.meaning.property is None and any(f" {p} " in said for p in word_list("subjects", "outside"))

    def _distorted(self) -> bool:
        colors = _asked_colors(self.items)
        in_question = any(item.term and at not in colors for at, item in enumerate(self.items))
        in_options = not colors and any(option.claim.kind == "distortion" for option in self.given_options)
        content = bool(colors) or _contains(self.items, CONTENT_WORDS)
        return in_question or in_options or (not content and claims_damage(self.meaning))

    def _technical(self) -> bool:
        levels = any(option.claim.kind == "level" for option in self.given_options)
        return self._distorted() or levels or _contains(self.items, QUALITY_WORDS)

    def _asks_something(self) -> bool:
        """An English question that names a thing or says a word of its own, none of them technical."""
        tags = {item.tag for item in self.items}
        return self._opens_question() and self.english and bool({"noun", "unknown", "position", "verb"} & tags)

    def _opens_question(self) -> bool:
        if "?" in self.text:
            return True
        skipped = ("degree", "filler", "mark", "adverb", "tie", "preposition")
        first = next((item.tag for item in self.items if item.tag not in skipped), None)
        return first in ("question", "auxiliary")


def _tool_alias(item: Item) -> str:
    return "unique metric" if item.plain == "unique" else item.plain


def _contains(items: Sequence[Item], words: frozenset[str]) -> bool:
    text = f" {' '.join(item.plain for item in items)} "
    singles = {form for item in items for token in item.tokens for form in singular_forms(token.plain)}
    return bool(singles & words) or any(f" {phrase} " in text for phrase in words if " " in phrase)


def _asked_colors(items: Sequence[Item]) -> frozenset[int]:
    """ "What colour is the car?" asks what is there, not how well its colours came out."""
    return frozenset(
        at
        for at, item in enumerate(items)
        if at and item.plain in ("color", "colors") and items[at - 1].plain in ("what", "which")
        and at + 1 < len(items) and items[at + 1].tag == "auxiliary"
    )  # fmt: skip


def _named_by_options(options: Iterable[Option]) -> tuple[NamedDistortion, ...]:
    named: dict[tuple[str, str], NamedDistortion] = {}
    for option in options:
        claim = option.claim
        if claim.kind == "distortion" and claim.category and claim.distortion:
            polarity: Polarity = "good" if claim.polarity == "good" else "bad" if claim.polarity == "bad" else "neutral"
            named.setdefault(
                (claim.category, claim.distortion),
                NamedDistortion(
                    claim.category, claim.distortion, polarity, claim.negated, option.text, from_options=True
                ),
            )
    return tuple(named.values())


def _regions_of_options(options: Sequence[Option]) -> tuple[ScopeObject, ...]:
    """The places to compare when they stand in the options only: "Which part is blurriest? The sky / The tree"."""
    regions = [option.claim.region for option in options if option.claim.kind == "region" and option.claim.region]
    return tuple(dict.fromkeys(regions)) if 2 * len(regions) > len(options) else ()


def _alternatives(items: Sequence[Item]) -> tuple[Option, ...]:
    """ "Is it sharp or blurry?" offers two answers without letters, "Is it noisy, blurry or dark?" three."""
    for at, item in enumerate(items):
        if item.plain == "or" and 0 < at < len(items) - 1:
            before = [each for each in items[:at] if each.plain != ","] if items[at - 1].plain == "," else items[:at]
            sides = [_side_words(before, last=True), _side_words(items[at + 1 :], last=False)]
            if not all(sides):
                sides = _opposites(items, at)
            if all(sides):
                texts = [*_listed_before(items[:at], sides[0]), *sides]
                return read_options({chr(ord("A") + place): text for place, text in enumerate(texts)})
    return ()


def _opposites(items: Sequence[Item], at: int) -> list[str]:
    """The two ends of one property on both sides of an "or": "generated or real"."""
    before, after = items[at - 1].plain, items[at + 1].plain
    left, right = claimed_sense(before), claimed_sense(after)
    opposed = left and right and left.property == right.property and left.end * right.end < 0
    return [before, after] if opposed else [""]


def _listed_before(items: Sequence[Item], first: str) -> list[str]:
    """What a list names before its last two: "noisy" of "noisy, blurry or dark"."""
    terms = [(at, item) for at, item in enumerate(items) if item.term]
    return [
        item.plain for at, item in terms
        if item.plain != first and at + 1 < len(items) and items[at + 1].plain == ","
    ]  # fmt: skip


def _side_words(items: Sequence[Item], *, last: bool) -> str:
    terms = [item for item in items if item.term]
    if terms and (items[-1] if last else items[0]).term:
        return (terms[-1] if last else terms[0]).plain
    found = mentions(items)
    if not found:
        return ""
    near = found[-1] if last else found[0]
    return near.object.name if (near.end == len(items) if last else near.start <= 1) else ""


def _looks_english(items: Sequence[Item]) -> bool:
    words = [token.plain for item in items for token in item.tokens if not token.is_mark]
    if not words:
        return True
    latin = sum(word.isascii() for word in words)
    known = sum(any(form in known_words() for form in singular_forms(word)) or word.isdigit() for word in words)
    return latin * 2 > len(words) and (len(words) < 3 or known >= _MIN_ENGLISH_SHARE * len(words))
