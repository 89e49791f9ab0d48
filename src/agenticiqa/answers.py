"""Read questions and answers as people and models write them.

Finds the options in a question ("A. … B. …", "(a) …", one per line or inline), tells whether it asks for a rating, and
turns a model's wording of an answer ("The answer is B.", "Excellent", "Answer: D") into the option or level it means.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from agenticiqa.errors import QueryError
from agenticiqa.vocabulary import LETTER_LEVELS, LEVEL_NAMES

MAX_OPTIONS = 26
MAX_SLASHED_WORDS = 8

# A letter with its mark: "A.", "A)", "(a)", "A:", "[A]", "A -". The mark must be followed by text; directly ("A.Yes")
# only where a capital or brackets leave no doubt.
_MARKED = re.compile(
    r"(?:(?<=^)|(?<=[\s?.!:;,(？。：；，、（]))"
    r"(?:\((?P<round>[A-Za-z])\)\s*|\[(?P<square>[A-Za-z])\]\s*"
    r"|(?P<bare>[A-Za-z])(?:[.):]|\s?[-–])\s+|(?P<tight>[A-Z])[.)](?=\w))(?=\S)",
    re.MULTILINE,
)
# Letters without a mark: "A too dark B fine C too bright".
_UNMARKED = re.compile(r"(?<!\S)([A-H])\s+(?=[a-z])")


def parse_options(text: str) -> dict[str, str]:
    """The answer options a question lists, by upper-case letter; empty when it lists none."""
    return split_question(text)[1]


def split_question(text: str) -> tuple[str, dict[str, str]]:
    """The question alone, and the options it lists."""
    if marks := _option_marks(text):
        options = {_letter(mark): option for mark, option in _with_texts(marks, text)}
        return text[: marks[0].start()].strip(), options
    # Short alternatives between slashes behind the question mark, or behind a colon where there is none.
    question, mark, tail = text.rpartition("?" if "?" in text else ": ")
    parts = [part.strip() for part in tail.split("/")]
    short = all(part and len(part.split()) <= MAX_SLASHED_WORDS for part in parts)
    if mark and short and 2 <= len(parts) <= MAX_OPTIONS:
        return f"{question}{mark}".strip(), dict(zip(ascii_uppercase, parts, strict=False))
    return text.strip(), {}


def _option_marks(text: str) -> list[re.Match[str]]:
    """The last run A, B, C, … in the text: an "A." in the question itself does not start one."""
    # A mark with nothing behind it is an abbreviation ("a. b.").
    marks = [mark for mark, option in _with_texts(list(_MARKED.finditer(text)), text) if option]
    letters = [_letter(mark) for mark in marks]
    if "A" not in letters or "B" not in letters:
        plain = list(_UNMARKED.finditer(text))
        in_order = "".join(map(_letter, plain)) == ascii_uppercase[: len(plain)]
        return plain if len(plain) > 2 and in_order and text[: plain[0].start()].strip() else []
    last_b = len(letters) - 1 - letters[::-1].index("B")
    starts = [i for i, letter in enumerate(letters[:last_b]) if letter == "A"]
    run: list[re.Match[str]] = []
    # In order; anything between them is text of the option before.
    for mark in marks[starts[-1] :] if starts else []:
        if len(run) < MAX_OPTIONS and _letter(mark) == ascii_uppercase[len(run)]:
            run.append(mark)
    return run


def _letter(mark: re.Match[str]) -> str:
    return next(letter for letter in mark.groups() if letter).upper()


def _with_texts(marks: Sequence[re.Match[str]], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each mark with the text up to the next one, without punctuation and brackets of the list."""
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), len(text)], strict=False):
        option = re.sub(r"[\s,;]*(?:\n\s*[-*•])?\s*$", "", text[mark.end() : end].strip())
        option = option.rstrip("? ") if mark.re is _UNMARKED else option
        unopened = option.endswith(")") and option.count(")") > option.count("(")
        yield mark, option[:-1].strip() if unopened else option


