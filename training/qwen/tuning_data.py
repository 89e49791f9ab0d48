"""Data to fine-tune on: finished runs as conversations, the prompts their agents would send and the replies to them.

Nothing is asked and nothing measured. The agents run as they always do, on a client that answers from the record and
keeps what it was asked; so samples can never drift from what the pipeline really says.

    PYTHONPATH=src:. python -m training.qwen.tuning_data RESULTS… --scale 1,5 --output DATA
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from langchain_core.runnables import RunnableConfig
from training.recalibrate import numbers

from agenticiqa.answers import lettered, parse_choice, parse_level, split_question
from agenticiqa.batch.manifest import open_manifest
from agenticiqa.cli import options
from agenticiqa.cli.main import main
from agenticiqa.cli.options import finite
from agenticiqa.cli.terminal import error_console, print_json
from agenticiqa.errors import AgenticIQAError, QueryError
from agenticiqa.models.qwen import chat_messages
from agenticiqa.nodes.direct import direct_node
from agenticiqa.nodes.executor import executor_node
from agenticiqa.nodes.planner import planner_node
from agenticiqa.nodes.prompts import SHIPPED, PromptBook, read_prompts
from agenticiqa.nodes.run_context import CONTEXT_KEY, RunContext, initial_state
from agenticiqa.nodes.summarizer import summarizer_node
from agenticiqa.research.results import EvaluationError, Result, read_results
from agenticiqa.runtime.config import ROLES, Settings, load_settings
from agenticiqa.runtime.files import write_atomic
from agenticiqa.state import AgenticIQAState, ExecutorOutput, PlannerOutput
from agenticiqa.tools.registry import ToolRegistry, default_registry
from agenticiqa.vlm_client import ModelReply, ModelRequest, RichVLMClient, VLMClient
from agenticiqa.vocabulary import DEFAULT_QUERY, LEVEL_LETTERS, LEVEL_NAMES


@dataclass(frozen=True)
class Conversation:
    """One question of one agent and its right reply, as chat trainers of transformers and TRL read them."""

    role: str
    step: str
    messages: list[dict[str, Any]]

    def as_line(self, images: Sequence[str], sample_id: str) -> str:
        content = {"messages": self.messages, "images": list(images), "role": self.role, "step": self.step}
        return json.dumps({**content, "sample_id": sample_id}, ensure_ascii=False) + "\n"


@dataclass
class _Recorded(RichVLMClient):
    """Answers each step from the record, and keeps what it was asked."""

    replies: Mapping[str, Any]
    backend: str = "recorded"
    asked: dict[str, tuple[ModelRequest, str]] = field(default_factory=dict)
    cacheable = False
    cancellable = True

    def complete(self, request: ModelRequest) -> ModelReply:
        kind = request.schema.__name__ if request.schema else ""
        text = json.dumps(self.replies[kind], ensure_ascii=False)
        self.asked[kind] = (request, text)
        return ModelReply(text=text, model=self.backend)


_STEPS = {
    "PlanReply": ("planner", "plan"),
    "DetectionReply": ("executor", "detection"),
    "AnalysisReply": ("executor", "analysis"),
    "SelectionReply": ("executor", "selection"),
    "SummaryReply": ("summarizer", "answer"),
}
"""Role and step by the form of the reply."""


class ConversationBuilder:
    """Tells runs again under one configuration: its prompts, and the tools that are offered to a model."""

    def __init__(self, settings: Settings, tools: ToolRegistry, prompts: PromptBook) -> None:
        self._settings, self._tools, self._prompts = settings, tools, prompts

    def conversations_of(self, line: Mapping[str, Any]) -> list[Conversation]:
        """The conversations of a finished run, by its line of a result file."""
        state = _state_of(line)
        if (line.get("metadata") or {}).get("mode") == "direct":
            return self._replay(direct_node, state, {"SummaryReply": _answer(line)}, "direct")
        plan = PlannerOutput.model_validate(line["plan"])
        evidence = ExecutorOutput.model_validate(line["executor_evidence"])
        conversations: list[Conversation] = []
        # What was asked on later passes, with which gap, is not on record: of those runs only the answer can be told.
        if not (line.get("metadata") or {}).get("replans"):
            # A plan with parts left out on purpose is none to learn.
            if not {*state.get("without", [])} - {"fusion", "replan"}:
                conversations += self._replay(planner_node, state, {"PlanReply": _plan(plan)})
            # Measuring again would cost time and tell nothing.
            unmeasured = plan.model_copy(update={"plan": plan.plan.model_copy(update={"tool_execution": False})})
            conversations += self._replay(executor_node, {**state, "plan": unmeasured}, _evidence(evidence))
        ready: AgenticIQAState = {**state, "plan": plan, "executor_evidence": evidence}
        return conversations + self._replay(summarizer_node, ready, {"SummaryReply": _answer(line)})

    def asked_directly(self, line: Mapping[str, Any], answer: str, reasoning: str) -> list[Conversation]:
        """The bare model's conversation about a question whose right answer is known."""
        reply = {"final_answer": answer, "quality_reasoning": reasoning}
        return self._replay(direct_node, _state_of(line), {"SummaryReply": reply}, "direct")

    def _replay(
        self, node: Any, state: AgenticIQAState, replies: Mapping[str, Any], step: str | None = None
    ) -> list[Conversation]:
        client = _Recorded(replies)
        clients: dict[str, VLMClient] = dict.fromkeys(ROLES, client)
        context = RunContext(settings=self._settings, clients=clients, tools=self._tools, prompts=self._prompts)
        config: RunnableConfig = {"configurable": {CONTEXT_KEY: context}}
        update = node(state, config)
        evidence, result = update.get("executor_evidence"), update.get("summarizer_result")
        failures = [update.get("error"), result.error if result else None, *(evidence.errors if evidence else [])]
        if any(failures):
            failure = next(filter(None, failures))
            raise ReplayError(f"The run cannot be replayed: {failure}", hint="Is its configuration in force?")
        found = []
        for kind, (request, text) in client.asked.items():
            messages = chat_messages(request, [item.label for item in request.images], with_schema=False)
            messages.append({"role": "assistant", "content": [{"type": "text", "text": text}]})
            found.append(Conversation(_STEPS[kind][0], step or _STEPS[kind][1], messages))
        return found


