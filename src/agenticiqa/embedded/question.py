"""A question as the embedded backend understands it: what it asks, of which part, in which form, with which options.

The words are read by the taught network of :mod:`agenticiqa.embedded.reader`. By hand are only the things that are
counted and not understood: numbers and scales of options, what "can't tell" and "none of them" stand for, the two sides
of an "or", and names of measuring tools.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, cast

from agenticiqa._data import read_data
from agenticiqa.answers import MAX_OPTIONS, lettered, split_question
from agenticiqa.embedded.parts import Part, parse_part, position_in
from agenticiqa.embedded.properties import Property, properties
from agenticiqa.embedded.reader import question_reader
from agenticiqa.tools.catalogue import tool_by_alias, tool_for
from agenticiqa.vocabulary import distortion_terms, plain_spelling, plain_words

Form = Literal[
    "yes_no", "either_or", "degree", "which", "where", "why", "what_is_wrong", "how_to_fix", "good_enough", "compare",
    "rate", "describe", "follow_up", "not_about_quality", "other_language",
]  # fmt: skip

MAX_CHARS = 4000
UNSURE = 0.5
"""A reading below this chance is said with the answer, and the next one is offered."""
_ALSO_ASKED = 0.5
_OWN_CLAIM = 0.35
"""The least chance at which an option is taken to name a property of its own."""
_SAID = {name: re.compile("|".join(forms), re.I) for name, forms in read_data("embedded/option_words.yaml").items()}
"""What options say that claim no amount of anything."""
_NUMBER = re.compile(r"^\W*(\d+(?:\.\d+)?)\s*(?:%|percent|stars?|points?|/\s*\d+|out of \d+)?\W*$", re.I)
_NAMED_TOOL = re.compile(
    r"\b(?:use|using|with|by|via|apply|run|try)\s+(?:the\s+)?([A-Za-z][\w.+-]*)\s+"
    r"(?:metrics?|index|tool|algorithm|measure|score|model)\b",
    re.I,
)
_TOOL_WORD = re.compile(r"[A-Za-z][\w-]*")
_REFUSED = re.compile(r"\b(?:don ?t|do not|without|not|never|no need for)\s+(?:\w+\s+){0,3}$", re.I)


@dataclass(frozen=True)
class OptionMeaning:
    """What one option says: an amount of a property, a claim by name, or both."""

    letter: str
    text: str
    property: str | None = None
    """The property that ``amount`` is of: the one asked about, or one that only this option names."""
    amount: float | None = None
    """0 (none of the property) to 1 (as much as can be)."""
    claim: str | None = None
    """Off the axis: a property, a place, a value; none, all, same, not_present or unknown."""
    part: Part | None = None
    """The part that it names, where parts or places are to choose from."""


@dataclass(frozen=True)
class Meaning:
    """A question, understood."""

    text: str
    property: str | None = None
    """The entry of ``properties.yaml`` that is asked about; None where none is."""
    form: Form = "describe"
    end: int = 0
    """1: the wording (or a yes) names much of the property, -1 little; 0: it names no end."""
    parts: tuple[Part, ...] = ()
    """The parts of the picture it is asked of; none for the whole."""
    also: tuple[str, ...] = ()
    """Further properties that a double question asks about."""
    options: tuple[OptionMeaning, ...] = ()
    chances: Mapping[str, float] = field(default_factory=dict)
    """How sure the reading is: of the property, the form and the end."""
    next_property: str | None = None
    """What the question would mean if it does not mean ``property``."""
    offered: bool = False
    """Whether the options were given to choose from; else they are the two sides of an "or"."""
    follows: Literal["why", "sure", "fix", "unclear"] | None = None
    """In a thread: what is asked of the answer to this question, which was asked before."""
    answered: str | None = None
    """That answer, as it was given."""

    @cached_property
    def polarity(self) -> int:
        """The end that a yes claims; of "which flaw", -1 asks for one that is not there."""
        return -1 if self.end < 0 else 1

    @cached_property
    def compares(self) -> bool:
        """Whether parts or places are set against each other."""
        return self.form in ("compare", "where") or (self.form in ("degree", "describe") and len(self.parts) > 1)

    @cached_property
    def is_unsure(self) -> bool:
        return self.chances.get("property", 1.0) < UNSURE

    def known(self) -> Property | None:
        """The entry of the property."""
        return properties()[self.property] if self.property else None

    def value(self) -> str | None:
        """The value that the question itself names, of a property with values: "screenshot"."""
        known = self.known()
        return known.value_in(self.text) if known and known.values else None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        known = self.known()
        return {
            "question": self.text,
            "property": self.property,
            "title": known.title if known else None,
            "explanation": known.sentence if known else None,
            "reading": dict(known.reading) if known else None,
            "also": list(self.also),
            "parts": [part.name for part in self.parts],
            "form": self.form,
            "direction": {1: "high", -1: "low", 0: "none"}[self.end],
            "chances": {name: round(chance, 3) for name, chance in self.chances.items()},
            "next_property": self.next_property,
            "options": [
                asdict(each) | {"part": each.part.name if each.part else None} for each in self.options
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class ParsedQuestion:
    """A question's meaning, and the measuring tools that it names."""

    meaning: Meaning
    tools: tuple[str, ...] = ()
    unknown_tools: tuple[str, ...] = ()
    """Metrics that the question names and that nothing here knows."""


