"""Writes the lessons: questions from templates and word lists, their options, the development questions.

    python training/reader/generate.py --questions DATA/questions --out READER/lessons

Writes made.jsonl, hand.jsonl, shared.jsonl (lessons of the even half), options.jsonl, even.jsonl (that half as it is)
and, unread, test.jsonl (the odd half).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from labels import DIRECTIONS, FORMS, PROPERTIES, UNSCALED, shared_property

HERE = Path(__file__).parent / "lessons"
SINGULAR = {"bus", "lens", "grass", "dress", "glass", "wine glass", "circuit board", "canvas", "cell nucleus"}
ENDS = {"+": "high", "-": "low", "0": "none"}
FLIP = {"high": "low", "low": "high", "none": "none"}
MAIN = {
    "sharp", "in_focus", "motion_blurred", "noisy", "compressed", "bright", "underexposed", "overexposed",
    "well_exposed", "colour_cast",
}  # fmt: skip
FORM_WEIGHTS = {
    "yes_no": 5.0, "either_or": 2.0, "degree": 2.6, "rate": 1.2, "why": 1.4, "where": 1.2, "good_enough": 1.2,
    "how_to_fix": 1.6, "compare": 1.7, "describe": 1.3, "which": 1.5, "what_is_wrong": 2.0,
}  # fmt: skip
# Only words that can be more or less so fit here: "how blurry", not "how shot wide open".
GRADED = re.compile(r"(how|so|most|too|that|bit|very|at all) {A}|{A} enough|^{A} {P}", re.I)
CITIES = ["Portugal", "France", "Tokyo", "Peru", "Berlin", "Canada", "Sydney"]
NO_BEST = {"picture_kind", "colour_scheme", "time_of_day", "aspect", "file_format", "camera_settings", "video_frame"}


def gradable(word: str) -> bool:
    return " " not in word or word in {
        "in focus",
        "out of focus",
        "tack sharp",
        "well lit",
        "well exposed",
        "easy to read",
    }


class Maker:
    """Fills templates; every choice comes from one seeded source."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = yaml.safe_load((HERE / "properties.yaml").read_text(encoding="utf-8"))
        self.templates = yaml.safe_load((HERE / "templates.yaml").read_text(encoding="utf-8"))
        self.parts = yaml.safe_load((HERE / "parts.yaml").read_text(encoding="utf-8"))
        self.options = yaml.safe_load((HERE / "options.yaml").read_text(encoding="utf-8"))
        self.kinds = list(self.parts["heads"])

    def pick(self, items: list[Any]) -> Any:
        return self.random.choice(items)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # Parts --------------------------------------------------------------------------------------------------------

    def part(self, kinds: list[str]) -> tuple[str, bool]:
        """A name for a part, and whether it is plural."""
        kind = self.pick(kinds)
        head = self.pick(self.parts["heads"][kind])
        plural = head.split(" on ")[0].endswith("s") and head not in SINGULAR
        text = head
        if kind not in {"regions"} and self.chance(0.28):
            text = f"{self.pick(self.parts['adjectives'])} {text}"
        owned = kind in {"body", "clothing", "animal_parts", "products", "interior", "vehicles"} and self.chance(0.35)
        if owned:
            text = f"{self.pick(self.parts['animal_owners' if kind == 'animal_parts' else 'possessors'])} {text}"
        elif self.chance(0.9):
            determiners = ["the"] * 12 + (["those", "these"] if plural else ["that", "this"])
            text = f"{self.pick(determiners)} {text}"
        if self.chance(0.06) and kind in {"people", "animals", "products", "vehicles"} and not plural:
            text, plural = f"{self.pick(['the two', 'both', 'all three', 'most of the'])} {head}s", True
        if kind not in {"regions"} and self.chance(0.3) and " on the " not in text:
            person = kind == "people" and self.chance(0.6)
            text = f"{text} {self.pick(self.parts['person_clauses' if person else 'clauses'])}"
        elif kind in {"body", "clothing", "animal_parts"} and not owned and self.chance(0.4):
            owner = self.pick(self.parts["heads"]["animals" if kind == "animal_parts" else "people"])
            text = f"{text} of the {owner}"
        elif kind == "regions" and self.chance(0.25):
            text = f"{text} of {self.pick(['the frame', 'the picture', 'the image', 'the photo'])}"
        return text, plural

    def place(self, name: str, whole_share: float) -> tuple[str, bool, bool]:
        """What stands at {P}: its words, whether plural, whether it is a part at all."""
        entry = self.words.get(name, {})
        if entry.get("whole") or self.chance(whole_share):
            whole = f"this {self.pick(self.parts['adjectives'])} {self.pick(['photo', 'picture', 'shot', 'image'])}"
            return whole if self.chance(0.07) else self.pick(self.parts["whole"]), False, False
        text, plural = self.part(["text"] if entry.get("text") else self.kinds)
        return text, plural, True

    # Filling ------------------------------------------------------------------------------------------------------

    def fill(self, template: str, name: str, slots: dict[str, str], whole_share: float = 0.35) -> str | None:
        """The question, its part marked by \\x01…\\x02 and a second by \\x03…\\x04."""
        text = template
        first, plural, is_part = "", False, False
        if "{Q}" in text or "{P}" in text:
            first, plural, is_part = self.place(name, 0.0 if "{Q}" in text else whole_share)
        if "{Q}" in text:
            if not is_part:
                return None
            second = self.pick(self.parts["rivals"]) if self.chance(0.5) else self.part(self.kinds)[0]
            if second == first:
                return None
            text = text.replace("{Q}", f"\x03{second}\x04", 1)
        agreed = self.agreement(plural)
        for key, value in agreed.items():
            text = text.replace(key, value)
        if plural:
            for one, many in (("Is", "Are"), ("Does", "Do"), ("Has", "Have"), ("Was", "Were")):
                text = re.sub(rf"\b{one} {{P}}", f"{many} {{P}}", text)
                text = re.sub(rf"\b{one.lower()} {{P}}", f"{many.lower()} {{P}}", text)
        for key, value in slots.items():
            text = text.replace(key, value)
        text = text.replace("{U}", self.pick(self.parts["purposes"])).replace("{T}", self.pick(self.parts["tools"]))
        text = text.replace("{city}", self.pick(CITIES))
        text = text.replace("{H}", self.pick(self.parts["heads"][self.pick(["animals", "people", "vehicles"])]))
        text = text.replace("{P}", f"\x01{first}\x02" if is_part else first, 1)
        return None if "{" in text else text

    @staticmethod
    def agreement(plural: bool) -> dict[str, str]:
        words = (
            ("are", "do", "they", "look", "aren't", "don't")
            if plural
            else ("is", "does", "it", "looks", "isn't", "doesn't")
        )
        names = ("is", "does", "it", "looks", "isnt", "doesnt")
        pairs = {f"{{{name}}}": word for name, word in zip(names, words, strict=True)}
        return pairs | {f"{{{name.capitalize()}}}": word.capitalize() for name, word in zip(names, words, strict=True)}

    def word_for(self, name: str, group: str) -> tuple[dict[str, str], str] | None:
        """Words for a group's slots, and the end they name."""
        entry = self.words[name]
        sides = {"adjective": ("hi", "lo"), "noun": ("n_hi", "n_lo"), "comparative": ("more", "less")}
        if group in sides:
            high, low = (entry.get(side, []) for side in sides[group])
            if not high and not low:
                return None
            end = "high" if high and (not low or self.chance(0.5)) else "low"
            word = self.pick(high if end == "high" else low)
            slots = {"{A}": word, "{N}": word, "{C}": word}
            if group == "adjective":
                other = low if end == "high" else high
                slots["{B}"] = (
                    self.pick(other)
                    if other and self.chance(0.7)
                    else self.pick(["fine", "okay", "just right", "normal", "acceptable"])
                )
            return slots, end
        if group == "scale" and entry.get("scale"):
            return {"{S}": self.pick(entry["scale"])}, "none"
        if group == "fix" and entry.get("fix"):
            return {"{F}": self.pick(entry["fix"])}, "none"
        return None

    def question(self, name: str, group: str, line: str) -> dict[str, Any] | None:
        """One lesson about a property from one template."""
        template, form, end = line.rsplit("|", 2)
        if name in NO_BEST and group == "scale" and form != "describe":
            return None
        found = ({}, "none") if group == "say" else self.word_for(name, group)
        if found is None:
            return None
        slots, named = found
        if group == "adjective" and GRADED.search(template) and not gradable(slots["{A}"]):
            return None
        bad = {"hi": "high", "lo": "low"}.get(self.words[name].get("bad", ""), "none")
        direction = {"=": named, "~": FLIP[named], "b": bad, "g": FLIP[bad]}.get(end) or ENDS[end]
        text = self.fill(template, name, slots)
        return text and self.lesson(text, [name], form, direction, f"{group}:{template}")

    def lesson(self, text: str, names: list[str], form: str, direction: str, template: str) -> dict[str, Any]:
        if self.chance(0.22):
            wrapper = self.pick(self.templates["wrappers"])
            if form == "yes_no" or "yes or no" not in wrapper:
                if not wrapper.startswith("{}") and not wrapper.rstrip("{} ").endswith((".", "!", ":")):
                    text = text[:1].lower() + text[1:]
                elif wrapper.startswith("{}") and wrapper[3].isupper() and text[-1] not in "?.!":
                    text += "?"
                text = wrapper.replace("{}", text)
        return record(self.rough(text), names, form, direction, "made", template)

    def rough(self, text: str) -> str:
        """People do not type as books do."""
        if self.chance(0.25):
            text = text.lower()
        elif text[:1].islower() and self.chance(0.5):
            text = text[:1].upper() + text[1:]
        if self.chance(0.2):
            text = text.rstrip("?.")
        if self.chance(0.15):
            text = text.replace("'", "")
        if self.chance(0.1):
            text = re.sub(r"\b(picture|image|photo)\b", lambda found: self.pick(["pic", "img", "shot", found[0]]), text)
        if self.chance(0.06):
            text = re.sub(r"\byou\b", "u", text)
        if self.chance(0.05):
            text = text.replace("?", self.pick(["??", " ?", "?!"]))
        return text

    # The set ------------------------------------------------------------------------------------------------------

    def lines(self, name: str) -> dict[str, list[tuple[str, str]]]:
        """All templates that a property can fill, by form."""
        found: dict[str, list[tuple[str, str]]] = {}
        for group in ("adjective", "noun", "scale", "comparative", "fix"):
            for line in self.templates[group] if self.word_for(name, group) else ():
                found.setdefault(line.rsplit("|", 2)[1], []).append((group, line))
        for line in self.words[name].get("say", ()):
            found.setdefault(line.rsplit("|", 2)[1], []).extend([("say", line)] * 3)
        return found

    def about(self, name: str, wanted: int) -> list[dict[str, Any]]:
        lines = self.lines(name)
        forms = [form for form in lines if form in FORM_WEIGHTS]
        # A property with few templates of a form must not repeat them without end.
        weights = [FORM_WEIGHTS[form] * min(1.0, 0.25 + len(lines[form]) / 8) for form in forms]
        made: dict[str, dict[str, Any]] = {}
        for _ in range(wanted * 6):
            if len(made) >= wanted:
                break
            form = self.random.choices(forms, weights)[0]
            lesson = self.question(name, *self.pick(lines[form]))
            if lesson:
                made.setdefault(lesson["q"].lower(), lesson)
        return list(made.values())

    def fixed(self, group: str, names: list[str], wanted: int, whole_share: float) -> list[dict[str, Any]]:
        made: dict[str, dict[str, Any]] = {}
        for _ in range(wanted * 6):
            if len(made) >= wanted:
                break
            template, form, end = self.pick(self.templates[group]).rsplit("|", 2)
            text = self.fill(template, names[0], {}, whole_share)
            if text:
                lesson = self.lesson(text, names, form, ENDS[end], f"{group}:{template}")
                made.setdefault(lesson["q"].lower(), lesson)
        return list(made.values())

    def doubles(self, wanted: int) -> list[dict[str, Any]]:
        """Two properties in one question: the first leads."""
        names = [name for name in self.words if self.words[name].get("hi") and self.words[name].get("bad")]
        made = []
        while len(made) < wanted:
            first, second = self.random.sample(names, 2)
            one, two = self.word_for(first, "adjective"), self.word_for(second, "adjective")
            template, form = self.pick(self.templates["double"]).rsplit("|", 1)
            text = one and two and self.fill(template, first, {"{A}": one[0]["{A}"], "{B}": two[0]["{A}"]})
            if text:
                made.append(self.lesson(text, [first, second], form, one[1], f"double:{template}"))
        return made