class ReplayError(AgenticIQAError):
    """A record does not lead to the same run under this configuration."""


# --- from a record to replies ---


def _state_of(line: Mapping[str, Any]) -> AgenticIQAState:
    about = line.get("metadata") or {}
    return initial_state(
        line["query"],
        line["image_path"],
        line.get("reference_path"),
        options=line.get("options") or about.get("options"),
        regions=line.get("regions") or about.get("regions"),
        without=about.get("without") or (),
    )


def _plan(plan: PlannerOutput) -> dict[str, Any]:
    written = plan.model_dump(mode="json", exclude={"extra_tools"})
    by_object = plan.distortions or {}
    return {
        **written,
        "distortions": [{"object": name, "types": kinds} for name, kinds in by_object.items()] or None,
        "required_tool": plan.named_tools or None,
    }


def _evidence(evidence: ExecutorOutput) -> dict[str, Any]:
    detected, analysed = evidence.distortion_set or {}, evidence.distortion_analysis or {}
    return {
        "DetectionReply": {"objects": [{"object": name, "types": kinds} for name, kinds in detected.items()]},
        "AnalysisReply": {
            "analysis": [
                {"object": name, **entry.model_dump(mode="json")}
                for name, entries in analysed.items()
                for entry in entries
            ]
        },
        "SelectionReply": {
            "selection": [
                {"object": name, "distortion": kind, "tool": tool}
                for name, by_kind in (evidence.selected_tools or {}).items()
                for kind, tool in by_kind.items()
            ]
        },
    }


