"""Does status ``ok`` mean that what was asked was read, and are told chances true?

    python benchmarks/accuracy/answers.py                                    # over readings made up at random
    python benchmarks/accuracy/answers.py --pictures DIR --each 150          # over pictures
    python -m benchmarks.accuracy.answers --data DATA --truths 40            # told chances against known truth

The questions are all that the tests hold; ``--questions FILE`` adds more (JSON lines with ``query`` and ``options``).
An answer counts as a violation where it is told without a doubt though a property that it needs was not read, only
guessed, or read of another part. ``--data`` (laid out as training/README.md says) asks about made damage of photographs
of the test part and about real flaws of held-out pictures: of answers told with 80 to 100 %, how many are right?
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from agenticiqa.answers import split_question
from agenticiqa.embedded.answering import chances as bounds
from agenticiqa.embedded.answering import options, words
from agenticiqa.embedded.answering.problem import AnswerProblem, EmbeddedAnswer, SeenEvidence
from agenticiqa.embedded.answering.yes_no import claims
from agenticiqa.embedded.backend import EmbeddedBackend
from agenticiqa.embedded.looking import Looker
from agenticiqa.embedded.properties import properties
from agenticiqa.embedded.question import ParsedQuestion, read_question, understand
from agenticiqa.embedded.readings.base import PropertyReading
from agenticiqa.nodes.summarizer import select_mode
from agenticiqa.pictures.images import LoadedImage, decode_image, load_image
from agenticiqa.state import Advice, ExecutorOutput
from agenticiqa.vision.network import load_vision
from agenticiqa.vlm_client import Question, Verdict
from agenticiqa.vocabulary import GLOBAL, UNABLE_TO_DETERMINE

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests" / "data"
BINS = (0.0, 0.6, 0.8, 0.9, 0.95, 1.0)
SURE = 0.8


# --- questions ---


@dataclass(frozen=True)
class Query:
    text: str
    options: tuple[str, ...] = ()

    def letters(self) -> dict[str, str]:
        if self.options:
            return {chr(ord("A") + place): text for place, text in enumerate(self.options)}
        return split_question(self.text)[1]

    def read(self) -> ParsedQuestion:
        alone, letters = split_question(self.text)[0], self.letters()
        return read_question(alone, letters) if letters else understand(self.text)


def questions(more: Sequence[Path]) -> list[Query]:
    """All questions of the tests, and of further files."""
    found: dict[Query, None] = {}
    for line in (TESTS / "tester_questions.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            found[Query(line.split("\t")[1])] = None
    names = ("question_meanings", "planner_questions", "planner_questions_held_out")
    for file in (*(TESTS / f"{name}.jsonl" for name in names), *more):
        for line in file.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            found[Query(case["query"], tuple(case.get("options") or ()))] = None
    return list(found)


# --- status ---


@dataclass
class RandomEvidence(SeenEvidence):
    """Every property is read, guessed or not read at all; every part is found or not: by chance."""

    rng: np.random.Generator
    known: dict[tuple[str, str], PropertyReading | None] = field(default_factory=dict)
    found: dict[str, bool] = field(default_factory=dict)

    def told(self, name: str, part: str = GLOBAL) -> PropertyReading | None:
        if (name, part) not in self.known:
            self.known[name, part] = self._made(name)
        return self.known[name, part]

    def _made(self, name: str) -> PropertyReading | None:
        asked = properties()[name]
        if name not in ("quality", "flaw") and self.rng.random() < 0.25:
            return None
        guess = bool(self.rng.random() < 0.2)
        if asked.has_scale:
            return PropertyReading("Read.", tuple(map(float, self.rng.dirichlet([0.4] * 5))), guess=guess)
        values = list(dict.fromkeys(asked.values.values()))
        return PropertyReading("Read.", values={value: float(self.rng.random()) for value in values}, guess=guess)

    def located(self, part: str) -> bool:
        return part == GLOBAL or self.found.setdefault(part, bool(self.rng.random() < 0.5))

    def note(self, part: str) -> str | None:  # noqa: ARG002 - made up
        return None

    def share(self, category: str, kind: str, part: str = GLOBAL) -> float | None:  # noqa: ARG002 - made up
        return None

    def damage(self, category: str, part: str = GLOBAL) -> tuple[float, ...] | None:  # noqa: ARG002 - made up
        return None

    def advice(self, category: str | None = None) -> Sequence[Advice]:  # noqa: ARG002 - the same whatever it is for
        return ()

    def faces(self) -> int:
        return 0

    def is_guess(self, part: str) -> bool:  # noqa: ARG002 - made up
        return False

    def is_assumed(self, part: str) -> bool:  # noqa: ARG002 - made up
        return False

    def is_absent(self, part: str) -> bool:  # noqa: ARG002 - made up
        return False

    def worst_place(self) -> None:  # type: ignore[override]
        return None


def unread(question: ParsedQuestion, evidence: SeenEvidence, *, lettered: bool) -> list[str]:
    """What an answer to the question needs and does not have, told independently of how answers are made."""
    meaning = question.meaning
    # A part that was not found is said in the answer, which is then about the whole picture: nothing is missing for it.
    missing: list[str] = []
    if meaning.form in ("how_to_fix", "what_is_wrong"):
        return missing
    if meaning.property is None:
        return [] if "colo" in meaning.text.lower() else ["nothing that can be read was asked"]
    if lettered and meaning.form in ("where", "compare"):
        # Parts that options name are each located and read by themselves.
        return missing
    if meaning.options and (meaning.form == "which" or not lettered):
        needed = {option.property for option in meaning.options if option.property} or {meaning.property}
    else:
        needed = {each.property for each in claims(meaning)} or {meaning.property}
    for name in filter(None, needed):
        told = evidence.told(name, meaning.parts[0].name if meaning.parts else GLOBAL)
        if told is None:
            missing.append(f"{name} was not read")
        elif told.guess and not (name == "quality" and bounds.names_bound(meaning.text)):
            missing.append(f"{name} was guessed")
    return missing


def certain(answer: str, doubt: str | None) -> bool:
    return answer != UNABLE_TO_DETERMINE and not doubt


def over_made_readings(asked: Sequence[Query], rounds: int) -> Counter[str]:
    """Counts of answers, of those told with status ok, and of violations."""
    count: Counter[str] = Counter()
    for query in asked:
        question, letters = query.read(), query.letters()
        for seed in range(rounds):
            evidence = RandomEvidence(np.random.default_rng([seed, len(query.text)]))
            problem = AnswerProblem(question.meaning, evidence)
            found: EmbeddedAnswer = options.answer(problem) if letters else words.answer(problem)
            told = found.verdict()
            _note(count, query, told, unread(question, evidence, lettered=bool(letters)))
    return count


def over_pictures(asked: Sequence[Query], pictures: Sequence[Path], each: int) -> Counter[str]:
    count: Counter[str] = Counter()
    looker, rng = Looker(load_vision()), np.random.default_rng(2026)
    for path in pictures:
        image = load_image(path)
        for place in rng.permutation(len(asked))[:each]:
            query = asked[int(place)]
            mind, mode, verdict = answered(image, query, looker)
            if mode == "scoring":
                continue
            evidence = SeenEvidence(mind._find)
            _note(count, query, verdict, unread(query.read(), evidence, lettered=bool(query.letters())))
    return count


def _note(count: Counter[str], query: Query, verdict: Verdict, missing: Sequence[str]) -> None:
    count["answers"] += 1
    if verdict.answer == UNABLE_TO_DETERMINE:
        count["declined"] += 1
    if certain(verdict.answer, verdict.doubt):
        count["ok"] += 1
        if missing:
            count["violations"] += 1
            print(f"  ✗ {query.text!r} {query.options or ''}: {verdict.answer}, though {'; '.join(missing)}")


def answered(image: LoadedImage, query: Query, looker: Looker) -> tuple[EmbeddedBackend, str, Verdict]:
    asked = Question(query.text, split_question(query.text)[0], query.letters(), lambda: image)
    mind = EmbeddedBackend(asked, looker, "embedded")
    plan = mind.plan()
    mode = select_mode(plan, query.text, has_options=bool(asked.options))
    return mind, mode, mind.answer(mode, plan, ExecutorOutput())


# --- told chances ---


@dataclass(frozen=True)
class Truth:
    image: LoadedImage
    query: Query
    right: str
    """The answer, or the text of the right option."""
    of: str


def made_damage(data: Path, each: int) -> Iterator[Truth]:
    from PIL import Image
    from training.embedded import splits
    from training.embedded.choice_questions import choice_questions

    from agenticiqa.pictures.images import png_bytes

    photographs = [data / "photos" / name for name in splits.load()["photos"]["test"]]
    for asked in choice_questions(photographs, each, 31):
        if asked.reference is None:
            image = decode_image(png_bytes(Image.fromarray(asked.picture)))
            yield Truth(image, Query(asked.text, asked.options), asked.options[asked.truth], "made damage")


def real_flaws(data: Path, most: int) -> Iterator[Truth]:
    from training.embedded.flaw_answers import manifest

    rows = manifest(data, "test")
    by_query: dict[str, list[dict[str, Any]]] = {}
    for place in np.random.default_rng(7).permutation(len(rows)):
        by_query.setdefault(rows[int(place)]["query"], []).append(rows[int(place)])
    for own in by_query.values():
        for row in own[:most]:
            query = Query(row["query"], tuple(row.get("options") or ()))
            yield Truth(load_image(Path(row["image_path"])), query, row["truth"], "real flaws")


def calibration(truths: Iterator[Truth]) -> list[tuple[str, float, bool, bool]]:
    """Of each answer: where it comes from, the chance that was told, whether it is right, whether it was certain."""
    looker, found = Looker(load_vision()), []
    for truth in truths:
        _, _, verdict = answered(truth.image, truth.query, looker)
        chance = verdict.probabilities.get(verdict.answer)
        if chance is None:
            continue
        letters = truth.query.letters()
        said = letters.get(verdict.answer, verdict.answer)
        found.append((truth.of, chance, said == truth.right, certain(verdict.answer, verdict.doubt)))
    return found


def report_calibration(found: Sequence[tuple[str, float, bool, bool]]) -> None:
    for of in dict.fromkeys(each[0] for each in found):
        own = [each for each in found if each[0] == of]
        print(f"{of}: {len(own)} answers, {sum(each[2] for each in own) / len(own):.0%} right")
        for low, high in pairwise(BINS):
            inside = [each for each in own if low <= each[1] < high or (high == 1.0 and each[1] == 1.0)]
            if inside:
                right = sum(each[2] for each in inside)
                share = right / len(inside)
                print(f"  told with {low:.0%} to {high:.0%}: {right} of {len(inside)} right ({share:.0%})")
        for name, sure in (
            ("told with 80 to 100 %", [each for each in own if each[1] >= SURE]),
            ("of those with status ok", [each for each in own if each[1] >= SURE and each[3]]),
        ):
            right = sum(each[2] for each in sure)
            print(f"  {name}: {right} of {len(sure)} right ({right / max(1, len(sure)):.1%})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, action="append", default=[])
    parser.add_argument("--rounds", type=int, default=4, help="made-up readings per question")
    parser.add_argument("--pictures", type=Path, help="a folder of pictures to ask about")
    parser.add_argument("--most", type=int, default=4, help="pictures of the folder")
    parser.add_argument("--each", type=int, default=150, help="questions per picture")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--truths", type=int, default=20, help="questions with known truth of each type")
    arguments = parser.parse_args()
    asked = questions(arguments.questions)
    print(f"{len(asked)} questions")
    print("made-up readings:", dict(over_made_readings(asked, arguments.rounds)))
    if arguments.pictures:
        files = sorted(file for file in arguments.pictures.glob("*.*") if file.suffix in (".jpg", ".png", ".webp"))
        places = np.linspace(0, len(files) - 1, min(arguments.most, len(files))).astype(int)
        print("pictures:", dict(over_pictures(asked, [files[place] for place in places], arguments.each)))
    if arguments.data:
        found = calibration(made_damage(arguments.data, arguments.truths))
        found += calibration(real_flaws(arguments.data, arguments.truths))
        report_calibration(found)


if __name__ == "__main__":
    main()
