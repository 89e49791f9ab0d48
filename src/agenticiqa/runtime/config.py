"""Configuration: packaged defaults < files < environment < command line, checked into one settings object.

Files are ``model_backends.yaml`` (which model plays which role) and ``pipeline.yaml`` (everything else). Each may hold
any subset of keys. An unknown key is refused with its name and line, so that none is silently dropped.

These files decide where pictures and keys are sent. The working folder may be untrusted (a clone, a download): its
files are read only if the user names the folder.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar

import platformdirs
import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from agenticiqa.errors import ConfigError, QueryError, without_credentials
from agenticiqa.runtime.layers import FILES, PIPELINE_FILE, Layer, merge, nested, parse_layer
from agenticiqa.runtime.memory import parse_size
from agenticiqa.state import Part, RunMode, ViewsMode, check_mode, known_parts

logger = logging.getLogger(__name__)

WORKING_FOLDER = Path("configs")
LONGEST_FILE = 1024 * 1024
"""Of a working folder, in bytes: a longer file is none of ours."""
ENVIRONMENT_PREFIX = "AGENTICIQA_"
# Variables with our prefix that are not settings of their own.
CONFIG_DIR_VARIABLE = "AGENTICIQA_CONFIG_DIR"
BACKEND_VARIABLE = "AGENTICIQA_BACKEND"
BACKENDS_VARIABLE = "AGENTICIQA_BACKENDS"
HOME_VARIABLE = "AGENTICIQA_HOME"
_OTHER_VARIABLES = (CONFIG_DIR_VARIABLE, BACKEND_VARIABLE, BACKENDS_VARIABLE, HOME_VARIABLE)
_OF_BACKEND: dict[str, Any] = {"fallback_backend": None, "backends": ()}
"""What belongs to the backend that it was set with: another backend has none of it."""
PROFILES = ("paper",)
_PACKAGED = "packaged "
SUMMARIZER = "summarizer"
ROLES: tuple[str, ...] = ("planner", "executor", SUMMARIZER)
StrictT = TypeVar("StrictT", bound="_Strict")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def changed(self: StrictT, **values: Any) -> StrictT:
        """A copy with other values; a dictionary holds other values of the settings below that name.

        >>> PipelineSettings().changed(tools={"max_workers": 2}).tools.max_workers
        2
        """
        parts = {name: part for name in values if isinstance(part := getattr(self, name), _Strict)}
        below = {name: part.changed(**values[name]) for name, part in parts.items()}
        return self.model_copy(update=values | below)


@contextmanager
def _as_validation_error() -> Iterator[None]:
    """A ConfigError inside becomes one of a model's problems, reported with its key and line like the others."""
    try:
        yield
    except ConfigError as error:
        raise ValueError(str(error)) from None


