"""Things, places and looks that a question names: noun phrases, clauses, and what belongs together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, cast

from agenticiqa._data import by_word, listed
from agenticiqa.embedded.language.tagging import Item, tagged
from agenticiqa.embedded.language.words import (
    POSITION_MODIFIERS,
    REGION_NOUNS,
    position_of,
    singular_forms,
    vocabulary,
    word_set,
)
from agenticiqa.vision.appearance.segments import Appearance, Light, Where
from agenticiqa.vision.objects import LABELS
from agenticiqa.vocabulary import plain_spelling

# --- Which kinds of objects a word of a question means ---


_BY_WORD: dict[str, frozenset[str]] = {label: frozenset({label}) for label in LABELS.values()}
for _group in vocabulary("objects"):
    _BY_WORD.update(dict.fromkeys(listed(_group["words"]), frozenset(listed(_group["labels"]))))


def labels_meant(item: ScopeObject) -> frozenset[str]:
    """The labels that fit what a question names; none where the detector knows nothing of the kind.

    >>> labels_meant(ScopeObject("red vehicle", "vehicle", ("red",))) == {"car", "bus", "truck", "motorcycle", "train"}
    True
    >>> labels_meant(ScopeObject("traffic light", "light", ("traffic",))), labels_meant(ScopeObject("light", "light"))
    (frozenset({'traffic light'}), frozenset())
    """
    if item.is_region:
        return frozenset()
    noun = item.noun.casefold()
    pairs = (f"{modifier.casefold()} {noun}" for modifier in item.modifiers)
    return _first(_BY_WORD.get(words) for words in (*pairs, noun))


def _first(found: Iterable[frozenset[str] | None]) -> frozenset[str]:
    return next((labels for labels in found if labels), frozenset())


# --- What a phrase says of how a part looks: "the red flowers", "the bright window" ---


@cache
def _words(group: str) -> dict[str, str]:
    return {plain_spelling(word): name for word, name in by_word(vocabulary("appearances")[group]).items()}


def look_meant(item: ScopeObject) -> Appearance:
    """By the words of the phrase first, by the usual look of the thing where they say nothing.

    >>> look_meant(ScopeObject("red flowers", "flower", ("red",))).colours
    frozenset({'red'})
    >>> look_meant(ScopeObject("grass", "grass")).words
    'green'
    """
    said = [plain_spelling(word) for word in (*re.findall(r"\w+", item.name), *item.modifiers, *item.looks)]
    colours = frozenset(_words("colours")[word] for word in said if word in _words("colours"))
    light = next((_words("light")[word] for word in said if word in _words("light")), None)
    usual: dict[str, Any] = vocabulary("appearances")["things"].get(plain_spelling(item.noun), {})
    if not colours and light is None:
        colours, light = frozenset(listed(usual["colours"])) if "colours" in usual else colours, usual.get("light")
    return Appearance(colours, cast("Light | None", light), cast("Where | None", usual.get("where")))


# --- What belongs together in a sentence ---


# A negation reaches this many items ahead within its clause: "is not, at least to me, really very sharp" is too far.
_NEGATION_REACH = 8


def negated(items: Sequence[Item], at: int) -> bool:
    """Whether a word in the same clause, shortly before, denies the item."""
    for back in range(at - 1, max(-1, at - 1 - _NEGATION_REACH), -1):
        item = items[back]
        if item.ends_clause or item.plain in ("but", "while"):
            return False
        if item.tag == "negation" and not _asks_for_yes(items, back):
            return not _other_term_between(items, back, at)
        if item.plain == "of" and back and items[back - 1].plain in ("clear", "free", "lack", "absence", "devoid"):
            return True
    return False


def _asks_for_yes(items: Sequence[Item], at: int) -> bool:
    """The "not" of "Isn't it noisy?"; that of "Don't use it" forbids."""
    if at + 1 < len(items) and items[at + 1].tag == "verb":
        return False
    opening = at <= 1 or items[at - 2].ends_clause or items[at - 2].tag in ("conjunction", "degree")
    return items[at].tokens[0].contracted and opening


def _other_term_between(items: Sequence[Item], start: int, end: int) -> bool:
    """ "no noise and sharp": the negation belongs to the first; "neither blurred nor noisy" names it again.

    A tool is refused only directly: "not sharp according to SSIM" wants it.
    """
    between = items[start + 1 : end]
    parted = items[end].tag == "tool" or any(item.plain == "and" for item in between)
    return parted and any(item.term for item in between)


def objects_by_distortion(
    items: Sequence[Item], spots: Sequence[int], found: Sequence[Mention]
) -> dict[int, tuple[str, ...]]:
    """Per distortion the objects of its clause, if every clause with an object has a distortion of its own.

    "Is the sky noisy and the bridge blurry?" tells them apart; "Are the sky and the bridge blurry?" does not.
    """
    if len(found) < 2 or len(spots) < 2:
        return {}
    clause = _clauses(items)
    objects: dict[int, list[str]] = {}
    for mention in found:
        objects.setdefault(clause[mention.start], []).append(mention.object.name)
    with_terms = {clause[at] for at in spots}
    if len(objects) < 2 or set(objects) != with_terms:
        return {}
    return {at: tuple(objects[clause[at]]) for at in spots}


def _clauses(items: Sequence[Item]) -> list[int]:
    number, numbers = 0, []
    for item in items:
        if item.ends_clause or item.plain in ("and", "but", "while", "whereas", "yet"):
            number += 1
        numbers.append(number)
    return numbers


# --- Which things and places a question names: a small chunker for noun phrases ---


MAX_OBJECTS = 8

_OPEN = frozenset({"noun", "unknown", "adjective", "position"})
_INTRODUCED = word_set("determiner tie preposition auxiliary conjunction negation question")
_LEADING = frozenset({"determiner", "number", "generic modifier", "distortion", "degree", "adverb"})
# After these a place is said of the thing ("located in the center"), it is not what the question is about.
_PLACING = word_set("located placed positioned situated centered standing sitting")
_MODALS = frozenset({"would", "could", "can", "should", "will", "might", "may", "must"})
_FIT_FOR = frozenset({"enough", "suitable", "good", "fit", "ready", "usable", "adequate", "used"})
_EXCLUDING = word_set("ignore ignoring except excluding disregard disregarding")


@dataclass(frozen=True)
class ScopeObject:
    """A thing or place named in a question."""

    name: str
    """In the words of the question, without the article: "building on the left"."""
    noun: str
    """The head in the singular: "building"; for a mere place the place itself."""
    modifiers: tuple[str, ...] = ()
    position: str | None = None
    """left, right, top, bottom, center, foreground, background, corners, edges, or two sides: "top left"."""
    is_region: bool = False
    """Only a place, no thing: "the lower half"."""
    looks: tuple[str, ...] = field(default=(), compare=False)
    """What is said of its quality beside its name: "bright" of "the bright window"."""


@dataclass(frozen=True)
class Mention:
    """An object and the items it was read from."""

    object: ScopeObject
    start: int
    end: int


@dataclass(frozen=True)
class _Phrase:
    """The open words of one noun phrase, items[start:end]."""

    start: int
    end: int
    introduced_at: int


def parse_object(name: str) -> ScopeObject:
    """A name of a plan, read again.

    >>> parse_object("the building on the left").position, parse_object("man's face").noun
    ('left', 'face')
    """
    found = mentions(tagged(f"the {name}"))
    if found:
        return replace(found[0].object, name=name.strip())
    return ScopeObject(name.strip(), name.strip().lower())


def mentions(items: Sequence[Item], beside: Collection[int] = ()) -> list[Mention]:
    """Everything named, in order, each name once; words at the places ``beside`` name nothing.

    >>> [m.object.name for m in mentions(tagged("Are the sky and the man's face sharper than the left side?"))]
    ['sky', "man's face", 'left side']
    """
    written = items
    if beside:
        items = [replace(item, tag="abstract") if at in beside else item for at, item in enumerate(items)]
    phrases = [phrase for phrase in _phrases(items) if not _is_beside_the_question(items, phrase)]
    # "the indoor fog": what only describes a word that names nothing names nothing either.
    phrases = [
        p for p in phrases if not (p.end in beside and written[p.end].tag == "noun" and _describes(items[p.end - 1]))
    ]
    found: dict[str, Mention] = {}
    at = 0
    while at < len(phrases) and len(found) < MAX_OBJECTS:
        last = at
        while last + 1 < len(phrases) and _tied(items, phrases[last], phrases[last + 1]):
            last += 1
        mention = _mention(items, phrases[at], phrases[last])
        found.setdefault(mention.object.name, mention)
        at = last + 1
    return _without_asked_kind(items, list(found.values()))


def _describes(item: Item) -> bool:
    return item.tag in ("adjective", "unknown") and not item.possessive


def _without_asked_kind(items: Sequence[Item], found: list[Mention]) -> list[Mention]:
    """ "Which building is sharper, the church or the hall?" is about the church and the hall."""
    asked = len(found) >= 3 and found[0].start > 0 and items[found[0].start - 1].plain == "which"
    offered = asked and any(item.plain == "or" for item in items[found[-2].end : found[-1].start])
    return found[1:] if offered else found


def _phrases(items: Sequence[Item]) -> list[_Phrase]:
    phrases: list[_Phrase] = []
    at = 0
    while at < len(items):
        phrase = _phrase_from(items, at)
        if phrase:
            phrases.append(phrase)
        at = max(phrase.end if phrase else 0, at + 1)
    return phrases


def _phrase_from(items: Sequence[Item], start: int) -> _Phrase | None:
    """A noun phrase whose open words begin exactly here."""
    if items[start].tag not in _OPEN:
        return None
    end, head = start, None
    while end < len(items) and items[end].tag in _OPEN:
        if head is not None and _ends_name(items, end):
            break
        if _can_head(items, end):
            head = end
        end += 1
    if head is None and end < len(items) and items[end - 1].tag == "position" and is_area(items[end]):
        head = end - 1
    if head is None and end < len(items) and items[end - 1].plain in _COLOURS and is_area(items[end]):
        head = end  # "the green area"
    if head is None:
        return None
    end = head + 1
    if _followed_by_generic(items, end) or _is_comparison(items, end):
        return None
    end = _without_predicate(items, start, end)
    phrase = _Phrase(start, end, _introduction(items, start))
    return phrase if _plausible(items, phrase) else None


def _can_head(items: Sequence[Item], at: int) -> bool:
    item = items[at]
    if item.possessive:
        # "the car's colour": the owner is what is judged.
        return at + 1 < len(items) and items[at + 1].tag in ("distortion", "abstract", "aesthetic")
    if item.tag == "position":
        return item.base in REGION_NOUNS or item.base.endswith("hand side")
    return item.tag in ("noun", "unknown")


def _ends_name(items: Sequence[Item], at: int) -> bool:
    """Behind a noun: an adjective, a participle, or "right?" no longer belongs to the name."""
    item, before = items[at], items[at - 1]
    if before.possessive or before.tag == "adjective":
        return False
    if item.tag == "adjective":
        return True
    if item.tag == "position":
        return before.tag in ("noun", "unknown")
    return item.tag == "unknown" and item.plain.endswith(("ing", "ed", "ized", "ised"))


def _followed_by_generic(items: Sequence[Item], end: int) -> bool:
    """ "the left image", "the cat picture": the head is the picture itself. "the left part" is a place, though."""
    return end < len(items) and items[end].tag == "generic" and not is_area(items[end])


def _is_comparison(items: Sequence[Item], end: int) -> bool:
    """ "snow-like noise" is about no snow."""
    return end < len(items) and items[end].plain == "like" and items[end].tokens[0].joint == "-"


def is_area(item: Item) -> bool:
    """ "Part", "area", "region": a word for some place of the picture."""
    return item.tag == "generic" and item.base in _PARTS


_PARTS = word_set("part area region zone section portion")
_COLOURS = frozenset(by_word(vocabulary("appearances")["colours"]))


def _without_predicate(items: Sequence[Item], start: int, end: int) -> int:
    """ "Is the roof slippery?" needs a predicate: an unknown last word of a whole clause is it, not part of a name."""
    before = _introduction(items, start) - 1
    clause_start = before <= 0 or items[before - 1].ends_clause or items[before - 1].tag == "conjunction"
    opened = before >= 0 and items[before].tag == "auxiliary" and clause_start
    if (
        (opened or _asks_of_subject(items, start))
        and _closes(items, end)
        and end - start >= 2
        and items[end - 1].tag == "unknown"
        and not items[end - 2].possessive
    ):
        return end - 1
    return end


def _asks_of_subject(items: Sequence[Item], start: int) -> bool:
    """ "Are the details of the building rich?": a form of "be", a subject, and no predicate up to here."""
    first = next((at for at in range(start, 0, -1) if items[at - 1].ends_clause), 0)
    told = items[first:start]
    linking = [item.tag for item in told[1:]]
    subject = {
        "determiner",
        "noun",
        "unknown",
        "abstract",
        "generic",
        "tie",
        "position",
        "adjective",
        "generic modifier",
    }
    return bool(told) and told[0].plain in ("is", "are", "was", "were") and "tie" in linking and set(linking) <= subject


def _closes(items: Sequence[Item], end: int) -> bool:
    return end >= len(items) or items[end].ends_clause


def _introduction(items: Sequence[Item], start: int) -> int:
    """Where the phrase begins with its articles, numbers and adverbs."""
    at = start
    while at > 0 and items[at - 1].tag in _LEADING:
        at -= 1
    return at


def _plausible(items: Sequence[Item], phrase: _Phrase) -> bool:
    """Whether the words are a name where they stand."""
    words = items[phrase.start : phrase.end]
    before = items[phrase.start - 1].tag if phrase.start else None
    if len(words) == 1 and _is_predicate(items, phrase):
        return False
    if any(item.tag == "noun" for item in words):
        return not (before == "generic" and _closes(items, phrase.end))  # "are the people in the photo friends?"
    if any(item.tag == "position" for item in words):
        # "right" alone may mean "correct"; behind an article or a preposition it is a side.
        bare = len(words) == 1 and words[0].base in ("left", "right", "top", "bottom")
        return not bare or before in ("determiner", "tie", "generic modifier") or _beside_another(items, phrase)
    return _unlisted_is_name(items, phrase)


def _beside_another(items: Sequence[Item], phrase: _Phrase) -> bool:
    """ "Are top and bottom equally sharp?": two sides, named together."""
    before, after = items[max(0, phrase.start - 2) : phrase.start], items[phrase.end : phrase.end + 2]
    return any(
        len(pair) == 2
        and {"and", "or"} & {item.plain for item in pair}
        and any(item.tag == "position" for item in pair)
        for pair in (before, after)
    )


def _unlisted_is_name(items: Sequence[Item], phrase: _Phrase) -> bool:
    """A word of no list is a name only where a name is expected."""
    before = items[phrase.start - 1].tag if phrase.start else None
    if all(len(item.plain) == 1 for item in items[phrase.start : phrase.end]):
        return False
    if before == "auxiliary":
        doing = items[phrase.start].plain.endswith("ing") and items[phrase.start - 1].plain in (
            "am",
            "is",
            "are",
            "was",
        )
        return _is_subject(items, phrase) and not doing
    announced = phrase.introduced_at < phrase.start or before in _INTRODUCED
    return announced and before != "question"


def _is_predicate(items: Sequence[Item], phrase: _Phrase) -> bool:
    """ "too tight?", "would suit": one word that a degree or a modal verb makes a description or a verb."""
    item, before = items[phrase.start], items[phrase.start - 1] if phrase.start else None
    if before is None:
        return False
    if before.plain in _MODALS:
        return True
    graded = before.tag in ("degree", "adverb") or before.plain in ("most", "more")
    return item.tag == "unknown" and graded and _closes(items, phrase.end)


def _is_subject(items: Sequence[Item], phrase: _Phrase) -> bool:
    """ "Are saxophones blurry?": a bare unknown word right after the auxiliary, with more of the sentence to come."""
    return phrase.end < len(items) and not items[phrase.end].ends_clause


def _is_beside_the_question(items: Sequence[Item], phrase: _Phrase) -> bool:
    """A place said of another thing, a thing to leave out, or what the picture is wanted for."""
    window = [item.plain for item in items[max(0, phrase.introduced_at - 2) : phrase.introduced_at]]
    purpose = window[-1:] == ["for"] and window[0] in _FIT_FOR
    return purpose or bool(_PLACING & set(window)) or bool(_EXCLUDING & set(window[-1:]))


def _tied(items: Sequence[Item], left: _Phrase, right: _Phrase) -> bool:
    """Whether only a tying preposition and articles lie between two phrases: "bird on the branch"."""
    between = items[left.end : right.start]
    if not between or between[0].tag != "tie":
        return False
    return all(item.tag in ("determiner", "number", "generic modifier") for item in between[1:])


def _mention(items: Sequence[Item], first: _Phrase, last: _Phrase) -> Mention:
    own = items[first.start : first.end]
    whole = items[first.start : last.end]
    head = own[-1]
    area = items[last.end : last.end + 1] if _closes_with_area(items, last) else ()
    end = last.end + len(area)
    place, further = position_of(_place_words(own)), position_of(_place_words(items[first.end : end]))
    if place in (None, "corners", "edges"):
        place = further or place  # "the corner at the top left"
    is_region = all(item.tag == "position" for item in own)
    return Mention(
        ScopeObject(
            name=_name([*whole, *area]),
            noun=(place or head.base) if is_region else head.base,
            modifiers=tuple(item.tokens[0].text for item in own[:-1] if item.plain not in POSITION_MODIFIERS),
            position=place,
            is_region=is_region,
            looks=_looks(items[first.introduced_at : first.start]),
        ),
        first.start,
        end,
    )


def _looks(introduction: Sequence[Item]) -> tuple[str, ...]:
    """Words of quality between an article and a name."""
    article = next((at for at, item in enumerate(introduction) if item.tag == "determiner"), None)
    if article is None:
        return ()
    return tuple(item.plain for item in introduction[article:] if item.tag == "distortion")


def _closes_with_area(items: Sequence[Item], phrase: _Phrase) -> bool:
    """ "the left part", "the central area": the generic noun is part of the name."""
    only_place = all(item.tag == "position" for item in items[phrase.start : phrase.end])
    return phrase.end < len(items) and is_area(items[phrase.end]) and only_place


def _place_words(items: Sequence[Item]) -> list[str]:
    places = [item for item in items if item.tag == "position"]
    return [form for item in places for token in item.tokens for form in singular_forms(token.plain)]


def _name(items: Sequence[Item]) -> str:
    tokens = [token for item in items for token in item.tokens]
    text = "".join(token.joint + token.text.lower() for token in tokens).strip(" -")
    return text.removesuffix("'s").removesuffix("'")