def lettered(options: Sequence[str]) -> dict[str, str]:
    """Options given as a list; letters they already carry are taken off."""
    stripped = [option.strip() for option in options]
    if not 2 <= len(stripped) <= MAX_OPTIONS or not all(stripped):
        raise QueryError(
            f"Answer options must be 2 to {MAX_OPTIONS} texts.", hint="Give each with --option.", client_hint=""
        )
    marks = [_MARKED.match(option) for option in stripped]
    expected = list(ascii_uppercase[: len(stripped)])
    if all(mark and _letter(mark) == letter for mark, letter in zip(marks, expected, strict=True)):
        stripped = [option[mark.end() :].strip() for option, mark in zip(stripped, marks, strict=True) if mark]
    return dict(zip(expected, stripped, strict=True))


# --- what kind of question ---

_COURTESY = re.compile(
    r"^\s*(?:(?:please|kindly|(?:can|could|would|will)\s+you|i(?:'d|\s+would)\s+like\s+you\s+to)[\s,]+)*", re.IGNORECASE
)
_RATED_NOUN = (
    r"(?:quality(?:\s+(?:level|score|rating))?|score|rating|grade|mos)"
    r"(?=\s*(?:[?.!,;]|$)|\s+(?:of|for|like|would|does)\b)"
)
_RATING = re.compile(
    r"\b(rat(?:e|es|ed|ing)|scor(?:e|es|ed|ing)|grad(?:e|es|ed|ing)|assess|evaluate|judge|quantify|mos)\b"
    r"|\bhow\s+(?:good|bad)\b|\b(?:overall|perceptual|perceived|image|picture|visual|technical)\s+quality\b"
    r"|\bquality\s+(?:level|of)\b|\bquality\s*\W*$",
    re.IGNORECASE,
)
_NON_RATING = re.compile(
    r"^(?:is|are|was|were|does|do|did|has|have|can|could|should|will|would|which|why|where|who|when|describe|explain|"
    r"list|name|identify|compare|find|detect|spot|point\s+out|"
    r"(?:tell\s+me|say|check|determine|decide|i\s+want\s+to\s+know)\s+(?:which|why|where|whether|if)|"
    r"(?:rate|assess|evaluate|judge)\s+(?:whether|if|which|what|why|where|how(?!\s+(?:good|bad)\b))|"
    r"what(?!(?:'s|\s+is|\s+would\s+be)?\s+(?:(?:the|its|this|your|a)\s+)?(?:(?!of\b|for\b)\w+\s+){0,3}"
    + _RATED_NOUN
    + r")|"
    r"how(?!\s+(?:good|bad|would\s+you\s+(?:rate|score|grade|assess|judge|evaluate)|do\s+you\s+(?:rate|score|judge))\b"
    r"|(?:'s|\s+is|\s+high\s+is|\s+low\s+is)\s+(?:(?!of\b|for\b)\w+\s+){0,3}" + _RATED_NOUN + r"))\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^\s*(?:is|are|was|were|does|do|did|has|have|can|could|should|will|would)\s+(?!you\b)", re.IGNORECASE
)


def asks_for_rating(query: str) -> bool:
    """Whether the answer wanted is a quality level."""
    question = _COURTESY.sub("", split_question(query)[0])
    if _NON_RATING.match(question):
        return False
    # A request that is neither a rating nor a question ("this photo") is read as the default job: rate it.
    return bool(_RATING.search(question)) or not re.search("[?？؟]", question)


def is_yes_no(query: str) -> bool:
    """Whether the question is answered by yes or no."""
    return bool(_YES_NO.match(query)) and not parse_options(query) and " or " not in f" {query.lower()} "


# --- what an answer means ---