def _answer(line: Mapping[str, Any]) -> dict[str, str]:
    """In the model's own words, where the summarizer added some."""
    result = line["summarizer_result"]
    words = (result.get("used_evidence") or {}).get("model_reasoning") or result["quality_reasoning"]
    return {"final_answer": result["final_answer"], "quality_reasoning": words}


# --- Builds the data that a model is fine-tuned on ---


TRAIN, HELD_OUT, FACTS = "train.jsonl", "held_out.jsonl", "tuning_data.json"

NOT_JUDGED = "no opinion score is known"
NOT_RIGHT = "the answer is not people's"
NOT_COMPLETE = "the run is incomplete"
NO_PICTURE = "a picture is not a file here"
NOT_REPLAYABLE = "the run cannot be replayed under this configuration"


@dataclass(frozen=True)
class TuningChoices:
    """What counts as right, and how much is kept from training."""

    scale: tuple[float, float] | None = None
    """The ends of the opinions, worst and best; None: opinions are not used."""
    tolerance: float = 0.75
    """How far, in levels, a rating may be from people's opinion."""
    held_out: float = 0.1
    unjudged: bool = False
    """Also take runs without an opinion score or a right answer."""


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
    builder: ConversationBuilder,
    choices: TuningChoices,
    *,
    on_progress: Callable[[int], None] = lambda _: None,
) -> TuningData:
    """Write ``train.jsonl`` and ``held_out.jsonl`` from result files of `batch` and from manifests of datasets.

    Versions of one picture (the same reference, or the same file) are all trained on or all held out. Raises
    EvaluationError where nothing is left to train on.
    """
    built = TuningData()
    lines: dict[str, list[str]] = {TRAIN: [], HELD_OUT: []}
    for number, (line, answer) in enumerate(_candidates(sources, choices), 1):
        on_progress(number)
        # In the order in which agents are shown them.
        pictures = [Path(path) for path in (line["image_path"], line.get("reference_path")) if path]
        if isinstance(answer, str) or not all(path.is_file() for path in pictures):
            built.left_out[answer if isinstance(answer, str) else NO_PICTURE] += 1
            continue
        try:
            conversations = builder.asked_directly(line, *answer) if answer else builder.conversations_of(line)
        except AgenticIQAError:
            built.left_out[NOT_REPLAYABLE] += 1
            continue
        held_out = _share(pictures[-1].name) < choices.held_out
        images = [str(path.resolve()) for path in pictures]
        lines[HELD_OUT if held_out else TRAIN] += [
            each.as_line(images, str(line["sample_id"])) for each in conversations
        ]
        (built.held_out if held_out else built.train).update(f"{each.role} {each.step}" for each in conversations)
    if not lines[TRAIN]:
        why = ", ".join(f"{reason} ({count})" for reason, count in built.left_out.items()) or "the files are empty"
        raise EvaluationError(
            f"Nothing is left to train on: {why}.", hint="--unjudged also takes runs without a known answer."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in lines.items():
        write_atomic(folder / name, "".join(content))
    digest = hashlib.sha256("".join(lines[TRAIN]).encode()).hexdigest()
    facts = {**built.as_dict(), "choices": vars(choices), "sha256": digest}
    write_atomic(folder / FACTS, json.dumps(facts, indent=2) + "\n")
    return built


def _share(name: str) -> float:
    """A number from 0 to 1 by a file's name: the same data are divided the same way on every machine."""
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:6], "big") / 2**48


