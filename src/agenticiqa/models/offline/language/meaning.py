"""What a question means, before any word of an answer: property, part, form, polarity, and what each option claims."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from agenticiqa.models.offline.language import option_values
from agenticiqa.models.offline.language.clauses import negated
from agenticiqa.models.offline.language.noun_phrases import Mention, ScopeObject, mentions
from agenticiqa.models.offline.language.option_values import NO, YES, Asked, OptionMeaning, degree_in, words_of
from agenticiqa.models.offline.language.positions import position_of
from agenticiqa.models.offline.language.properties import HINT, Property, Sense, properties, senses
from agenticiqa.models.offline.language.tagging import Item, tagged
from agenticiqa.models.offline.language.word_forms import base_forms
from agenticiqa.models.offline.language.word_lists import word_list, word_set

AnswerForm = Literal["yes_no", "degree", "which", "where", "rating", "compare", "open", "advice"]

# What stands outside the clause that asks, or only in the options, counts less than what is asked.
_OUTSIDE, _IN_OPTIONS, _GENERAL_IN_OPTIONS = 0.45, 0.45, 0.1
_GENERAL = 0.7
_FIRST = 0.04
_FULL_QUESTION = 5
# How far from an end an amount must lie to be one in between: of several, and of two.
_NEAR_END, _NEARER_END = 0.1, 0.3
_SEVERAL_FLAWS = 1.6


@dataclass(frozen=True)
class Meaning:
    """A question, understood."""

    text: str
    property: str | None
    """The entry of ``properties.yaml`` that is asked about; None where none is."""
    parts: tuple[ScopeObject, ...]
    """The parts of the picture it is asked of; none for the whole."""
    form: AnswerForm
    polarity: int
    """1: yes (or "very", or "which") claims much of the property; -1: little of it, or that it is not there."""
    options: tuple[OptionMeaning, ...] = ()

    @property
    def yes_amount(self) -> float:
        return 1.0 if self.polarity > 0 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        known = properties().get(self.property or "")
        return {
            "question": self.text,
            "property": self.property,
            "title": known.title if known else None,
            "explanation": known.sentence if known else None,
            "reading": dict(known.reading) if known else None,
            "parts": [part.name for part in self.parts],
            "form": self.form,
            "polarity": "much" if self.polarity > 0 else "little",
            "options": [asdict(option) for option in self.options],
        }


def meaning_of(text: str, options: Mapping[str, str], items: Sequence[Item] | None = None) -> Meaning:
    """Read a question whose options are known.

    >>> meaning = meaning_of("Isn't the car unsharp?", {"A": "Yes", "B": "No"})
    >>> meaning.property, meaning.form, meaning.polarity, [option.amount for option in meaning.options]
    ('sharp', 'yes_no', -1, [0.0, 1.0])
    """
    return _Reader(text, options, items if items is not None else tagged(text)).result()


class _Reader:
    """One question on its way to its meaning."""

    def __init__(self, text: str, options: Mapping[str, str], items: Sequence[Item]) -> None:
        self.text, self.options, self.items = text, options, items
        self.words = [token.plain for item in items for token in item.tokens]
        self.item_of = [at for at, item in enumerate(items) for _ in item.tokens]
        self.senses = senses(self.words)
        self.start, self.stop = self._asking_part()
        self.asking = list(items[self.start : self.stop])
        self.plain = words_of(self.asking)
        self.said = f" {' '.join(self.plain)} "

    def result(self) -> Meaning:
        prop = self._property()
        parts = self._parts(prop)
        end = self._end(prop) if prop else 1
        polarity = self._polarity(prop, end) if prop else 1
        asked = Asked(prop, polarity, end, self.asking, parts) if prop else None
        on_axis = option_values.amounts(asked, self.options) if asked and asked.property.has_scale else {}
        form = self._form(prop, parts, on_axis)
        placed = form in ("yes_no", "degree", "rating")
        meant = tuple(
            OptionMeaning(
                letter,
                text,
                amount=on_axis.get(letter) if placed else None,
                claim=None if placed and on_axis.get(letter) is not None else option_values.claim(asked, text, of_place=form == "where"),
            )
            for letter, text in self.options.items()
        )
        return Meaning(self.text, prop.name if prop else None, self._kept_parts(parts, form), form, polarity, meant)

    # --- where the question stands in the text ---

    def _asking_part(self) -> tuple[int, int]:
        """The sentence that asks, without the story before it."""
        sentences = self._sentences()
        asking = [(a, b) for a, b in sentences if self._asks(a, b)]
        named = [(a, b) for a, b in asking if self._says_something(a, b)]
        advised = [(a, b) for a, b in asking if self._wants_advice(a, b)]
        said = self._says_something(0, len(self.items))
        plain = [(a, b) for a, b in asking if b - a >= _FULL_QUESTION and not said]
        start, stop = (named or advised or plain or [(0, len(self.items))])[-1]
        clauses = [(start + a, start + b) for a, b in _split(self.items[start:stop], ",")]
        for at, (first, _) in enumerate(clauses[1:], 1):
            opens = self.items[first].tag in ("auxiliary", "question") or self.items[first].plain in ("and", "so")
            told = any(item.tag in ("verb", "auxiliary", "pronoun") for item in self.items[start:first])
            before = self._says_something(start, clauses[at - 1][1])
            if opens and told and not before and self._says_something(first, stop):
                return first, stop
        return start, stop

    def _sentences(self) -> list[tuple[int, int]]:
        """A list behind a colon belongs to what stands before it."""
        joined: list[tuple[int, int]] = []
        for start, stop in _split(self.items, ".?!;:"):
            told = any(item.tag in ("auxiliary", "verb", "question") for item in self.items[start:stop])
            if joined and self.items[start - 1].plain == ":" and not told:
                joined[-1] = (joined[-1][0], stop)
            else:
                joined.append((start, stop))
        return joined

    def _asks(self, start: int, stop: int) -> bool:
        if self.items[start].tag in ("auxiliary", "question", "verb", "filler", "degree"):
            return True
        return self.items[stop - 1].plain == "?"

    def _says_something(self, start: int, stop: int) -> bool:
        return any(start <= self.item_of[sense.start] < stop and sense.weight > HINT for sense in self.senses)

    def _wants_advice(self, start: int, stop: int) -> bool:
        said = f" {' '.join(words_of(self.items[start:stop]))} "
        return any(f" {phrase} " in said for phrase in word_list("subjects", "advice"))

    def _is_asked(self, sense: Sense) -> bool:
        return self.start <= self.item_of[sense.start] < self.stop

    # --- the property ---

    def _property(self) -> Property | None:
        in_question: dict[str, float] = {}
        firsts = 0
        for sense in self.senses:
            # Of two words of the same weight the first is the predicate more often.
            first = self._is_asked(sense) and sense.weight > HINT and not firsts
            firsts += first
            weight = sense.weight * self._standing(sense) + _FIRST * first
            in_question[sense.property] = max(in_question.get(sense.property, 0), weight) + 0.1 * (
                sense.property in in_question
            )
        claimed = self._claimed_by_options()
        scores = dict(in_question)
        for name, count in claimed.items():
            general = properties()[name].weight < _GENERAL and bool(in_question)
            scores[name] = scores.get(name, 0) + (_GENERAL_IN_OPTIONS if general else _IN_OPTIONS) * min(2.0, count)
        if self._offers_flaws(claimed, in_question):
            scores["flaw"] = scores.get("flaw", 0) + _SEVERAL_FLAWS
        best = max(scores, key=lambda name: scores[name], default=None)
        if self._rates() and (best is None or scores[best] < HINT):
            return properties()["quality"]
        if best is None or scores[best] <= HINT or self._is_outside(in_question):
            by_degrees = self._by_degrees()
            return properties()[by_degrees] if by_degrees and best is None else None
        return properties()[self._of_family(best, claimed, in_question)]

    def _standing(self, sense: Sense) -> float:
        """How much a word counts where it stands."""
        at = self.item_of[sense.start]
        before = f" {' '.join(item.plain for item in self.items[max(0, at - 3) : at])} "
        if any(f" {phrase} " in before for phrase in ("rather than", "instead of")):
            return _OUTSIDE
        if len(sense) == 1 and not sense.is_name and at in self._inside_names:
            return _OUTSIDE
        return 1.0 if self._is_asked(sense) else _OUTSIDE

    @cached_property
    def _inside_names(self) -> set[int]:
        """ "the bride's veil", "the flat blue panel": a word inside the name of a thing says nothing of the picture."""
        found = mentions(self.items)
        named = [m for m in found if m.start and self.items[m.start - 1].tag in ("determiner", "noun") or m.end - m.start > 1]
        return {at for m in named for at in range(m.start - _described_before(self.items, m.start), m.end)}

    def _by_degrees(self) -> str | None:
        """ "Under, over, or about right?": no word for a property, but answers that only one of them has."""
        said = [option_values.plain(text) for text in self.options.values()]
        found = (
            each.name for each in properties().values()
            if said and all(text in each.degrees for text in said) and len({each.degrees[text] for text in said}) > 1
        )  # fmt: skip
        return next(found, None)

    def _claimed_by_options(self) -> dict[str, float]:
        claimed: dict[str, float] = {}
        for text in self.options.values():
            best: dict[str, float] = {}
            for sense in senses(words_of(tagged(text))):
                best[sense.property] = max(best.get(sense.property, 0), sense.weight)
            for name, weight in best.items():
                claimed[name] = claimed.get(name, 0) + weight
        return claimed

    def _offers_flaws(self, claimed: Mapping[str, float], in_question: Mapping[str, float]) -> bool:
        """Several kinds of damage to choose from, and nothing else that is asked about."""
        flaws = [name for name in claimed if properties()[name].good == "little" or name in ("sharp", "in_focus")]
        other = any(weight >= 0.8 for name, weight in in_question.items() if name not in ("flaw", "quality"))
        return len(flaws) >= 2 and bool(_CHOOSING & set(self.plain)) and not other

    def _is_outside(self, scores: Mapping[str, float]) -> bool:
        """Who, when, how much it costs: nothing that is asked of the picture as a picture."""
        strong = any(score > 1 for score in scores.values())
        return not strong and any(f" {phrase} " in self.said for phrase in word_list("subjects", "outside"))

    def _of_family(self, name: str, claimed: Mapping[str, float], in_question: Mapping[str, float]) -> str:
        """ "The exposure? Over, under, correct" lies on the axis of brightness; "neither too dark nor too bright" asks
        whether the exposure is right."""
        preferred = [other for other in properties()[name].gives_way_to if other in claimed or other in in_question]
        if preferred:
            return preferred[0]
        for each in properties().values():
            if each.between and each.between <= set(in_question):
                return each.name
        named = all(not sense.end for sense in self.senses if sense.property == name and self._is_asked(sense))
        for wider in properties().values():
            ends = {wider.implied_by[other] for other in claimed if other in wider.implied_by}
            ends |= {wider.degrees[said] for said in map(option_values.plain, self.options.values()) if said in wider.degrees}
            family = name == wider.name or name in wider.implied_by
            if wider.good == "middle" and family and {0, 1} <= ends and named:
                return wider.name
        return name

    # --- the end that yes claims ---

    def _own_senses(self, prop: Property) -> list[Sense]:
        own = [sense for sense in self.senses if sense.property == prop.name and sense.weight > HINT]
        return [sense for sense in own if self._is_asked(sense)] or own

    def _decisive(self, prop: Property) -> Sense | None:
        ends = [sense for sense in self._own_senses(prop) if sense.end and not sense.is_name]
        return max(ends, key=lambda sense: sense.weight * self._standing(sense), default=None)

    def _end(self, prop: Property) -> int:
        """The end of the axis that the words of the question name, whether they affirm or deny it."""
        sense = self._decisive(prop)
        if sense:
            return sense.end
        named = [sense for sense in self._own_senses(prop) if sense.is_name]
        said = self._said_of_scale(prop, named) if named else None
        if said is not None:
            return said
        if named and named[0].end:
            return named[0].end
        if prop.between:
            return 1
        implied = [
            1 if prop.implied_by[sense.property] == 1 else -1
            for sense in self.senses
            if sense.end >= 0 and prop.implied_by.get(sense.property) in (0, 1)
        ]
        return 1 if named or not implied else implied[0]

    def _polarity(self, prop: Property, end: int) -> int:
        if prop.name == "flaw" and self._wants_absent():
            return -1
        sense = self._decisive(prop) or next(iter(self._own_senses(prop)), None)
        return -end if sense and self._denied(sense) else end

    def _said_of_scale(self, prop: Property, named: Sequence[Sense]) -> int | None:
        """ "Is the contrast low?", "Is the noise acceptable?": the word beside the scale decides."""
        if self.plain[:1] == ["how"] and not {"bad", "badly", "poor", "poorly"} & set(self.plain[1:2]):
            return None
        taken = {at for sense in named for at in range(sense.start, sense.stop)}
        beside = [w for at, w in enumerate(self.words) if at not in taken and self.start <= self.item_of[at] < self.stop]
        said = {form for word in beside for form in base_forms(word)} | {" ".join(pair) for pair in zip(beside, beside[1:])}
        good_end = -1 if prop.good == "little" else 1
        if said & word_list("options", "lowering") and said & word_list("options", "raising") and "or" in self.plain:
            return None
        much = next((sense.end for sense in named if sense.end), 1)
        for key, end in (("lowering", -much), ("disapproving", -good_end), ("approving", good_end), ("raising", much)):
            if said & word_list("options", key):
                return end
        return None

    def _denied(self, sense: Sense) -> bool:
        at = self.item_of[sense.start]
        before = [item.plain for item in self.items[max(0, at - 4) : at]]
        if before[-1:] == ["less"] or before[-2:] in (["less", "than"], ["far", "from"], ["anything", "but"]) or {"fail", "fails"} & set(before):
            return True
        if _NOT_WANTED.search(" ".join(before)):
            return False
        return (negated(self.items, at) or self._scale_denied(sense)) and not self._tag_asks_back()

    def _scale_denied(self, sense: Sense) -> bool:
        """ "Is the exposure not right?": the denial stands behind the name of the scale."""
        if not sense.is_name or not self.items[0].tokens:
            return False
        after = self.items[self.item_of[sense.start] + 1 : self.stop]
        return any(item.tag == "negation" and item.plain == "not" and not item.tokens[0].contracted for item in after)

    def _tag_asks_back(self) -> bool:
        """ "It isn't blurred, is it?" asks whether it is."""
        tail = self.plain[-2:]
        return len(tail) == 2 and tail[0] in _AUXILIARIES and tail[1] in _TAG_PRONOUNS and len(self.plain) > 4

    def _wants_absent(self) -> bool:
        asks = bool({"which", "what", "following", "all", "name"} & set(self.plain))
        return asks and any(f" {phrase} " in self.said for phrase in word_list("subjects", "absent"))

    # --- the parts ---

    def _parts(self, prop: Property | None) -> tuple[ScopeObject, ...]:
        """What is asked of: things in the clause that asks; several only where the sentence puts them side by side."""
        spoken = self._spoken_of(prop)
        found = self._named(spoken | self._causes()) or self._named(spoken)
        found = [m for m in found if not self._is_picture_itself(m)]
        offered = self._offered_pair(found)
        if offered:
            return tuple(m.object for m in offered)
        near = [m for m in found if self._in_clause_of_property(m)] or found
        meant = self._side_by_side(near or self._meant_by_pronoun(spoken))
        return tuple(m.object for m in meant) or self._tonal_part()

    def _tonal_part(self) -> tuple[ScopeObject, ...]:
        """ "the highlights" and "the shadows" are parts of a picture as well as words for its light."""
        for before, word in zip(self.words, self.words[1:]):
            if before == "the" and word in _TONAL:
                return (ScopeObject(word, word.removesuffix("s")),)
        return ()

    def _spoken_of(self, prop: Property | None) -> set[int]:
        """The words that speak of properties, and so name no thing."""
        return {
            self.item_of[token]
            for sense in self.senses
            if sense.weight > HINT and (self._standing(sense) == 1 or (prop and sense.property == prop.name))
            for token in range(sense.start, sense.stop)
            if not self._may_be_thing(sense, self.item_of[token]) or (prop and not prop.has_scale)
        }

    def _is_picture_itself(self, mention: Mention) -> bool:
        """ "this painting", or the kind of thing that is asked for: "in which city"."""
        before = self.items[mention.start - 1].plain if mention.start else ""
        return before in ("which", "what") or (before == "this" and mention.object.noun in _PICTURES)

    def _offered_pair(self, found: Sequence[Mention]) -> Sequence[Mention]:
        """ "Which half is lighter, the top or the bottom?" is about the last two."""
        for left, right in zip(found, found[1:]):
            between = [item.plain for item in self.items[left.end : right.start]]
            if "or" in between and "which" in self.plain:
                return left, right
        return ()

    def _may_be_thing(self, sense: Sense, at: int) -> bool:
        """ "the horizon" and "detail in the shadows" name a thing though they speak of a property."""
        determined = at > 0 and self.items[at - 1].tag == "determiner"
        listed = self.items[at].tag == "noun" or (self.items[at].tag == "position" and self.items[at].base != "side")
        return listed and (not sense.is_name if len(sense) == 1 else determined)

    def _named(self, beside: set[int]) -> list[Mention]:
        return [m for m in mentions(self.items, beside) if self.start <= m.start < self.stop]

    def _meant_by_pronoun(self, spoken: set[int]) -> list[Mention]:
        """ "Nothing to see in the doorway. Is it too dark?": it is the doorway, unless the picture was spoken of."""
        before = self.items[: self.start]
        picture = any(item.base in _PICTURES or item.plain in ("this", "these", "i", "my") for item in before)
        return [] if picture or not _PRONOUNS & set(self.plain) else mentions(before, spoken)[-1:]

    def _causes(self) -> set[int]:
        """ "a tinge from the tubes", "for a magazine": where something comes from or what it is for."""
        found: set[int] = set()
        for at, item in enumerate(self.items):
            if item.plain not in _CAUSING:
                continue
            for place in range(at + 1, len(self.items)):
                if self.items[place].tag not in ("determiner", "adjective", "noun", "unknown", "number"):
                    break
                found.add(place)
        return found

    def _in_clause_of_property(self, mention: Mention) -> bool:
        places = [self.item_of[sense.start] for sense in self.senses if sense.weight > HINT and self._is_asked(sense)]
        for place in places:
            between = self.items[min(place, mention.start) : max(place, mention.end)]
            if not any(item.tag == "mark" and item.plain in ",;:." for item in between):
                return True
        return not places

    def _side_by_side(self, found: list[Mention]) -> list[Mention]:
        kept = found[:1]
        for mention in found[1:]:
            between = [item.plain for item in self.items[kept[-1].end : mention.start]]
            if _JOINING & set(between) or (between and set(between) <= {",", "the", "a"}):
                kept.append(mention)
        return kept

    def _kept_parts(self, parts: tuple[ScopeObject, ...], form: AnswerForm) -> tuple[ScopeObject, ...]:
        """What the options offer is not what is asked of, except in a comparison."""
        both = "both" in self.plain or ("which" in self.plain and len(parts) == 2 and "or" in self.plain)
        if form == "compare" or not self.options or both:
            return parts
        offered = {base for text in self.options.values() for word in words_of(tagged(text)) for base in base_forms(word)}
        optional = form in ("where", "which") or len(parts) > 1
        return tuple(part for part in parts if not optional or not {part.noun, *part.name.split()[-1:]} & offered)

    # --- the form ---

    def _form(
        self, prop: Property | None, parts: Sequence[ScopeObject], on_axis: Mapping[str, float | None]
    ) -> AnswerForm:
        known = [amount for amount in on_axis.values() if amount is not None]
        if self._wants_advice(self.start, self.stop):
            return "advice"
        if self._rates() and (not self.options or 2 * len(known) > len(self.options)):
            return "rating"
        if self._compares(parts):
            return "compare"
        if _WHERE.search(self.said) or _WHICH_PART.search(self.said) or self._offers_places(prop):
            return "where"
        return self._form_of_choice(prop, known) if self.options else self._form_without_options(prop, parts)

    def _rates(self) -> bool:
        return bool(_RATING & set(self.plain)) or bool(_SCALE.search(" ".join(self.words)))

    def _compares(self, parts: Sequence[ScopeObject]) -> bool:
        alike = {"same", "equally", "alike", "equal"} & set(self.plain)
        if alike and {"two", "both"} & set(self.plain):
            return True
        if self._answers_yes_or_no() or len(parts) < 2:
            return False
        if self.plain[0].startswith("compar"):
            return True
        comparative = any(item.plain in _COMPARING for item in self.asking) or any(
            word.endswith("er") and len(base_forms(word)) > 1 and (senses([word]) or word in _STRONGER) for word in self.plain
        )
        chosen = " or " in self.said and "which" in self.plain
        return " than " in self.said or (comparative and (chosen or "and" in self.plain or "or" in self.plain))

    def _form_of_choice(self, prop: Property | None, known: Sequence[float]) -> AnswerForm:
        margin = _NEAR_END if len(known) > 2 else _NEARER_END
        middles = any(margin < amount < 1 - margin for amount in known)
        if self._answers_yes_or_no():
            return "degree" if any(0.3 < amount < 0.7 for amount in known) and self._is_graded(prop) else "yes_no"
        if prop is None or 2 * len(known) <= len(self.options) or self._offers_values(prop) or self._offers_parts(prop):
            return "which"
        alternatives = " or " in self.said and " or not" not in self.said and not _ONLY_ME.search(self.said)
        return "yes_no" if self._starts_yes_no(prop) and not middles and not alternatives else "degree"

    def _answers_yes_or_no(self) -> bool:
        leads = {option_values.plain(re.split(r"[,;:.]", text)[0]) for text in self.options.values()}
        return bool(leads & (YES | NO) - ({"right"} if "left" in leads else set()))

    def _is_graded(self, prop: Property | None) -> bool:
        return prop is not None and prop.has_scale

    def _offers_places(self, prop: Property | None) -> bool:
        """Sides of the frame to choose from."""
        places = [position_of(words_of(tagged(text))) for text in self.options.values()]
        chosen = prop is None or "which" in self.plain or self._offers_values(prop)
        return not chosen and sum(map(bool, places)) >= 2

    def _offers_values(self, prop: Property) -> bool:
        """Kinds to choose from, not amounts."""
        asks = bool((_CHOOSING | {"or"}) & set(self.plain))
        if prop.name == "flaw":
            return asks and len(self._claimed_by_options()) >= 2
        values = {option_values.value_of(prop, text) for text in self.options.values()} - {None}
        return asks and len(values) >= 2

    def _offers_parts(self, prop: Property) -> bool:
        """ "Is the focus on the eyes or the nose?" with both to choose from."""
        named = {mention.object.noun for mention in self._named(self._spoken_of(prop))}
        heads = [set(base_forms(words[-1])) for text in self.options.values() if (words := words_of(tagged(text)))]
        return sum(bool(forms & named) for forms in heads) >= 2

    def _form_without_options(self, prop: Property | None, parts: Sequence[ScopeObject]) -> AnswerForm:
        words = self.plain
        if set(words[:2]) & _OPENING:
            return "open"
        if words[:1] in (["list"], ["name"]):
            return "which"
        if self._starts_yes_no(prop):
            chooses = len(parts) > 1 and "or" in words
            return "which" if chooses else "yes_no"
        if prop is None or _OPENING & set(words[:4]):
            return "open"
        if "how" in words or "like" in words or {"say", "think"} & set(words):
            return "degree" if prop.has_scale and (prop.weight >= _GENERAL or "how" in words) else "open"
        if words[-1:] == ["what"]:
            return "where" if prop.name == "in_focus" else "which"
        return "which" if _CHOOSING & set(words[:2]) or words[:1] == ["name"] else "degree"

    def _starts_yes_no(self, prop: Property | None) -> bool:
        if " or not " in self.said:
            return True
        if _WHETHER.search(self.said) and not _QUESTIONS & set(self.plain[:1]):
            return True
        first = next((item for item in self.asking if item.tag not in ("mark", "filler", "degree")), None)
        if first is None or _QUESTIONS & set(self.plain[:2]):
            return False
        if first.tag == "auxiliary" or self.plain[0] in ("any", "no", "not", "check", "verify", "confirm"):
            return True
        if any(item.tag == "question" for item in self.asking) or "?" not in self.text:
            return False
        if any(item.tag == "auxiliary" for item in self.asking):
            return True
        # "Fuzzy round the edges?" asks whether; "Contrast of the wall?" and "Noise: weak or strong?" ask how much.
        return prop is not None and self._decisive(prop) is not None and degree_in(self.plain[-1:]) is None


_AUXILIARIES = word_set("is are was were do does did has have can could would will")
_NOT_WANTED = re.compile(r"\bnot (?:want|like|need|mind|know|care)\b")
_PICTURES = word_set("image picture photo photograph shot pic snapshot frame scan print painting drawing portrait poster")
_TAG_PRONOUNS = word_set("it they there he she this that")
_QUESTIONS = word_set("how what which where why who")
_CHOOSING = word_set("which what following except one kind sort type whats")
_RATING = word_set("rate score grade scale mark rating")
_SCALE = re.compile(r"\b(?:between|from) \w+ (?:and|to) \d+\b|\bout of (?:\d+|five|ten|a hundred)\b|\bper ?cent\b|\bquality factor\b")
_WHETHER = re.compile(r" whether | \w+ if (?!any|so|possible|needed)")
_STRONGER = word_set("stronger weaker higher lower bigger greater deeper")
_WHERE = re.compile(r"^(?: \w+){0,2} (?:where|wheres) |\bwhere (?:is|are|do|does|did|was|were|has|have|can)\b")
_ONLY_ME = re.compile(r"\bis it (?:just |only )?me\b")
_WHICH_PART = re.compile(r"\b(?:which|what) (?:part|area|region|side|corner|half|place|zone|spot|third|section)\b")
_COMPARING = word_set("more less equally same better worse most least equal compare compared")
_OPENING = word_set("describe evaluate comment discuss explain assess tell analyze verdict")
_CAUSING = word_set("from for by through like via")
_JOINING = word_set("and or vs versus than but nor as , with")
_PRONOUNS = word_set("it they them")
_TONAL = word_set("highlights shadows midtones")
_AMOUNTS = word_set("some any no much more less too many little")


def _described_before(items: Sequence[Item], start: int) -> int:
    """How many words between an article and a name describe the thing."""
    count = 0
    while start - count > 0 and items[start - count - 1].tag in ("adjective", "distortion", "generic modifier"):
        count += 1
    return count if start - count > 0 and items[start - count - 1].tag == "determiner" else 0


def _split(items: Sequence[Item], marks: str) -> list[tuple[int, int]]:
    """Where the pieces between marks begin and end, the mark with the piece before it."""
    pieces, start = [], 0
    for at, item in enumerate(items):
        if item.tag == "mark" and item.plain in marks:
            pieces.append((start, at + 1))
            start = at + 1
    if start < len(items):
        pieces.append((start, len(items)))
    return [(a, b) for a, b in pieces if b - a > 1] or [(0, len(items))]