_NEGATION = re.compile(r"\b(?:not|no|never|isn't|isnt|hardly|neither|nor|without)\b", re.IGNORECASE)
_LEAD_IN = re.compile(
    r"^(?:(?:the\s+)?(?:final\s+|correct\s+|best\s+)?(?:answer|option|choice|level|rating|quality)\s*(?:is|would\s+be|:|=|-)*\s*)+",
    re.IGNORECASE,
)
_LEADING_LETTER = re.compile(r"^[(\[]?(?P<letter>[A-Za-z])[)\]]?(?=$|\s*[.):,;–-]|\s*$)")
# "A, B", "A-C", "A, B or C": an answer that names several options names none.
_SECOND_LETTER = re.compile(
    r"^[)\]]?\s*[,;/&–-]\s*(?:(?:and|or|to)\s+)?[(\[]?(?P<letter>[A-Z])[)\]]?\s*(?:$|[.,;/&]|(?:and|or)\b)"
)


def parse_choice(answer: str, options: Mapping[str, str]) -> str | None:
    """The letter an answer means, or None when it names no option or more than one."""
    whole = answer.strip().strip("\"'`*").strip()
    if len(whole) > 1 and (named := _option_reading(whole, options)):
        return named
    text = _LEAD_IN.sub("", whole).strip().strip("\"'`*").strip()
    letter = _LEADING_LETTER.match(text)
    if letter and letter["letter"].upper() in options:
        chosen, rest = letter["letter"].upper(), text[letter.end() :]
        several = _SECOND_LETTER.match(rest)
        # "C. Poor" where C is Fair: letter and words disagree, so neither counts.
        contradicted = _option_reading(rest, options) not in (None, chosen)
        return None if contradicted or (several and several["letter"] in options) else chosen
    return _option_named(text, options)


def _option_reading(text: str, options: Mapping[str, str]) -> str | None:
    """The option whose words are exactly these."""
    plain = _words(text)
    exact = [letter for letter, option in options.items() if _words(option) == plain and plain]
    return exact[0] if len(exact) == 1 else None


def _option_named(text: str, options: Mapping[str, str]) -> str | None:
    # "No, it is not": what stands before the first comma is the answer, the rest explains it.
    exact = _option_reading(text, options) or _option_reading(re.split(r"[,.;:\n]", text, maxsplit=1)[0], options)
    # A longer sentence may mention one option; a negated or ambiguous mention decides nothing.
    if exact or _NEGATION.search(text):
        return exact
    plain = f" {_words(text)} "
    mentioned = [each for each, option in options.items() if (words := _words(option)) and f" {words} " in plain]
    return mentioned[0] if len(mentioned) == 1 else None


