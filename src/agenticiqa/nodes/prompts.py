"""What the agents say to a language model: one template for each step, as system text and user message.

The texts are the files in ``prompt_texts``. Fields in braces are filled in; a paragraph of the user message all of
whose fields are empty is left out. The words of the explanation and scoring templates are the specification's.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from agenticiqa.errors import ConfigError
from agenticiqa.runtime.files import write_atomic
from agenticiqa.state import Turn, View

# Only {name} is a field: the braces of JSON in a prompt hold more than one bare word.
_FIELD = re.compile(r"\{([a-z_]+)\}")
_USER_LINE = re.compile(r"^User:[ \t]*$", re.MULTILINE)
SUFFIX = ".txt"
LONGEST_FILE = 200_000
"""In bytes: no model reads a longer prompt for every step."""
TOLD_TURNS = 6
TOLD_CHARACTERS = 600
"""How much of a thread a model is told: its last turns, of each text the beginning."""


@dataclass(frozen=True)
class PromptTemplate:
    """One step's prompt. ``fields`` are those it may use, ``needed`` those without which it asks nothing."""

    name: str
    system: str
    user: str
    fields: tuple[str, ...]
    needed: tuple[str, ...] = ("query",)

    def filled(self, values: Mapping[str, str]) -> tuple[str, str]:
        """(system, user). A paragraph of the user message whose fields are all empty is left out.

        >>> template = PromptTemplate("x", "Answer.", "Q: {query}\\n\\nOptions: {options}", ("query", "options"))
        >>> template.filled({"query": "Is {it} sharp?", "options": ""})
        ('Answer.', 'Q: Is {it} sharp?')
        """

        def is_kept(paragraph: str) -> bool:
            names = _FIELD.findall(paragraph)
            return not names or any(values.get(name) for name in names)

        user = "\n\n".join(filter(is_kept, self.user.split("\n\n")))
        # In one pass: braces inside a value are the user's words, not fields.
        system, user = (_FIELD.sub(lambda found: values.get(found[1], ""), text) for text in (self.system, user))
        return system, user

    def used_fields(self) -> set[str]:
        return {*_FIELD.findall(f"{self.system}\n{self.user}")}

    def as_file(self) -> str:
        """The text of the file that :func:`read_prompts` reads it from."""
        return f"{self.system}\n\nUser:\n{self.user}\n"

    def replaced(self, text: str, where: str) -> PromptTemplate:
        """The same step with the words of a file: a system text and, behind a line ``User:``, the user message."""
        system, *behind = _USER_LINE.split(text.removeprefix("System:"), maxsplit=1)
        own = replace(self, system=system.strip(), user=behind[0].strip() if behind else self.user)
        unknown = sorted(own.used_fields() - {*self.fields})
        if unknown:
            raise ConfigError(
                f"{where} has a field {{{unknown[0]}}} that is not filled in.",
                hint=f"Fields of {self.name}: {', '.join(f'{{{name}}}' for name in self.fields)}.",
            )
        missing = [name for name in self.needed if name not in own.used_fields()]
        if missing or not own.system:
            lacks = f"the field {{{missing[0]}}}" if missing else "a system text"
            raise ConfigError(
                f"{where} lacks {lacks}.", hint="`agenticiqa config prompts FOLDER` writes the shipped ones."
            )
        return own


@dataclass(frozen=True)
class PromptBook:
    """The prompts of a run: the shipped ones, some of them replaced."""

    replaced: Mapping[str, PromptTemplate] = field(default_factory=dict)
    shipped: tuple[PromptTemplate, ...] = ()

    def fill(self, template: PromptTemplate, values: Mapping[str, str]) -> tuple[str, str]:
        """(system, user) of a step, by the replaced template where there is one."""
        return self.replaced.get(template.name, template).filled(values)

    @cached_property
    def sha256(self) -> str:
        """Of all templates in use; the same words give the same hash, wherever they stand."""
        texts = [self.replaced.get(each.name, each).as_file() for each in self.shipped]
        return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def read_prompts(folder: Path | None, shipped: tuple[PromptTemplate, ...]) -> PromptBook:
    """The shipped prompts, replaced by those that a folder holds; every file in it is checked."""
    if folder is None:
        return PromptBook({}, shipped)
    known = {f"{each.name}{SUFFIX}": each for each in shipped}
    if not folder.is_dir():
        raise ConfigError(f"There is no folder {str(folder)!r} with prompts.", hint="Check `prompts` in pipeline.yaml.")
    files = sorted(folder.glob(f"*{SUFFIX}"))
    unused = [file.name for file in files if file.name not in known]
    if unused or not files:
        what = f"{unused[0]}, which no step uses" if unused else "no prompt"
        raise ConfigError(f"{folder} holds {what}.", hint=f"Known: {', '.join(known)}.")
    return PromptBook({file.stem: known[file.name].replaced(_text(file), str(file)) for file in files}, shipped)