class RoleSettings(_Strict):
    """Which model plays one agent, and how it is asked."""

    backend: str
    temperature: float | None = Field(0.0, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int = Field(1024, ge=1)
    retry_attempts: int = Field(3, ge=1, le=10, description="Calls in all until a reply is valid")
    fallback_backend: str | None = None
    timeout_s: float = Field(120.0, gt=0, description="Limit for one model call")
    node_timeout_s: float = Field(600.0, gt=0, description="Limit for all calls of one agent in one pass")

    @field_validator("backend", "fallback_backend")
    @classmethod
    def _not_blank(cls, value: str | None) -> str | None:
        if value is not None and not value.strip():
            raise ValueError("must name a backend such as openai.gpt-4o")
        return value.strip() if value else value


class SummarizerSettings(RoleSettings):
    """One model that answers, or several that answer from the same evidence."""

    backends: tuple[str, ...] = Field((), description="Models that answer together; none named: `backend` alone")
    weights: dict[str, float] = Field(
        default_factory=dict, description="How much each counts in the joint answer; all alike where one has none"
    )

    @field_validator("backends", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return backend_names(value) if isinstance(value, (str, list, tuple)) else value or ()

    @field_validator("backends")
    @classmethod
    def _each_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [name for name in value if value.count(name) > 1]:
            raise ValueError(f"{twice[0]} is named twice: a model has one voice")
        return value

    @field_validator("weights")
    @classmethod
    def _some_weight(cls, value: dict[str, float]) -> dict[str, float]:
        if value and (not all(0 <= each < float("inf") for each in value.values()) or not any(value.values())):
            raise ValueError("must be numbers from 0 on, one of them above 0")
        return value

    @model_validator(mode="after")
    def _fallback_of_one(self) -> SummarizerSettings:
        if self.backends and self.fallback_backend:
            raise ValueError("fallback_backend would have no effect beside backends: the others answer then")
        return self

    def weight_of(self, answering: Collection[str]) -> dict[str, float]:
        """How much each of these counts, 1 in all: as it is set where that says something of each, else all alike.

        >>> SummarizerSettings(backend="a", weights={"a": 3, "b": 1}).weight_of(["a", "b"])
        {'a': 0.75, 'b': 0.25}
        """
        if not answering:
            return {}
        total = sum(self.weights.get(name, 0.0) for name in answering)
        if total and all(name in self.weights for name in answering):
            return {name: self.weights[name] / total for name in answering}
        return {name: 1 / len(answering) for name in answering}


def backend_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """The backends of a list, or of a text with commas between them."""
    names = given.split(",") if isinstance(given, str) else given
    return tuple(name.strip() for name in map(str, names) if name.strip())


PLACEHOLDER = re.compile(
    r"<.*>|\$\{.*\}|\$[A-Z_]+|(?:sk-)?(?:proj-|ant-)?(?:\.{3,}|x{3,}|\*{3,})"
    r"|change[-_ ]?me|placeholder|todo|(?:your|my|the|an?)?[-_ ]?api[-_ ]?key"
    r"|(?:sk-)?(?:your|insert|replace|paste|enter|put|(?:add|set|use)[-_ ]your)[-_ ].*",
    re.IGNORECASE,
)
"""What templates of settings hold where a key should be: "your-key-here", "<key>", "sk-..."."""


class ProviderSettings(_Strict):
    """How one provider is reached. Keys that a provider has no use for must stay unset."""

    api_key: SecretStr | None = None
    base_url: str | None = None
    model: str | None = Field(None, description="Model folder or id for local backends; default model otherwise")
    adapter: str | None = Field(None, description="Folder with a LoRA adapter for a local model")
    device: str = "auto"
    dtype: str = "auto"
    max_retries: int = Field(3, ge=0, le=10, description="Further tries after rate limits, 5xx and lost connections")
    max_image_side: int | None = Field(None, ge=16)
    max_image_bytes: int | None = Field(None, ge=1024)

    @field_validator("api_key", "base_url", "model", "adapter", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: Any) -> Any:
        return None if isinstance(value, str) and not value.strip() else value

    @field_validator("api_key", mode="before")
    @classmethod
    def _placeholder_is_unset(cls, value: Any) -> Any:
        return None if isinstance(value, str) and PLACEHOLDER.fullmatch(value.strip()) else value

    @property
    def key(self) -> str | None:
        return self.api_key.get_secret_value() if self.api_key else None


_LOCAL_ONLY = frozenset({"adapter", "device", "dtype"})
_WITHOUT_EFFECT: dict[str, frozenset[str]] = {
    **dict.fromkeys(("openai", "anthropic", "google", "compatible"), _LOCAL_ONLY),
    "qwen": frozenset({"api_key", "base_url", "max_retries"}),
}


class FusionSettings(_Strict):
    eta: float = Field(1.0, gt=0)
    class_confidence: float = Field(0.8, gt=0.2, lt=1)
    normalize: bool = True
    level_thresholds: tuple[float, float, float, float] = (1.5, 2.5, 3.5, 4.5)

    @field_validator("level_thresholds")
    @classmethod
    def _rising(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if list(value) != sorted(set(value)):
            raise ValueError("must rise, for example [1.5, 2.5, 3.5, 4.5]")
        return value


class ImageLimits(_Strict):
    """What is refused before a picture is decoded."""

    max_pixels: int = Field(200_000_000, ge=1)
    max_bytes: int = Field(512 * 1024 * 1024, ge=1)


class CacheSettings(_Strict):
    enabled: bool = True
    folder: Path | None = None
    size_limit_mb: int = Field(1024, ge=1)


class LoggingSettings(_Strict):
    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    file: Path | None = None


class RunsSettings(_Strict):
    enabled: bool = True
    database: Path | None = None


class PyiqaSettings(_Strict):
    """How the learned tools of pyiqa run."""

    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$", description="auto, cpu, cuda or cuda:N")
    weights_folder: Path | None = Field(None, description="Where weights are kept; null: torch's own folder")
    max_megapixels: float = Field(12.0, gt=0)


class ToolSettings(_Strict):
    timeout_s: float = Field(300.0, gt=0)
    max_workers: int = Field(4, ge=1, le=64)
    allow: tuple[str, ...] = Field((), description="The only tools that run; none named: all")
    deny: tuple[str, ...] = Field((), description="Tools that do not run")
    calibrations: Literal["printed"] | Path | None = Field(
        None, description="Curves that replace the shipped ones: those the paper prints, or a file's, tool by tool"
    )
    pyiqa: PyiqaSettings = PyiqaSettings()


class PipelineSettings(_Strict):
    profile: Literal["paper"] | None = Field(None, description="Settings that belong together, under one name")
    mode: RunMode = "agents"
    without: tuple[Part, ...] = Field((), description="Parts that are left out, for ablations")
    views: ViewsMode = Field("auto", description="Closer looks at pictures that a model sees reduced")
    max_replan_iterations: int = Field(2, ge=0)
    strict_mode_selection: bool = False
    replan_on_conflict: bool = Field(True, description="Contradicting tools and model are measured once more")
    prompts: Path | None = Field(None, description="Folder with the agents' prompts; null: the shipped ones")
    max_query_chars: int = Field(20_000, ge=1)
    allowed_roots: tuple[Path, ...] = ()
    memory: int | None = Field(
        None, description="Bytes, or text like 4G, that all runs of a process may take; null: a share of the machine's"
    )
    fusion: FusionSettings = FusionSettings()
    images: ImageLimits = ImageLimits()
    tools: ToolSettings = ToolSettings()
    cache: CacheSettings = CacheSettings()
    logging: LoggingSettings = LoggingSettings()
    runs: RunsSettings = RunsSettings()

    def check_query_length(self, query: str) -> None:
        if len(query) > self.max_query_chars:
            raise QueryError(
                f"The question has {len(query):,} characters, more than the limit of {self.max_query_chars:,}.",
                hint="Shorten it or raise max_query_chars in pipeline.yaml.",
                client_hint="Shorten it.",
            )

    @field_validator("without", mode="before")
    @classmethod
    def _known_parts(cls, value: Any) -> Any:
        with _as_validation_error():
            return tuple(known_parts(value or ()))

    @model_validator(mode="after")
    def _parts_to_leave_out(self) -> PipelineSettings:
        with _as_validation_error():
            check_mode(self.mode, self.without)
        return self

    @field_validator("memory", mode="before")
    @classmethod
    def _as_bytes(cls, value: Any) -> Any:
        with _as_validation_error():
            return None if value is None else parse_size(str(value))


class Settings(_Strict):
    """Everything that can be set for a run, after all layers are merged."""

    planner: RoleSettings
    executor: RoleSettings
    summarizer: SummarizerSettings
    keyless_backend: str | None = None
    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    pipeline: PipelineSettings = PipelineSettings()
    chosen_explicitly: frozenset[str] = Field(
        default=frozenset(), description="Roles whose backend came from the environment or the command line"
    )
    chosen: frozenset[str] = Field(frozenset(), description="Roles whose backend was set anywhere, files included")

    @model_validator(mode="after")
    def _refuse_keys_without_effect(self) -> Settings:
        for name, provider in self.providers.items():
            useless = provider.model_fields_set & _WITHOUT_EFFECT.get(name, frozenset())
            if useless:
                raise ValueError(f"providers.{name}: {', '.join(sorted(useless))} would have no effect")
        return self

    def role(self, role: str) -> RoleSettings:
        if self.summarizer.backends and role in (answering := self.answering):
            return self.summarizer.model_copy(update={"backend": answering[role]})
        settings: RoleSettings = getattr(self, role)
        return settings

    @property
    def answering(self) -> dict[str, str]:
        """The roles that answer, and their backends: the summarizer, and ``summarizer:NAME`` for each further one."""
        first, *others = self.summarizer.backends or (self.summarizer.backend,)
        return {SUMMARIZER: first, **{f"{SUMMARIZER}:{name}": name for name in others}}

    def provider(self, name: str) -> ProviderSettings:
        return self.providers.get(name, ProviderSettings())

    @property
    def roles(self) -> tuple[str, ...]:
        """All that have a backend: the three agents, and the further models that answer."""
        return tuple(dict.fromkeys([*ROLES, *self.answering]))

    @property
    def named_backends(self) -> dict[str, dict[str, Any]]:
        """Backends, fallbacks and those that answer together, as set for one run; not replaced by stored settings."""
        chosen = {role: self.role(role) for role in ROLES if role in self.chosen_explicitly}
        return {role: own.model_dump(include={*_OF_BACKEND, "backend"}) for role, own in chosen.items()}

    def with_backends(self, named: Mapping[str, Mapping[str, Any]]) -> Settings:
        """The same settings with some roles on backends that were named; one without a fallback has none."""
        roles = {}
        for role, backends in named.items():
            own = self.role(role)
            none = {name: none for name, none in _OF_BACKEND.items() if name in type(own).model_fields}
            roles[role] = type(own).model_validate({**own.model_dump(), **none, **backends})
        explicit, chosen = self.chosen_explicitly | set(named), self.chosen | set(named)
        return self.model_copy(update={**roles, "chosen_explicitly": explicit, "chosen": chosen})

    @property
    def secrets(self) -> list[str]:
        """Keys that must never be shown."""
        return [provider.key for provider in self.providers.values() if provider.key]

    @cached_property
    def home(self) -> Path:
        from agenticiqa.runtime.files import close_to_others

        return close_to_others(home_folder())

    @property
    def cache_folder(self) -> Path:
        return self.pipeline.cache.folder or self.home / "cache"

    @property
    def runs_database(self) -> Path:
        return self.pipeline.runs.database or self.home / "runs.sqlite"

    @property
    def log_file(self) -> Path:
        return self.pipeline.logging.file or self.home / "log.jsonl"


def home_folder() -> Path:
    """Where runs, logs and the cache live unless the configuration says otherwise."""
    named = os.environ.get(HOME_VARIABLE)
    if named:
        return Path(named)
    folder = _own_folder(platformdirs.user_data_dir)
    if folder is None:
        raise ConfigError("This user has no home folder.", hint=f"Set {HOME_VARIABLE} to a folder of its own.")
    return folder


def _own_folder(find: Callable[..., str]) -> Path | None:
    """The folder that a function of platformdirs finds for this package; None for a user without a home."""
    try:
        folder = Path(find("agenticiqa", appauthor=False))
    except RuntimeError:
        return None
    # Some versions of platformdirs answer "~/.config" for such a user, which is below the working folder and
    # therefore untrusted.
    return folder if folder.is_absolute() else None


# --- layers ----------------------------------------------------------------------------------------------


def load_settings(
    config_dir: str | Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Merge all layers and check the result.

    ``overrides`` are command-line values by key, dotted (``{"pipeline.max_replan_iterations": 0}``) or nested; the key
    ``backend`` sets all three roles, and ``backends`` those that answer together. None values are ignored.

    >>> load_settings(overrides={"backend": "compatible.llava"}, environment={}).planner.backend
    'compatible.llava'
    """
    environment = os.environ if environment is None else environment
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    return _checked(
        [
            *(parse_layer(_packaged(name).encode(), f"{_PACKAGED}{name}", name, environment) for name in FILES),
            *_file_layers(config_dir, environment),
            Layer("environment", nested(_environment_values(environment))),
            Layer("command line", nested(_with_backend_for_all(given))),
        ]
    )


def _checked(layers: list[Layer]) -> Settings:
    """The settings of all layers; the last two are those that name backends for one run."""
    profile = _merged(layers).get("pipeline", {}).get("profile")
    if profile in PROFILES:
        # A profile counts more than files, and less than what the user says for this one run.
        values = yaml.safe_load(_packaged(f"profile_{profile}.yaml"))
        layers = [*layers[:-2], Layer(f"profile {profile}", values), *layers[-2:]]
    _check_answering(layers)
    explicit = {role for role in ROLES for layer in layers[-2:] if layer.has(role, "backend")}
    user_layers = [layer for layer in layers if not layer.name.startswith(_PACKAGED)]
    chosen = {role for role in ROLES for layer in user_layers if layer.has(role, "backend")}
    try:
        return Settings.model_validate({**_merged(layers), "chosen_explicitly": explicit, "chosen": chosen})
    except ValidationError as error:
        raise ConfigError(
            f"The configuration is wrong. {explained(error, layers)}.",
            hint="`agenticiqa config show` prints every known key.",
        ) from None


def _check_answering(layers: list[Layer]) -> None:
    """Refuse a summarizer beside several models that answer without it, and weights of models that none of them is.

    Weights from below a place that names other models stay: they were set for another choice.
    """
    answering: tuple[str, ...] = ()
    for layer in layers:
        own = layer.values.get(SUMMARIZER)
        if not isinstance(own, dict):
            continue
        backend, several, weights = (own.get(name) for name in ("backend", "backends", "weights"))
        if backend or several:
            answering = backend_names(several) if isinstance(several, (str, list, tuple)) else ()
        if answering and isinstance(backend, str) and backend.strip() not in answering:
            raise ConfigError(
                f"{layer.where((SUMMARIZER, 'backend'))}: summarizer.backend {backend} would have no effect: "
                f"{', '.join(answering)} answer together.",
                hint="Name it among the backends that answer, or leave it out.",
            )
        where = layer.where((SUMMARIZER, "weights"))
        unknown = [name for name in weights if name not in answering] if isinstance(weights, dict) and answering else []
        if unknown:
            raise ConfigError(
                f"{where}: summarizer.weights names {unknown[0]}, which does not answer.",
                hint=f"These do: {', '.join(answering)}.",
            )


def changed_from_profile(settings: Settings) -> list[str]:
    """The profile's settings that a file, a variable or an option set otherwise, by dotted name.

    >>> changed_from_profile(load_settings(overrides={"pipeline.profile": "paper", "pipeline.fusion.eta": 2}))
    ['pipeline.fusion.eta']
    """
    if settings.pipeline.profile is None:
        return []

    def compare(wanted: Any, found: Any, name: str) -> Iterator[str]:
        if isinstance(wanted, dict):
            for key, value in wanted.items():
                yield from compare(value, found[key], f"{name}.{key}".removeprefix("."))
        elif wanted != found:
            yield name

    profile = yaml.safe_load(_packaged(f"profile_{settings.pipeline.profile}.yaml"))
    return list(compare(profile, settings.model_dump(mode="json"), ""))


def _merged(layers: list[Layer]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in layers:
        for role in ROLES:
            if layer.has(role, "backend") and isinstance(merged.get(role), dict):
                for name in _OF_BACKEND:
                    merged[role].pop(name, None)
        merge(merged, layer.values)
    return merged


def _packaged(name: str) -> str:
    return resources.files("agenticiqa.runtime.configs").joinpath(name).read_text(encoding="utf-8")


def _file_layers(config_dir: str | Path | None, environment: Mapping[str, str]) -> Iterator[Layer]:
    named = config_dir or environment.get(CONFIG_DIR_VARIABLE)
    if not named:
        yield from _layers_of(_own_folder(platformdirs.user_config_dir), environment)
        _warn_of_working_folder()
    elif Path(named).is_dir():
        yield from _layers_of(Path(named), environment)
    else:
        raise ConfigError(f"The configuration folder {str(named)!r} does not exist.", hint="Check --config.")


def _layers_of(folder: Path | None, environment: Mapping[str, str]) -> Iterator[Layer]:
    for file in _files_in(folder) if folder else ():
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"{file} cannot be read ({error}).") from None
        yield parse_layer(content, str(file), file.name, environment)


def _files_in(folder: Path) -> list[Path]:
    return [file for name in FILES if (file := folder / name).is_file()]


_warned_of: set[Path] = set()
"""Files that a warning of this process has spoken of already."""


def _warn_of_working_folder() -> None:
    """Warn of files in ./configs, which earlier versions read by default and which may be untrusted."""
    for file in _files_in(WORKING_FOLDER):
        try:
            content = file.read_bytes() if file.stat().st_size <= LONGEST_FILE else b""
        except OSError:
            continue
        # Many projects have a pipeline.yaml of another kind. Found without parsing: the file is untrusted.
        model = PipelineSettings if file.name == PIPELINE_FILE else Settings
        keys = re.findall(rb"^(\w+)\s*:", content, re.MULTILINE)
        is_ours = bool(keys) and all(key.decode() in model.model_fields for key in keys)
        if is_ours and content != _packaged(file.name).encode() and file.resolve() not in _warned_of:
            _warned_of.add(file.resolve())
            logger.warning("%s is not used: name its folder with --config %s.", file, WORKING_FOLDER)


def _environment_values(environment: Mapping[str, str]) -> dict[str, Any]:
    """AGENTICIQA_PLANNER__MAX_TOKENS=100 becomes {'planner.max_tokens': '100'}."""
    values: dict[str, Any] = {}
    named = {"backend": environment.get(BACKEND_VARIABLE), "backends": environment.get(BACKENDS_VARIABLE)}
    values.update(_with_backend_for_all({key: value for key, value in named.items() if value}))
    for name, value in environment.items():
        if name.startswith(ENVIRONMENT_PREFIX) and name not in _OTHER_VARIABLES:
            key = name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("__", ".")
            try:
                values[key] = yaml.safe_load(value) if value.startswith(("[", "{")) else value
            except yaml.YAMLError:
                raise ConfigError(f"The environment variable {name} is not valid YAML.") from None
    return values


def roles_named(backend: str | None, backends: str | Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """Settings by role for one backend in all of them, or for several that answer together.

    Of several the first collects the evidence, or the second where that fails; ``backend`` beside them does it instead.

    >>> roles_named(None, "openai.gpt-4o, embedded")["planner"]
    {'backend': 'openai.gpt-4o', 'fallback_backend': 'embedded'}
    """
    names = backend_names(backends or ())
    if backends and not names:
        raise ConfigError(f"backends={backends!r} names no model.", hint="Write for example openai.gpt-4o,embedded.")
    if backend is not None:
        roles: dict[str, dict[str, Any]] = {role: {"backend": backend} for role in ROLES}
    else:
        first = {"backend": names[0]} if names else {}
        roles = {role: {**first, **({"fallback_backend": names[1]} if len(names) > 1 else {})} for role in ROLES}
    if names:
        roles[SUMMARIZER] = {"backend": names[0], "backends": names}
    return {role: named for role, named in roles.items() if named}


def _with_backend_for_all(values: dict[str, Any]) -> dict[str, Any]:
    """``backend`` alone means all three roles, and ``backends`` who answers; a role's own key still wins."""
    named = roles_named(values.pop("backend", None), values.pop("backends", None))
    return {**{f"{role}.{key}": value for role, keys in named.items() for key, value in keys.items()}, **values}


def explained(error: ValidationError, layers: list[Layer]) -> str:
    """What pydantic did not accept: file and line, key, and what is wrong with it."""
    problems = []
    for item in error.errors(include_url=False, include_context=False):
        path = tuple(str(part) for part in item["loc"] if not isinstance(part, int))
        source = next((f"{layer.where(path)}: " for layer in reversed(layers) if layer.has(*path)), "")
        name = ".".join(path)
        what = (
            f"unknown key {name!r}"
            if item["type"] == "extra_forbidden"
            else f"{name}: {item['msg'].removeprefix('Value error, ')}"
        )
        problems.append(f"{source}{what}")
    return "; ".join(problems)


def effective_settings(settings: Settings) -> dict[str, Any]:
    """The merged settings as plain data, keys masked, for showing to a person."""
    shown = settings.model_dump(mode="json", exclude={"chosen_explicitly", "chosen"})
    for provider in shown["providers"].values():
        provider["base_url"] = without_credentials(provider["base_url"]) if provider.get("base_url") else None
    return shown