def record(marked: str, names: list[str], form: str, direction: str, kind: str, template: str) -> dict[str, Any]:
    """A lesson from a question whose parts are marked; spans count characters of the plain question."""
    spans, plain, start = {}, "", 0
    for piece in re.split("([\x01-\x04])", marked):
        if piece in {"\x01", "\x03"}:
            start = len(plain)
        elif piece in {"\x02", "\x04"}:
            spans[piece] = [start, len(plain)]
        else:
            plain += piece
    first, second = spans.get("\x02"), spans.get("\x04")
    if second and (first is None or second[0] < first[0]):
        first, second = second, first
    if (form == "which" and names[0] != "flaw") or names[0] in UNSCALED - {"mood"}:
        direction = "none"  # "which way", "which element", "is it a painting": no end is named
    if form not in FORMS or direction not in DIRECTIONS or not set(names) <= set(PROPERTIES):
        raise ValueError(f"unknown label in {marked!r}: {names} {form} {direction}")
    return {
        "q": plain, "property": names, "form": form, "direction": direction,
        "span": first, "span2": second,
        "part": first and plain[slice(*first)], "part2": second and plain[slice(*second)],
        "kind": kind, "template": template,
    }  # fmt: skip


# Options --------------------------------------------------------------------------------------------------------------

