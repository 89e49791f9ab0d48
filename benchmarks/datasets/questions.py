"""Sets of questions with answer options."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.datasets.folder import DatasetFolder, Reader, first_key, joined, json_records

from agenticiqa.answers import lettered, parse_choice
from agenticiqa.batch.sample import Sample
from agenticiqa.errors import QueryError

# --- Q-Bench LLVisionQA ----------------------------------------------------------------------------------

_QUESTION_TYPES = {"0": "yes-or-no", "1": "what", "2": "how"}
_CONCERNS = {"0": "distortion", "1": "other", "2": "in-context distortion", "3": "in-context other"}
_LLVISIONQA_FILES = {
    "dev": ("llvisionqa_dev.json", "llvisionqa_qbench_dev.json"),
    "test": ("llvisionqa_test.json", "llvisionqa_qbench_test.json"),
}


def _read_llvisionqa(folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    file = folder.file(*_LLVISIONQA_FILES[subset])
    pictures = folder.folder("images", "images_llvisionqa", f"llvisionqa_qbench_{subset}", ".")
    for place, record in enumerate(json_records(folder, file)):
        kind, concern = str(record.get("type", "")), str(record.get("concern", ""))
        carried = {
            "dataset": "llvisionqa",
            "split": subset,
            "question_type": _QUESTION_TYPES.get(kind, kind or None),
            "concern": _CONCERNS.get(concern, concern or None),
        }
        yield _question(folder, file, pictures, f"llvisionqa/{subset}/{place:04}", record, carried)


# --- AgenticIQA-Eval -------------------------------------------------------------------------------------

_TASKS = ("planner", "executor-distortion", "executor-tool", "summarizer")


def _read_agenticiqa_eval(folder: DatasetFolder, subset: str) -> Iterator[Sample]:
    """One JSON or JSON Lines file with the task in each record, or one file for each task."""
    whole = folder.optional_file("agenticiqa_eval.json", "agenticiqa_eval.jsonl", "AgenticIQA-Eval.json")
    sources: list[tuple[str | None, Path]] = [(None, whole)] if whole else []
    for name in () if whole else _TASKS:
        stems = (name, name.replace("-", "_"))
        sources.append((name, folder.file(*(f"{stem}{suffix}" for stem in stems for suffix in (".json", ".jsonl")))))
    pictures = folder.folder("images", ".")
    for task, file in sources:
        for place, record in enumerate(json_records(folder, file)):
            label = task or _text(folder, file, record, "task", "task_type", "agent", "category")
            own = "-".join(label.casefold().replace("_", " ").replace("-", " ").split())
            if subset in ("all", own):
                carried = {"dataset": "agenticiqa-eval", "task": own}
                yield _question(folder, file, pictures, f"agenticiqa-eval/{own}/{place:04}", record, carried)


# --- both ------------------------------------------------------------------------------------------------


def _question(
    folder: DatasetFolder, file: Path, pictures: str, sample_id: str, record: dict[str, Any], carried: dict[str, Any]
) -> Sample:
    options = first_key(record, "candidates", "options", "choices")
    if isinstance(options, dict):
        options = list(options.values())
    if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
        raise folder.malformed(file, f"{sample_id} has no list of answer options")
    answer = first_key(record, "correct_ans", "answer", "correct_answer")
    letter = None
    if answer is not None and str(answer).strip():
        try:
            letter = parse_choice(str(answer), lettered(options))
        except QueryError as error:
            raise folder.malformed(file, f"{sample_id}: {error.message}") from error
        if letter is None:
            raise folder.malformed(file, f"{sample_id}: the right answer {answer!r} is none of {options}")
    reference = first_key(record, "reference_path", "reference", "ref_path")
    return Sample(
        sample_id=sample_id,
        image_path=joined(pictures, _text(folder, file, record, "img_path", "image_path", "image")),
        reference_path=joined(pictures, str(reference)) if reference else None,
        query=_text(folder, file, record, "question", "query"),
        options=options,
        answer=letter,
        task_type="choice",
        carried={key: value for key, value in carried.items() if value is not None},
    )


def _text(folder: DatasetFolder, file: Path, record: dict[str, Any], *names: str) -> str:
    value = first_key(record, *names)
    if not isinstance(value, str) or not value.strip():
        raise folder.malformed(file, f"a record has no {' or '.join(names)}")
    return value.strip()


READERS: dict[str, Reader] = {"llvisionqa": _read_llvisionqa, "agenticiqa-eval": _read_agenticiqa_eval}
