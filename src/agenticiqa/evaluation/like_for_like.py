"""Which published row was got the way a result file was: with agents, by the model alone, or by one metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agenticiqa.evaluation.paper import method_of
from agenticiqa.evaluation.results import RAW_PREFIX, TOOL_PREFIX, Result
from agenticiqa.tools.names import tool_key

Kind = Literal["agents", "ablation", "direct", "metric", "people", "mixed"]

_SAID: dict[str, str] = {
    "agents": "no: all agents",
    "direct": "no: the model alone",
    "metric": "no: one metric",
    "people": "no: people",
}


@dataclass(frozen=True)
class Conditions:
    """How the answers of a result file came about. ``name`` is the tool of a metric; ``models`` those that answered."""

    kind: Kind
    models: frozenset[str] = frozenset()
    name: str = ""
    without: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In words.

        >>> str(Conditions("direct", frozenset({"openai.gpt-4o"})))
        'the model alone (openai.gpt-4o)'
        """
        models = f" ({', '.join(sorted(self.models))})" if self.models else ""
        return {
            "agents": f"agents{models}",
            "ablation": f"agents without {', '.join(self.without)}{models}",
            "direct": f"the model alone{models}",
            "metric": f"{self.name} alone",
            "people": "people",
            "mixed": "lines that came about in different ways",
        }[self.kind]


def conditions_of(results: Iterable[Result], score: str) -> Conditions:
    """Of the answered lines; a tool's own score is that metric, whatever else a line holds."""
    for prefix in (TOOL_PREFIX, RAW_PREFIX):
        if score.startswith(prefix):
            return Conditions("metric", name=score.removeprefix(prefix))
    answered = [result.line for result in results if result.status != "error"]
    found = {(kind, without) for kind, without, _ in map(_way, answered)}
    if len(found) != 1:
        return Conditions("mixed")
    kind, without = found.pop()
    return Conditions(kind, frozenset().union(*(models for _, _, models in map(_way, answered))), without=without)


def _way(line: Mapping[str, Any]) -> tuple[Kind, tuple[str, ...], frozenset[str]]:
    about = line.get("metadata") or {}
    backends = about.get("backend")
    models = (
        frozenset(str(name) for name in backends.values() if name) if isinstance(backends, Mapping) else frozenset()
    )
    # Results of earlier versions do not say, and had only agents.
    if about.get("mode") == "direct":
        return "direct", (), models
    without = about.get("without")
    parts = tuple(map(str, without)) if isinstance(without, list) else ()
    return ("ablation" if parts else "agents"), parts, models


def like_for_like(method: str, ours: Conditions) -> tuple[bool, str]:
    """Whether a published row was got as ours was, and in a few words why not.

    >>> like_for_like("GPT-4o", Conditions("direct", frozenset({"openai.gpt-4o"})))
    (True, 'yes')
    >>> like_for_like("GPT-4o", Conditions("agents", frozenset({"openai.gpt-4o"})))
    (False, 'no: the model alone')
    >>> like_for_like("AgenticIQA (GPT-4o)", Conditions("agents", frozenset({"embedded"})))
    (False, 'no: another model')
    """
    row = method_of(method)
    if row.kind != ours.kind:
        return False, _SAID[row.kind]
    if row.kind == "metric":
        same = tool_key(row.tool or method) == tool_key(ours.name)
        return same, "yes" if same else "no: another metric"
    if not ours.models or not all(_is_model(name, row.model) for name in ours.models):
        return False, "no: another model"
    # Whose weights a local model has is not known here.
    return (False, "the same model, there fine-tuned") if row.tuned else (True, "yes")


def _is_model(backend: str, model: str) -> bool:
    """A dated or sized version (gpt-4o-2024-08-06, Qwen2.5-VL-7B) is the model; gpt-4o-mini is not.

    >>> _is_model("openai.gpt-4o-2024-08-06", "gpt-4o"), _is_model("openai.gpt-4o-mini", "gpt-4o")
    (True, False)
    """
    name = backend.casefold().rpartition("/")[2].removeprefix("openai.").removeprefix("compatible.")
    rest = name.removeprefix(model)
    return rest != name and (not rest or (rest[0] == "-" and (rest[1:2].isdigit() or rest == "-local")))
