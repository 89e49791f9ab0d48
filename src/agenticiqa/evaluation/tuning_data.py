"""Builds the data that a model is fine-tuned on: runs that agree with people, and questions whose answers are known.

A run nobody judged, or that people would contradict, teaches nothing worth learning; both are left out and counted.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agenticiqa.batch.manifest.reading import open_manifest
from agenticiqa.errors import AgenticIQAError, QueryError
from agenticiqa.evaluation.results import EvaluationError, Result, read_results
from agenticiqa.evaluation.retelling import Conversation, Reteller
from agenticiqa.models.answers import lettered, parse_choice, parse_level, split_question
from agenticiqa.runtime.files import write_whole
from agenticiqa.vocabulary import DEFAULT_QUERY, LETTER_LEVELS, LEVEL_LETTERS, LEVEL_NAMES

TRAIN, HELD_OUT, FACTS = "train.jsonl", "held_out.jsonl", "tuning_data.json"

NOT_JUDGED = "nobody's opinion is known"
NOT_RIGHT = "the answer is not people's"
NOT_COMPLETE = "the run is incomplete"
NO_PICTURE = "a picture is not a file here"
NOT_RETOLD = "the run cannot be told again under this configuration"


@dataclass(frozen=True)
class TuningChoices:
    """What counts as right, and how much is kept from training."""

    scale: tuple[float, float] | None = None
    """The ends of the opinions, worst and best; None: opinions are not used."""
    tolerance: float = 0.75
    """How far, in levels, a rating may be from people's opinion."""
    held_out: float = 0.1
    unjudged: bool = False
    """Also take runs that nobody judged."""


@dataclass
class TuningData:
    """How many conversations there are of each step, and what was left out and why."""

    train: Counter[str] = field(default_factory=Counter)
    held_out: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def as_dict(self) -> dict[str, Any]:
        return {name: dict(sorted(counts.items())) for name, counts in vars(self).items()}


def build_tuning_data(
    sources: Iterable[Path],
    folder: Path,
    reteller: Reteller,
    choices: TuningChoices,
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> TuningData:
    """Write ``train.jsonl`` and ``held_out.jsonl`` from result files of `batch` and from manifests of datasets.

    Versions of one picture (the same reference, or the same file) are all trained on or all held out.
    """
    built = TuningData()
    lines: dict[str, list[str]] = {TRAIN: [], HELD_OUT: []}
    for number, (line, tell) in enumerate(_candidates(sources, reteller, choices), 1):
        on_progress(number)
        told = _conversations(line, tell, built)
        file = HELD_OUT if _share(line) < choices.held_out else TRAIN
        images = [str(Path(path).resolve()) for path in _pictures(line)]
        lines[file] += [each.as_line(images, str(line["sample_id"])) for each in told]
        (built.held_out if file == HELD_OUT else built.train).update(f"{each.role} {each.step}" for each in told)
    if not lines[TRAIN]:
        why = ", ".join(f"{reason} ({count})" for reason, count in built.left_out.items()) or "the files are empty"
        raise EvaluationError(f"Nothing is left to train on: {why}.", hint="--unjudged takes runs that nobody judged.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in lines.items():
        write_whole(folder / name, "".join(content))
    facts = {**built.as_dict(), "choices": vars(choices), "sha256": hash_of(lines[TRAIN])}
    write_whole(folder / FACTS, json.dumps(facts, indent=2) + "\n")
    return built


def hash_of(lines: Iterable[str]) -> str:
    return hashlib.sha256("".join(lines).encode()).hexdigest()


Tell = Callable[[], list[Conversation]]
"""Makes a candidate's conversations; None in its place says why there are none."""


def _candidates(
    sources: Iterable[Path], reteller: Reteller, choices: TuningChoices
) -> Iterator[tuple[Mapping[str, Any], Tell | str]]:
    for source in sources:
        if _holds_results(source):
            for result in read_results(source).results:
                yield result.line, _of_run(result, reteller, choices)
        else:
            manifest = open_manifest(str(source))
            try:
                for row in manifest.rows():
                    if row.sample is None:
                        raise EvaluationError(f"{source}, line {row.line}: {row.problem}", hint="Correct the manifest.")
                    line = {"query": DEFAULT_QUERY, **row.sample.as_row()}
                    yield line, _of_question(line, reteller, choices)
            finally:
                manifest.close()


def _holds_results(source: Path) -> bool:
    """Results have a status; manifests do not."""
    try:
        with source.open(encoding="utf-8") as stream:
            first = json.loads(stream.readline() or "null")
    except OSError as error:
        raise EvaluationError(f"{source} cannot be read: {error}.") from error
    except ValueError:
        return False
    return isinstance(first, dict) and "status" in first


def _of_run(result: Result, reteller: Reteller, choices: TuningChoices) -> Tell | str:
    if result.status != "ok":
        return NOT_COMPLETE
    agrees = _agrees(result, choices)
    if agrees is None and not choices.unjudged:
        return NOT_JUDGED
    return NOT_RIGHT if agrees is False else lambda: reteller.retold(result.line)


def _agrees(result: Result, choices: TuningChoices) -> bool | None:
    """Whether a run's answer is people's; None where nobody knows."""
    if result.is_choice:
        return result.correct
    opinion = _opinion(result.truth, choices)
    level = parse_level(str((result.line.get("summarizer_result") or {}).get("final_answer")))
    return None if opinion is None or level is None else abs(level - opinion) <= choices.tolerance


def _of_question(line: Mapping[str, Any], reteller: Reteller, choices: TuningChoices) -> Tell | str:
    known = _known_answer(line) or _known_level(line, choices)
    if known is None:
        return NOT_JUDGED
    letter, words = known
    return lambda: reteller.asked_directly(line, letter, words)


def _known_answer(line: Mapping[str, Any]) -> tuple[str, str] | None:
    try:
        options = lettered(line["options"]) if line.get("options") else split_question(line["query"])[1]
    except QueryError:
        return None
    letter = parse_choice(str(line.get("answer") or ""), options) if options else None
    return (letter, options[letter]) if letter else None


def _known_level(line: Mapping[str, Any], choices: TuningChoices) -> tuple[str, str] | None:
    opinion = _opinion(line.get("mos"), choices)
    if opinion is None:
        return None
    letter = LEVEL_LETTERS[min(max(int(opinion + 0.5), 1), 5)]
    return letter, f"{LEVEL_NAMES[LETTER_LEVELS[letter]]} quality."


def _opinion(mos: Any, choices: TuningChoices) -> float | None:
    """On the levels 1..5."""
    if choices.scale is None or not isinstance(mos, (int, float)):
        return None
    worst, best = choices.scale
    return 1 + 4 * (mos - worst) / (best - worst)


def _conversations(line: Mapping[str, Any], tell: Tell | str, built: TuningData) -> list[Conversation]:
    if isinstance(tell, str):
        built.left_out[tell] += 1
        return []
    if not all(Path(path).is_file() for path in _pictures(line)):
        built.left_out[NO_PICTURE] += 1
        return []
    try:
        return tell()
    except AgenticIQAError:
        built.left_out[NOT_RETOLD] += 1
        return []


def _pictures(line: Mapping[str, Any]) -> list[str]:
    """In the order in which agents are shown them."""
    return [path for path in (line["image_path"], line.get("reference_path")) if path]


def _share(line: Mapping[str, Any]) -> float:
    """A number from 0 to 1 that all versions of a picture have in common.

    By the file's name: the same data are divided the same way on every machine.
    """
    name = Path(line.get("reference_path") or line["image_path"]).name
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:6], "big") / 2**48
