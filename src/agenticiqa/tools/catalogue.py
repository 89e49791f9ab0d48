"""Every tool this package knows (``catalogue.yaml``, ``tool_names.yaml``), whether it runs here, how to fetch it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from agenticiqa._data import by_word, read_data
from agenticiqa.errors import ToolUnavailableError
from agenticiqa.runtime.config import PyiqaSettings, ToolSettings, home_folder
from agenticiqa.tools import pyiqa_adapter
from agenticiqa.tools.metrics import METRICS, Metric, MetricSpec
from agenticiqa.tools.perceptual import dists, dists_weights, lpips

# --- names ---

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


# --- entries ---

Provider = Literal["native", "perceptual", "pyiqa"]
Purpose = Literal["compare", "measure_image"]
State = Literal["ready", "needs extra", "needs weights"]
PYIQA_BYTES_PER_PIXEL = 1500
"""Of the learned tools, as if they ran on the processor: an estimate from their widest layers."""
# Metrics of ours that stand on more than the pixels (other metrics, a network), so they live beside the metric library.
_OWN = {"AIQA_FR": "agenticiqa.tools.aiqa_fr", "AIQA_NR": "agenticiqa.tools.aiqa_nr"}
_PERCEPTUAL = {"LPIPS": lpips.SPEC, "DISTS": dists.SPEC}


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

    spec: MetricSpec
    """What the metric declares where it is ours; of pyiqa's, what the file says."""
    providers: tuple[Provider, ...]
    description: str
    licences: Mapping[Provider, str]
    in_paper: bool = False
    """One of the 28 tools of the AgenticIQA paper."""
    checked: str = ""
    """What its values were compared with."""
    best_at: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    agreement: Mapping[str, float] = field(default_factory=dict)
    specialist_for: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def type(self) -> Literal["FR", "NR"]:
        return self.spec.type

    def needs(self, provider: Provider) -> str:
        """What a user has to have for the tool, in words."""
        if provider == "native" or (provider == "perceptual" and self.name == "LPIPS"):
            return "nothing further"
        if provider == "perceptual":
            return f"agenticiqa tools fetch {self.name} ({dists_weights.DOWNLOAD_MB} MB)"
        return f"pip install 'agenticiqa[pyiqa]', then agenticiqa tools fetch {self.name}"


def tools_folder() -> Path:
    """Where converted weights and the notes of what was fetched are kept."""
    return home_folder() / "tools"


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = read_data("tools/catalogue.yaml")
    return content


def catalogue_names() -> list[str]:
    """The names of all entries, known without importing a metric.

    >>> "SSIM" in catalogue_names()
    True
    """
    return list(_content()["tools"])


def default_tools(purpose: Purpose, *, has_reference: bool) -> list[str]:
    """The tools that run when none is named."""
    return list(_content()["defaults"][purpose]["with_reference" if has_reference else "without_reference"])


@cache
def load_catalogue() -> dict[str, CatalogueEntry]:
    """All entries by name, in the file's order."""
    return {name: _entry(name, facts) for name, facts in _content()["tools"].items()}


def _entry(name: str, facts: dict[str, Any]) -> CatalogueEntry:
    shared = _content()["providers"]
    providers: tuple[Provider, ...] = tuple(facts["providers"])
    return CatalogueEntry(
        spec=_spec(name, facts),
        providers=providers,
        description=facts["description"],
        licences={provider: facts.get("licence") or shared[provider]["licence"] for provider in providers},
        in_paper=bool(facts.get("in_paper", False)),
        checked=facts.get("checked") or shared[providers[0]].get("checked", ""),
        best_at={category: tuple(kinds) for category, kinds in facts.get("best_at", {}).items()},
        agreement={category: float(value) for category, value in facts.get("agreement", {}).items()},
        specialist_for=tuple(facts.get("specialist_for", ())),
    )


def _spec(name: str, facts: dict[str, Any]) -> MetricSpec:
    if name in _PERCEPTUAL:
        return _PERCEPTUAL[name]
    if "native" in facts["providers"]:
        return _native(name).spec
    low, high = facts["range"]
    return MetricSpec(
        name=name,
        kind=facts["type"],
        range=(float(low), float(high)),
        higher_is_better=facts["higher_is_better"],
        variant="",
        paper=facts["paper"],
        good_at=tuple(facts.get("best_at", ())),
    )


# --- can it run here? ---


def availability(
    entry: CatalogueEntry, settings: ToolSettings | None = None, folder: Path | None = None
) -> Availability:
    """The first provider that can run the tool; if none can, what the easiest one lacks."""
    settings, folder = settings or ToolSettings(), folder or tools_folder()
    answers = [Availability(*_check(entry.name, each, settings, folder), each) for each in entry.providers]
    ready = next((answer for answer in answers if answer.ready), None)
    installed = next((answer for answer in answers if answer.state == "needs weights"), None)
    return ready or installed or answers[0]