def write_prompts(folder: Path, shipped: Iterable[PromptTemplate]) -> list[Path]:
    """Write prompts as files to start from; a file that is there stays, and is an error."""
    targets = {folder / f"{each.name}{SUFFIX}": each.as_file() for each in shipped}
    taken = [file for file in targets if file.exists()]
    if taken:
        raise ConfigError(f"{taken[0]} is there already.", hint="Name another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in targets.items():
        write_atomic(file, text)
    return list(targets)


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
        if len(content) > LONGEST_FILE:
            raise ConfigError(f"{file} has {len(content):,} bytes, more than the limit of {LONGEST_FILE:,}.")
        return content.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read as UTF-8 text ({error}).") from None


def earlier_turns(turns: Sequence[Turn]) -> str:
    """What was asked before, a line of JSON each: whatever a question holds, it cannot leave its quotation marks.

    >>> print(earlier_turns([{"query": 'Is the "car" blurry?', "answer": "Yes"}]))
    {"question": "Is the \\"car\\" blurry?", "answer": "Yes"}
    """

    def cut(text: str) -> str:
        return text if len(text) <= TOLD_CHARACTERS else f"{text[: TOLD_CHARACTERS - 1]}…"

    told = []
    for turn in turns[-TOLD_TURNS:]:
        asked = "; ".join([turn["query"].strip(), *turn.get("options", ())])
        told.append(json.dumps({"question": cut(asked), "answer": cut(turn["answer"])}, ensure_ascii=False))
    return "\n".join(told)


PARTS_ATTACHED = (
    "Closer looks are attached as views: parts of the test image with its own pixels. They are no pictures of their "
    "own: a part looks worse for being enlarged or cut out, and a soft background may be meant. What shows in a view "
    "is there, at its place; how much it matters is judged of the whole."
)
PARTS_NOTED = (
    "Closer looks were taken at these parts of the image, with its own pixels. They are notes for the evidence above; "
    "judge the whole image, as it is seen at its usual size."
)


def views_section(views: Sequence[View], *, attached: bool) -> str:
    """What a model is told of closer looks: that they are parts, why each was taken, and what the quality map says."""
    if not views:
        return ""
    lines = [PARTS_ATTACHED if attached else PARTS_NOTED]
    for number, view in enumerate(views, 1):
        x, y, width, height = view.box
        said = "" if view.quality is None else f"; the quality map gives this place {view.quality:.1f} of 5"
        lines.append(f"view {number} (x {x}, y {y}, {width}×{height} pixels): {view.reason}{said}.")
    return "\n".join(lines)


# --- The prompts of the agents ---


def _shipped(name: str, *fields: str, needed: tuple[str, ...] = ("query",)) -> PromptTemplate:
    text = (Path(__file__).parent / "prompt_texts" / f"{name}{SUFFIX}").read_text(encoding="utf-8")
    return PromptTemplate(name, "", "", fields, needed).replaced(text, name)


PLANNER = _shipped(
    "planner", "query", "categories", "options", "reference", "regions", "gap", "previous_plan", "earlier"
)
DETECTION = _shipped("detection", "query", "objects", "gap", "categories", "views", needed=("query", "objects"))
ANALYSIS = _shipped("analysis", "query", "objects", "gap", "views", needed=("query", "objects"))
SELECTION = _shipped("selection", "query", "objects", "gap", "tools", needed=("query", "objects", "tools"))
VIEWS = _shipped("views", "query", "kinds", "size", "left", "views", needed=("query", "kinds", "size"))
SCORING = _shipped(
    "scoring", "query", "distortion_analysis", "tool_response", "notes", "views", "fused_tools", "earlier"
)
EXPLANATION = _shipped(
    "explanation",
    *("query", "distortion_analysis", "tool_response", "notes", "views", "options", "earlier"),
    needed=("query", "options"),
)
DIRECT_RATING = _shipped("direct_rating", "query", "earlier")
DIRECT_ANSWER = _shipped("direct_answer", "query", "options", "earlier", needed=("query", "options"))
SHIPPED = (PLANNER, VIEWS, DETECTION, ANALYSIS, SELECTION, EXPLANATION, SCORING, DIRECT_ANSWER, DIRECT_RATING)

# The documents' names, and their form with "System:" before the text.
PLANNER_PROMPT_TEMPLATE = PLANNER.system
EXPLANATION_PROMPT_TEMPLATE = f"System:\n{EXPLANATION.system}"
SCORING_PROMPT_TEMPLATE = f"System:\n{SCORING.system}"