def _words(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


_LEVEL_OPTIONS = {letter: LEVEL_NAMES[level] for letter, level in LETTER_LEVELS.items()}


def parse_level(answer: str) -> int | None:
    """The quality level 1..5 that an answer means: a letter, a word, or a whole number."""
    text = _LEAD_IN.sub("", answer.strip()).strip().rstrip(".")
    if re.fullmatch(r"[1-5](?:\.0+)?(?:\s*/\s*5)?", text):
        return int(text[0])
    letter = parse_choice(answer, _LEVEL_OPTIONS)
    return LETTER_LEVELS[letter] if letter else None


PLAIN_WORDS = 4
"""A line of prose with more words may mention a level without meaning it."""


def parse_plain_reply(text: str, options: Mapping[str, str]) -> str | None:
    """The letter that a reply without JSON means: in a line of a few words, or as the mark that begins a line.

    Lines that mean different options mean none.

    >>> levels = {"A": "Excellent", "B": "Good"}
    >>> parse_plain_reply("**Good**\\n\\nEdges are sharp, and noise is low.", levels)
    'B'
    >>> parse_plain_reply("B. There is a little blur in the corners.", levels)
    'B'
    >>> parse_plain_reply("It would be an excellent picture without the blur.", levels)
    """
    found = set()
    for line in text.splitlines():
        said = line.strip(" \t\r*#>_`\"'")
        mark = _LEADING_LETTER.match(head := _LEAD_IN.sub("", said))
        is_marked = mark is not None and head[mark.end() : mark.end() + 1] in (".", ")", ":")
        if is_marked or len(said.split()) <= PLAIN_WORDS:
            found.add(parse_choice(said, options))
    letters = found - {None}
    return letters.pop() if len(letters) == 1 else None


def parse_plain_number(text: str, query: str) -> float | None:
    """The score of 1 to 5 that a reply of one number means, on the scale that the question asks for.

    >>> parse_plain_number("Score: 3.7/5", "Rate it."), parse_plain_number("7", "Rate it from 1 to 10")
    (3.7, 3.6666666666666665)
    >>> parse_plain_number("72", "Rate it."), parse_plain_number("8/10", "Rate it.")
    (None, None)
    """
    scale = asked_scale(query) or Scale(*_OWN_SCALE)
    number = re.fullmatch(r"[^\d-]{0,30}?(\d+(?:\.\d+)?)\s*(%|(?:/|of|out of)\s*(\d+))?[\s.!*]*", text.strip())
    if number is None or not scale.low <= float(number[1]) <= scale.high:
        return None
    if number[3] and float(number[3]) != scale.high:
        return None
    return 1 + 4 * (float(number[1]) - scale.low) / (scale.high - scale.low)


# --- The scale that a question asks for ---


_NUMBERS = {"three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10, "twenty": 20, "hundred": 100}
_NUMBER = r"(\d+(?:\.\d+)?|" + "|".join(_NUMBERS) + ")"
_RANGE = re.compile(
    rf"\b(?:from|between|of|scale)?\s*\b{_NUMBER}\s*(?:to|and|through|-|–|\.\.)\s*{_NUMBER}\b(?!\s*(?:px|pixels|mm))",
    re.IGNORECASE,
)
_OUT_OF = re.compile(rf"\bout\s+of\s+(?:a\s+)?{_NUMBER}\b|(?<![\w/])/\s*(\d+)\b", re.IGNORECASE)
_PERCENT = re.compile(r"%|\bper\s?cent(?:age)?\b", re.IGNORECASE)
_STARS = re.compile(rf"\b(?:{_NUMBER}[\s-])?stars?\b", re.IGNORECASE)
_OWN_SCALE = (1.0, 5.0)


@dataclass(frozen=True)
class Scale:
    """A scale from ``low`` (bad) to ``high`` (excellent)."""

    low: float
    high: float
    unit: str = ""

    def value(self, score: float) -> float:
        """A score of 1 to 5 on this scale."""
        return self.low + (score - 1) / 4 * (self.high - self.low)

    def text(self, score: float) -> str:
        """In words.

        >>> Scale(1, 10).text(4.2), Scale(0, 100, "%").text(4.2), Scale(1, 5, "stars").text(4.2)
        ('8.2 of 10', '80 %', '4 of 5 stars')
        """
        value = self.value(score)
        if self.unit == "%":
            return f"{value:.0f} %"
        if self.unit:
            return f"{round(2 * value) / 2:g} of {self.high:g} {self.unit}"
        digits = 0 if self.high - self.low >= 50 else 2 if self.high - self.low <= 2 else 1
        return f"{value:.{digits}f} of {self.high:g}"


def asked_scale(query: str) -> Scale | None:
    """The scale of a rating; None where the question names none, or ours.

    >>> asked_scale("Rate it from 1 to 10"), asked_scale("Rate the quality from 1 to 5"), asked_scale("in percent")
    (Scale(low=1.0, high=10.0, unit=''), None, Scale(low=0, high=100, unit='%'))
    """
    if stars := _STARS.search(query):
        out_of = _OUT_OF.search(query)
        return Scale(1, _number(stars[1] or (out_of and out_of[1]) or "5"), "stars")
    if _PERCENT.search(query):
        return Scale(0, 100, "%")
    if found := _RANGE.search(query):
        low, high = sorted((_number(found[1]), _number(found[2])))
        return Scale(low, high) if high > low and (low, high) != _OWN_SCALE else None
    if found := _OUT_OF.search(query):
        high = _number(found[1] or found[2])
        return Scale(0 if high >= 100 else 1, high) if high > 1 and high != _OWN_SCALE[1] else None
    return None


def _number(text: str) -> float:
    return float(_NUMBERS.get(text.lower(), text))