def understand(query: str, options: Sequence[str] | None = None, *, has_reference: bool = False) -> ParsedQuestion:
    """Read a question, with the options that are given beside it or that it lists itself.

    >>> question = understand("How blurry is the building on the left?").meaning
    >>> question.form, question.parts[0].noun, question.parts[0].position, question.property, question.end
    ('degree', 'building', 'left', 'sharp', -1)
    >>> understand("Rate the picture with NIQE").tools
    ('NIQE',)
    """
    alone, listed = split_question(query[:MAX_CHARS])
    usable = [text for text in options or () if text.strip()][:MAX_OPTIONS]
    texts = lettered(usable) if len(usable) > 1 else listed
    return read_question(alone, texts, has_reference=has_reference)


def read_question(text: str, options: Mapping[str, str], *, has_reference: bool = False) -> ParsedQuestion:
    """:func:`understand` for a question whose options are known already."""
    tools = _tools(text, has_reference=has_reference)
    unknown = tuple(
        name
        for name in _NAMED_TOOL.findall(text)
        # Written as metrics are: with capitals or digits inside.
        if any(each.isupper() or each.isdigit() for each in name[1:]) and plain_words(name) not in tool_by_alias()
    )
    # To the reader a tool's name is a word it never met; what it stands for is a score.
    names = tool_by_alias().keys() - {"sharpness", "noise"}
    said = _TOOL_WORD.sub(lambda it: "quality score" if plain_words(it[0]) in names else it[0], text) if tools else text
    meaning = _meaning(said[:MAX_CHARS], tuple(options.items()))
    return ParsedQuestion(replace(meaning, text=text[:MAX_CHARS]), tools, unknown)


@lru_cache(maxsize=256)
def _meaning(text: str, options: tuple[tuple[str, str], ...]) -> Meaning:
    if not re.search(r"\w", text) and not options:
        return Meaning(text, "quality", "rate")
    read = question_reader().read(text, [option for _, option in options])
    form = cast("Form", max(read.forms, key=lambda name: read.forms[name]))
    ranked = sorted(read.properties, key=lambda name: -read.properties[name])
    parts = tuple(parse_part(text[start:stop]) for start, stop in read.parts)
    nouns = {part.noun for part in parts}
    if form == "compare" and options and len(nouns) > 1 and nouns.isdisjoint(parse_part(it).noun for _, it in options):
        form = "degree"  # "blurrier, sharper or the same?" asks how the first part stands to the second
    name = None if ranked[0] == "none" or form in ("not_about_quality", "other_language") else ranked[0]
    end = max(read.ends, key=lambda side: read.ends[side])
    if name == "background_blurred" and end < 0 and ranked[1] in ("sharp", "in_focus"):
        name = ranked[1]  # "Is the road behind them blurred?": the end is that of sharpness
    also = tuple(other for other, chance in read.also.items() if chance > _ALSO_ASKED and other not in (name, "none"))
    # Of "blurry and compressed?" each is as likely to lead: together they are what is asked.
    sure = read.properties[ranked[0]]
    if " and " in text and ranked[1] != "none" and read.properties[ranked[1]] > sure / 2:
        sure += read.properties[ranked[1]]
    meaning = Meaning(
        text,
        name,
        form,
        end if name else 0,
        parts,
        also if name else (),
        chances={"property": sure, "form": read.forms[form], "direction": read.ends[end]},
        next_property=next((other for other in ranked[1:] if other != "none"), None),
    )
    if options:
        amounts = _amounts_of(read.amounts, read.claims)
        given = [_option(meaning, *each, amount) for each, amount in zip(options, amounts, strict=True)]
        return replace(meaning, options=_scaled(meaning, given), offered=True)
    if form == "either_or" and _THERE.match(text) and not re.search(r"\bor (?:not|is|are)\b", text, re.I):
        return replace(meaning, form="yes_no")  # "is there any halo or ringing?" offers two names, not two answers
    if form == "either_or" and (sides := alternatives(text, meaning.parts)):
        beside = question_reader().read(text, sides)
        amounts = _amounts_of(beside.amounts, beside.claims)
        given = _opposed([_option(meaning, "AB"[at], side, amounts[at]) for at, side in enumerate(sides)])
        return replace(meaning, form="yes_no") if _say_the_same(*given) else replace(meaning, options=tuple(given))
    return meaning