ASKED = {"yes_no", "either_or", "degree", "rate", "good_enough", "describe"}


def options_for(maker: Maker, lesson: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Pairs of a question and an option: how much of its first property the option claims."""
    name, end = lesson["property"][0], lesson["direction"]
    entry, pairs = maker.words.get(name, {}), {}
    bad = entry.get("bad")
    for _ in range(count * 3):
        draw = maker.random.random()
        if draw < 0.12:
            thing = (lesson["part"] or "").removeprefix("the ").removeprefix("my ")
            pairs[f"There is no {thing}" if thing and maker.chance(0.4) else maker.pick(maker.options["no_claim"])] = (
                None
            )
        elif draw < 0.5 and (entry.get("hi") or entry.get("lo")):
            side = maker.pick([side for side in ("hi", "lo") if entry.get(side)])
            pattern, amount = maker.pick(list(maker.options["amounts"].items()))
            pairs[pattern.format(maker.pick(entry[side]))] = amount if side == "hi" else 1 - amount
        elif draw < 0.6 and (entry.get("n_hi") or entry.get("n_lo")):
            side = maker.pick([side for side in ("n_hi", "n_lo") if entry.get(side)])
            pattern, amount = maker.pick(
                [
                    ("{}", 0.9),
                    ("no {}", 0.0),
                    ("a lot of {}", 1.0),
                    ("some {}", 0.45),
                    ("strong {}", 1.0),
                    ("little {}", 0.2),
                ]
            )
            pairs[pattern.format(maker.pick(entry[side]))] = amount if side == "n_hi" else 1 - amount
        elif draw < 0.7 and bad:
            text, amount = maker.pick(list(maker.options["goodness"].items()))
            pairs[text] = amount if bad == "lo" else 1 - amount
        elif lesson["form"] == "rate" and (end != "none" or bad == "lo"):
            top = maker.pick([5, 10])
            number = maker.random.randint(1, top)
            amount = round((number - 1) / (top - 1), 2)
            pairs[maker.pick([f"{number} out of {top}", f"{number}/{top}"])] = 1 - amount if end == "low" else amount
        elif end != "none":
            text, amount = maker.pick(list(maker.options["generic"].items()))
            pairs[text] = amount if end == "high" else 1 - amount
        elif lesson["template"].startswith("scale:") and name not in {"well_exposed", "level", "colour_cast"}:
            text, amount = maker.pick(list(maker.options["levels"].items()))
            pairs[text] = amount
    pairs = {text: amount if amount is None else round(amount, 2) for text, amount in pairs.items()}
    chosen = maker.random.sample(sorted(pairs), min(count, len(pairs)))
    cased = {text: text[:1].upper() + text[1:] if maker.chance(0.6) else text for text in chosen}
    return [
        {"q": lesson["q"], "option": cased[text], "property": name, "amount": pairs[text],
         "kind": lesson["kind"], "template": lesson["template"]}
        for text in chosen
    ]  # fmt: skip


# --- The development questions ---


def shared_lessons(
    cases: list[dict[str, Any]], tags: dict[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The even half as lessons; `lessons/shared_forms.yaml` says what a rule cannot tell."""
    notes = yaml.safe_load((HERE / "shared_forms.yaml").read_text(encoding="utf-8"))
    lessons, pairs = [], []
    for case in cases:
        name, sign = shared_property(case)
        note = notes.get(case["id"], {})
        yes = tags[case["id"]].get("yes_means") if not case["options"] else None
        for option, given in (case["axis"] or {}).items():
            amount = given if given is None or sign > 0 else 1 - given
            pairs.append(
                {
                    "q": case["query"],
                    "option": option,
                    "property": name,
                    "amount": amount,
                    "kind": "shared",
                    "template": case["id"],
                }
            )
            yes = given if option.lower() in {"yes", "agree", "confirmed", "i do"} else yes
        high = sign > 0 if yes is None else (yes > 0.5) == (sign > 0)
        scaled = yes is not None or case["axis"] or case["form"] in {"degree", "compare", "where", "rating"}
        direction = note.get("direction") or (("high" if high else "low") if scaled and name != "none" else "none")
        form = note.get("form") or {"rating": "rate", "open": "describe"}.get(case["form"], case["form"])
        if case["asks"] == "out_of_scope":
            form = "not_about_quality"
        text = case["query"]
        for mark, part in zip(("\x01{}\x02", "\x03{}\x04"), note.get("parts") or parts_of(case), strict=False):
            text = re.sub(re.escape(part), lambda found, mark=mark: mark.format(found[0]), text, count=1, flags=re.I)
        lesson = record(text, [name], form, direction, "shared", case["id"])
        lessons.append(lesson | {"options": case["options"]} if case["options"] else lesson)
    return lessons, pairs


def parts_of(case: dict[str, Any]) -> list[str]:
    return [] if case["scope"] == "Global" else case["scope"].split(" vs ")


def written(path: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lessons written by hand, a line each: question | property | form | direction | part | part2 | options.

    Options are "text=amount; …": an amount 0..1 of the first property, null for one that claims none, claim for one
    that claims something else (a flaw, a place, a kind).
    """
    lessons, pairs = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.split("|")] + [""] * 6
        text, names, form, direction, first, second, offered = fields[:7]
        marked = text
        for part, mark in ((first, "\x01{}\x02"), (second, "\x03{}\x04")):
            if part and part not in marked:
                raise ValueError(f"{part!r} does not stand in {text!r}")
            whole = re.compile(rf"(?<!\w){re.escape(part)}(?!\w)" if part else "$^")
            marked = whole.sub(lambda found, mark=mark: mark.format(found[0]), marked, count=1)
        lesson = record(marked, names.split("+"), form, direction, "hand", f"{path.stem}:{text}")
        lessons.append(lesson)
        for option in filter(None, (each.strip() for each in offered.split(";"))):
            said, _, amount = (each.strip() for each in option.rpartition("="))
            lesson.setdefault("options", []).append(said)
            pairs.append(
                {"q": text, "option": said, "property": lesson["property"][0], "kind": "hand",
                 "amount": None if amount in {"null", "claim"} else float(amount), "template": lesson["template"]}
            )  # fmt: skip
    return lessons, pairs


def statements(maker: Maker) -> list[dict[str, Any]]:
    """What an option says by itself ("Motion blur", "The sky is too dark"): a property and an end, no form."""
    made = []
    for name, entry in maker.words.items():
        for side, end in (("hi", "high"), ("lo", "low"), ("n_hi", "high"), ("n_lo", "low")):
            for word in entry.get(side, ()):
                adjective = not side.startswith("n_")
                patterns = (
                    ["{}", "It is {}", "too {}", "{} picture", "Yes, {}"]
                    if adjective
                    else ["{}", "There is {}", "strong {}"]
                )
                text = maker.pick(patterns).format(word)
                text = text[:1].upper() + text[1:] if maker.chance(0.6) else text
                made.append(record(text, [name], "describe", end, "made", f"statement:{word}") | {"form": None})
    return made


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--questions", type=Path, required=True, help="folder of questions.jsonl and tags.json")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--each", type=int, default=130, help="questions per property; the main ones get twice as many")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    maker = Maker(given.seed)
    made = []
    for name in maker.words:
        size = sum(len(lines) for lines in maker.lines(name).values())
        made += maker.about(name, given.each * 2 if name in MAIN else min(given.each, 30 + 4 * size))
    made += maker.fixed("purpose", ["quality"], 330, 0.7) + maker.fixed("quality_rate", ["quality"], 260, 0.6)
    made += maker.fixed("wrong", ["flaw"], 420, 0.45)
    made += maker.fixed("follow_up", ["none"], 420, 0.05) + maker.fixed("other", ["none"], 750, 0.05)
    made += maker.doubles(380)
    maker.random.shuffle(made)
    hand, options = [], []
    for path in sorted(HERE.glob("questions_*.txt")):
        lessons, pairs = written(path)
        hand, options = hand + lessons, options + pairs
    cases, tags = (
        read(given.questions / "questions.jsonl"),
        json.loads((given.questions / "tags.json").read_text(encoding="utf-8")),
    )
    even = [case for case in cases if int(case["id"][1:]) % 2 == 0]
    odd = [case | tags.get(case["id"], {}) for case in cases if int(case["id"][1:]) % 2]
    shared, pairs = shared_lessons(even, tags)
    options += pairs
    for lesson in made + hand:
        if lesson["property"][0] in maker.words and lesson["form"] in ASKED and "options" not in lesson:
            pairs = options_for(maker, lesson, 2)
            options += pairs
            lesson["options"] = [pair["option"] for pair in pairs]
    made += statements(maker)
    fresh = (Path(__file__).resolve().parents[2] / "tests" / "data" / "fresh_questions.txt").read_text(encoding="utf-8")
    apart = [case["query"] for case in odd] + [line.split("|")[0].strip() for line in fresh.splitlines()]
    test_words = {text.lower().strip(" ?.!") for text in apart}
    before = len(made) + len(hand)
    made, hand, options = (
        [row for row in rows if row["q"].lower().strip(" ?.!") not in test_words] for rows in (made, hand, options)
    )
    print(f"{before - len(made) - len(hand)} lessons dropped that stand word for word among the test questions")
    tagged = [case | tags.get(case["id"], {}) for case in even]
    for name, rows in (
        ("made", made), ("hand", hand), ("shared", shared), ("options", options), ("even", tagged), ("test", odd),
    ):  # fmt: skip
        write(given.out / f"{name}.jsonl", rows)
        print(f"{name}: {len(rows)}")
    for title, key in (("forms", "form"), ("directions", "direction")):
        print(title, dict(Counter(str(row[key]) for row in made + hand + shared).most_common()))
    print("properties", dict(Counter(row["property"][0] for row in made + hand + shared).most_common()))
    print("with a part", sum(row["span"] is not None for row in made + hand + shared))
    print(
        "templates",
        len({row["template"] for row in made}),
        "claiming options",
        sum(row["amount"] is not None for row in options),
    )


if __name__ == "__main__":
    main()