def _candidates(
    sources: Iterable[Path], choices: TuningChoices
) -> Iterator[tuple[Mapping[str, Any], tuple[str, str] | str | None]]:
    """Lines, each with the right letter and its words, with None (the run was right), or with why it is left out."""
    for source in sources:
        if _holds_results(source):
            for result in read_results(source).results:
                yield result.line, _problem_of_run(result, choices)
        else:
            with closing(open_manifest(str(source))) as manifest:
                for row in manifest.rows():
                    if row.sample is None:
                        raise EvaluationError(f"{source}, line {row.line}: {row.problem}", hint="Correct the manifest.")
                    line = {"query": DEFAULT_QUERY, **row.sample.as_row()}
                    yield line, _known_answer(line) or _known_level(line, choices) or NOT_JUDGED


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


def _problem_of_run(result: Result, choices: TuningChoices) -> str | None:
    """Why a run is left out: unfinished, without a known answer, or different from it."""
    if result.status != "ok":
        return NOT_COMPLETE
    if result.is_choice:
        return None if result.correct else NOT_RIGHT
    opinion = _opinion(result.truth, choices)
    level = parse_level(str((result.line.get("summarizer_result") or {}).get("final_answer")))
    if opinion is None or level is None:
        return None if choices.unjudged else NOT_JUDGED
    return None if abs(level - opinion) <= choices.tolerance else NOT_RIGHT


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
    level = min(max(int(opinion + 0.5), 1), 5)
    return LEVEL_LETTERS[level], f"{LEVEL_NAMES[level]} quality."


def _opinion(mos: Any, choices: TuningChoices) -> float | None:
    if choices.scale is None or not isinstance(mos, (int, float)):
        return None
    worst, best = choices.scale
    return 1 + 4 * (mos - worst) / (best - worst)


# --- The command ---


def tuning_data(
    sources: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Result files of `batch`, manifests of `datasets`.", show_default=False),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for train.jsonl and held_out.jsonl.")],
    scale: Annotated[
        str | None, typer.Option(help="Ends of people's opinions, as WORST,BEST; else they do not count.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option(callback=finite, min=0, help="Levels a rating may be from people's opinion.")
    ] = 0.75,
    held_out: Annotated[
        float, typer.Option(callback=finite, min=0, max=0.9, help="Share of pictures kept from training.")
    ] = 0.1,
    unjudged: Annotated[bool, typer.Option("--unjudged", help="Also take runs without a known answer.")] = False,
    overwrite: options.OverwriteOption = False,
    json_output: options.JsonOption = False,
    config: options.ConfigOption = None,
) -> None:
    """Tell finished runs again as conversations of planner, executor and summarizer, as transformers and TRL read them.

    Runs count only where they agree with people (a right answer, or a rating near the opinion); a manifest's questions
    become conversations of the bare model. No model is asked.
    """
    taken = [output / name for name in (TRAIN, HELD_OUT) if (output / name).exists()]
    if taken and not overwrite:
        raise typer.BadParameter(f"{taken[0]} is there already: choose another folder, or --overwrite.")
    settings = load_settings(config)
    builder = ConversationBuilder(
        settings, default_registry(settings.pipeline.tools), read_prompts(settings.pipeline.prompts, SHIPPED)
    )
    choices = TuningChoices(_ends(scale), tolerance, held_out, unjudged)
    with error_console().status("Telling runs again") as status:
        built = build_tuning_data(
            sources, output, builder, choices, on_progress=lambda number: status.update(f"Telling run {number} again")
        )
    if json_output:
        print_json({**built.as_dict(), "folder": str(output)})
        return
    for name, counts in ((TRAIN, built.train), (HELD_OUT, built.held_out)):
        parts = ", ".join(f"{step} {count}" for step, count in sorted(counts.items())) or "nothing"
        typer.echo(f"{output / name}: {sum(counts.values())} conversations ({parts})")
    for reason, count in built.left_out.most_common():
        typer.echo(f"left out: {count} because {reason}")


def _ends(scale: str | None) -> tuple[float, float] | None:
    if scale is None:
        return None
    worst, best = numbers("--scale", scale, "0,100")
    if worst == best:
        raise typer.BadParameter("--scale needs two different ends.")
    return worst, best


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(tuning_data)
    main(app)