def _opposed(sides: list[OptionMeaning]) -> list[OptionMeaning]:
    """Of two sides of which only one is read on the axis, the other stands for its other end: "generated or real?"."""
    read = [side for side in sides if side.amount is not None]
    if len(read) != 1 or any(side.claim for side in sides if side.amount is None):
        return sides
    other = replace(read[0], amount=round(1 - (read[0].amount or 0.0), 3), claim=None)
    return [side if side.amount is not None else replace(other, letter=side.letter, text=side.text) for side in sides]


def _say_the_same(one: OptionMeaning, other: OptionMeaning) -> bool:
    """Whether two sides are two names of one thing: "any noise or grain?"."""
    if one.property is None or one.property != other.property or one.amount is None or other.amount is None:
        return False
    return (one.amount > 0.5) == (other.amount > 0.5) and one.text.split()[0].casefold() in _ANY


_THERE = re.compile(r"^\W*(?:is|are|was|were|do you see|can you see)\s+(?:there|any|much)\b", re.I)


# --- options ---


def _option(meaning: Meaning, letter: str, text: str, amount: float | None) -> OptionMeaning:
    """By hand what claims nothing and a plain yes or no; amounts by the network; else what the option itself names."""
    known, found = meaning.known(), OptionMeaning(letter, text)
    for claim in ("unknown", "not_present"):
        if _SAID[claim].search(text):
            return replace(found, claim=claim)
    yes, no = (bool(_SAID[word].match(text)) for word in ("yes", "no"))
    if known is not None and known.has_scale and meaning.form not in ("which", "where", "compare"):
        if meaning.end and (yes or no):
            amount = float(yes == (meaning.end > 0))
        if amount is not None:
            return replace(found, property=known.name, amount=round(amount, 3), claim=known.value_in(text))
    elif known is not None and meaning.form in ("yes_no", "good_enough") and (yes or no):
        return replace(found, property=known.name, amount=float(yes))
    same = meaning.compares and _SAID["same"].search(text)
    common = "same" if same else next((word for word in ("none", "all") if _SAID[word].search(text)), None)
    found = replace(found, claim=common or (known.value_in(text) if known else None))
    if found.claim is None and meaning.form in ("where", "compare"):
        named = parse_part(f"{text[:1].lower()}{text[1:]}")
        part = next((each for each in meaning.parts if each.noun == named.noun), named)
        return replace(found, claim=position_in(text) or part.name, part=part)
    if found.claim is None and (own := own_claim(text)):
        return replace(found, property=own[0], amount=1.0 if own[1] > 0 else 0.0, claim=own[0])
    return found


def _amounts_of(amounts: Sequence[float], claims: Sequence[float]) -> list[float | None]:
    """Where most options of a list claim an amount, all do that do not say otherwise."""
    most = 2 * sum(chance > 0.5 for chance in claims) > len(claims)
    return [amount if chance > (0.1 if most else 0.5) else None for amount, chance in zip(amounts, claims, strict=True)]


@lru_cache(maxsize=256)
def own_claim(text: str) -> tuple[str, int] | None:
    """The property that a text names by itself, and the end it claims.

    >>> own_claim("Motion blur"), own_claim("Too dark"), own_claim("Not in focus")
    (('motion_blurred', 1), ('underexposed', 1), ('in_focus', -1))
    """
    read = question_reader().read(text)
    name = max(read.properties, key=lambda each: read.properties[each])
    unread = name == "none" or read.properties[name] < _OWN_CLAIM
    said, terms = plain_spelling(text.strip(" .,;!?")), distortion_terms()
    term = terms.get(said) or terms.get(said.rsplit(" ", maxsplit=1)[-1])
    if term is not None and (unread or properties()[name].kind is None):
        # The vocabulary's own names of damage, where the network takes them for something else.
        of_kind = [each for each in properties().values() if each.kind == term.kind]
        of_category = [each for each in properties().values() if each.category == term.category]
        meant = (of_kind or of_category)[0]
        bad = meant.bad_end or 1
        return meant.name, -bad if term.polarity == "good" else bad
    return None if unread else (name, 1 if read.ends[1] >= read.ends[-1] else -1)