def _check(name: str, provider: Provider, settings: ToolSettings, folder: Path) -> tuple[State, str]:
    if provider == "native":
        return "ready", "built in"
    if provider == "perceptual":
        if not perceptual_weights(name, folder).is_file():
            return "needs weights", f"its network (59 MB) is not here: run `agenticiqa tools fetch {name}`"
        return "ready", "runs on ONNX Runtime"
    version = pyiqa_adapter.installed_version()
    if version is None:
        missing = "pyiqa" if find_spec("pyiqa") is None else "torch"
        return "needs extra", (
            f"{missing} is not installed: pip install 'agenticiqa[pyiqa]'. {pyiqa_adapter.LICENCE_NOTE}"
        )
    problem = pyiqa_adapter.missing_weights(name, folder, settings.pyiqa)
    if problem:
        return "needs weights", f"{problem}. {pyiqa_adapter.LICENCE_NOTE}"
    return "ready", f"runs in pyiqa {version}. {pyiqa_adapter.LICENCE_NOTE}"


def has_memory_intensive_tools(folder: Path) -> bool:
    """Whether networks can run here that were not made to be lean: those of pyiqa, and DISTS."""
    return find_spec("pyiqa") is not None or perceptual_weights("DISTS", folder).is_file()


def perceptual_weights(name: str, folder: Path) -> Path:
    """LPIPS travels with the package; DISTS' backbone is too large for that."""
    return lpips.GRAPH if name == "LPIPS" else folder / dists.WEIGHTS_FILE


# --- metrics ---


def make_metric(entry: CatalogueEntry, provider: Provider, settings: ToolSettings, folder: Path) -> Metric:
    """The metric behind an entry; loads no network yet."""
    if provider == "pyiqa":
        return pyiqa_adapter.adapted(entry.name, pyiqa_spec(entry, settings.pyiqa), settings.pyiqa)
    if provider == "native":
        return _native(entry.name)
    if entry.name == "DISTS":
        return dists.metric(perceptual_weights(entry.name, folder))
    return Metric(lpips.SPEC, lpips.measure)


def _native(name: str) -> Metric:
    if name in METRICS:
        return METRICS[name]
    own = import_module(_OWN[name])
    return Metric(own.SPEC, own.measure, own.make_map)


def pyiqa_spec(entry: CatalogueEntry, settings: PyiqaSettings) -> MetricSpec:
    """What holds of a tool where pyiqa runs it."""
    return replace(
        entry.spec,
        variant=f"pyiqa's {pyiqa_adapter.pyiqa_name(entry.name)} with its default weights",
        good_at=tuple(entry.best_at),
        version=f"pyiqa {pyiqa_adapter.installed_version()}",
        bytes_per_pixel=PYIQA_BYTES_PER_PIXEL,
        max_megapixels=settings.max_megapixels,
        max_megapixels_setting="pipeline.tools.pyiqa.max_megapixels",
    )


# --- fetching ---


def fetch(
    entry: CatalogueEntry, settings: ToolSettings | None = None, folder: Path | None = None, archive: Path | None = None
) -> str:
    """Get what the tool lacks (DISTS: from ``archive`` if given), prove that it runs, and say what was done."""
    settings, folder = settings or ToolSettings(), folder or tools_folder()
    found = availability(entry, settings, folder)
    if found.ready:
        return f"{entry.name} is ready: {found.reason}."
    if found.state == "needs extra":
        raise ToolUnavailableError(f"{entry.name} cannot run here.", operator_detail=found.reason)
    if found.provider == "perceptual":
        return _fetch_dists(folder, archive)
    value, size = pyiqa_adapter.fetch(entry.name, pyiqa_spec(entry, settings.pyiqa), folder, settings.pyiqa)
    done = f"{entry.name} runs here (its value on a made picture: {value:.4g}); {size / 1e6:.0f} MB were downloaded."
    return f"{done} {pyiqa_adapter.LICENCE_NOTE}"


def _fetch_dists(folder: Path, archive: Path | None) -> str:
    path = perceptual_weights("DISTS", folder)
    trial, picture = path.with_name(f".trial.{path.name}"), pyiqa_adapter.trial_picture()
    try:
        dists_weights.make_weights(trial, archive)
        value = dists.metric(trial).measure(picture, picture).value
        trial.replace(path)
        lpips.forget(path)
    finally:
        lpips.forget(trial)
        trial.unlink(missing_ok=True)
    size = path.stat().st_size / 1e6
    return f"DISTS runs here (its value on two equal pictures: {value:.4g}); {size:.0f} MB are kept."