def _scaled(meaning: Meaning, given: Sequence[OptionMeaning]) -> tuple[OptionMeaning, ...]:
    """Options that are numbers lie between the smallest and the largest of them."""
    numbers = {each.letter: float(found[1]) for each in given if (found := _NUMBER.match(each.text))}
    known = meaning.known()
    if len(set(numbers.values())) < 2 or known is None or not known.has_scale:
        return tuple(given)
    low, high = min(numbers.values()), max(numbers.values())
    shares = {letter: (number - low) / (high - low) for letter, number in numbers.items()}
    return tuple(
        replace(each, property=known.name, claim=None, amount=round(1 - share if meaning.end < 0 else share, 3))
        if (share := shares.get(each.letter)) is not None
        else each
        for each in given
    )


# --- "sharp or soft?" ---

_OR = re.compile(r",?\s+\bor\b\s+", re.I)
_ENDS_SIDE = re.compile(r"[?.!,;:]|\s-\s")
_OPENING = re.compile(
    r"^(?:(?:is|are|was|were|does|do|did|has|have|would|should|can|could|will|it|this|that|they|the|a|an|you|say|call|"
    r"look|looks|rather|just|picture|image|photo|shot|pic|here|to|been|be)\b[\s,]*)+",
    re.I,
)
_MOST_WORDS = 5
_ANY = frozenset({"any", "some", "much", "a", "no"})
_ASIDE = re.compile(r"\s+(?:do|would|did) you (?:think|say|reckon|find)\b.*$|\s+(?:please|pls)\W*$", re.I)
_GOES_ON = re.compile(r"\s+(?:for|because|due|when|since|in|on|at|with|instead|given)\b", re.I)
_ADVERBS = frozenset({
    "too", "a", "bit", "very", "rather", "quite", "slightly", "little", "just", "over", "under", "well", "in", "out",
    "of",
})  # fmt: skip


def alternatives(text: str, parts: Sequence[Part] = ()) -> tuple[str, str] | None:
    """The two sides of an "or"; None where they cannot be told.

    >>> alternatives("keep or delete?"), alternatives("Is the sky too dark or fine?", [parse_part("the sky")])
    (('keep', 'delete'), ('too dark', 'fine'))
    """
    found = _OR.search(text)
    if found is None:
        return None
    before = _ENDS_SIDE.split(text[: found.start()])[-1].strip()
    for part in parts:
        before = re.sub(rf"^.*?\b{re.escape(part.name)}\b", "", before, flags=re.I).strip()
    after = _OPENING.sub("", _ENDS_SIDE.split(text[found.end() :])[0].strip())
    after = _ASIDE.sub("", after)
    if len(after.split()) > _MOST_WORDS:
        after = " ".join((_GOES_ON.split(after, maxsplit=1)[0] or after).split()[:_MOST_WORDS])
    # As many words as the other side has, with the adverbs before them.
    before = re.sub(r"(?<=\w)\s+too$", "", before, flags=re.I)  # "in focus too, or blurred?"
    words, wanted = _OPENING.sub("", before).split(), max(1, len(after.split()))
    start = max(0, len(words) - wanted)
    while start > 0 and words[start - 1].casefold() in _ADVERBS:
        start -= 1
    before = " ".join(words[start:])
    return (before, after) if before and after else None


# --- tools ---


def _tools(text: str, *, has_reference: bool) -> tuple[str, ...]:
    """Measuring tools that the question names and does not refuse, in its order."""
    said = f" {re.sub(r'[^a-z0-9]+', ' ', plain_words(text))} "
    found: dict[int, str] = {}
    for alias in sorted(tool_by_alias(), key=len, reverse=True):
        at = said.find(f" {alias} ")
        if at >= 0 and not any(start <= at < start + len(other) for start, other in found.items()):
            found[at] = alias
    wanted = (found[at] for at in sorted(found) if not _REFUSED.search(said[: at + 1]))
    return tuple(dict.fromkeys(tool_for(alias, has_reference=has_reference) for alias in wanted))
