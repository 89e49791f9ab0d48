"""From what a user asked for to a job, an engine for it, and an estimate of what it will take."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from agenticiqa.batch.engines.base import Engine, ThreadEngine
from agenticiqa.batch.engines.processes import ProcessEngine, usable_cores
from agenticiqa.batch.rate_limits import RateLimits
from agenticiqa.batch.work import BatchJob, backends_of
from agenticiqa.errors import ConfigError, ToolUnavailableError
from agenticiqa.models.backends import BackendChoice, BackendName, find_provider, provider_names
from agenticiqa.models.known_models import estimate_cost
from agenticiqa.nodes.ablation import calls_per_pass, may_replan
from agenticiqa.nodes.prompts import SHIPPED, read_prompts
from agenticiqa.nodes.run_context import EMBEDDED
from agenticiqa.pictures.inputs import Align
from agenticiqa.runtime.config import ROLES, PipelineSettings, Settings, load_settings
from agenticiqa.state import ASKED_VIEWS, MOST_VIEWS, VIEW_CALLS, RunMode, ViewsMode
from agenticiqa.tools.registry import default_registry
from agenticiqa.vlm_client import TokenUsage
from agenticiqa.vocabulary import DEFAULT_QUERY

REMOTE_WORKERS = 8
# A call of the agents with one picture, about: see docs/many-pictures/batch.md.
TYPICAL_CALL = TokenUsage(prompt=2000, completion=250)
# One more picture of 768 pixels a side in a call, about.
VIEW = TokenUsage(prompt=800, completion=0)
FETCH_HINT = "`agenticiqa tools fetch --profile paper` gets what can be had."
# Waiting for a provider's limits must not use up an agent's time.
NO_NODE_LIMIT_S = 7 * 24 * 3600.0


@dataclass(frozen=True)
class BatchRequest:
    """What the user said, before it is checked."""

    backend: str | None = None
    backends: str | Sequence[str] | None = None
    """Models that answer together."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Backends of single agents, where not all run on the same one."""
    config: Path | None = None
    query: str | None = None
    max_replan: int | None = None
    mode: RunMode | None = None
    without: tuple[str, ...] | None = None
    """Mode, and the parts to leave out; None: as configured."""
    views: ViewsMode | None = None
    profile: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Settings by dotted name, beside those above."""
    tools: tuple[str, ...] = ()
    align: Align = "none"
    timeout_s: float = 600.0
    limits: RateLimits = field(default_factory=RateLimits)
    memory: str | None = None
    use_cache: bool | None = None
    """None: replies of models that cost something are kept, everything else is computed afresh."""


def prepare_job(request: BatchRequest) -> BatchJob:
    """A job that can run here; raises when a backend or tool cannot be used, before any sample is touched."""
    overrides: dict[str, Any] = {
        "backend": request.backend,
        "backends": request.backends or None,
        **{f"{role}.backend": backend for role, backend in request.roles.items()},
        "pipeline.max_replan_iterations": request.max_replan,
        "pipeline.mode": request.mode,
        "pipeline.without": request.without,
        "pipeline.views": request.views,
        "pipeline.profile": request.profile,
        "pipeline.memory": request.memory,
        # A batch has its results file: a record and checkpoints of every sample would be a second one.
        "pipeline.runs.enabled": False,
        **request.overrides,
    }
    settings = load_settings(request.config, overrides)
    if request.tools:
        registry = default_registry(settings.pipeline.tools)
        tools = tuple(dict.fromkeys(registry.find(name).name for name in request.tools))
        choices: Mapping[str, BackendChoice] = {}
    else:
        tools, choices = (), backends_of(settings)
    remote = uses_remote_backend({role: choice.backend for role, choice in choices.items()})
    # A limit that limits nothing would be noticed only on the bill.
    unknown = sorted({*request.limits.requests, *request.limits.tokens} - {"*", *provider_names()})
    if unknown:
        raise ConfigError(
            f"There is no provider {unknown[0]!r} to limit.", hint=f"Known: {', '.join(provider_names())}."
        )
    if (request.limits.requests or request.limits.tokens) and not remote:
        raise ConfigError("Nothing here asks a remote model: --rpm and --tpm would have no effect.")
    use_cache = remote if request.use_cache is None else request.use_cache
    return BatchJob(
        settings=_for_many(settings, request, use_cache=use_cache, remote=remote),
        choices=choices,
        tools=tools,
        align=request.align,
        query=request.query or DEFAULT_QUERY,
        timeout_s=request.timeout_s,
        limits=request.limits,
        conditions=(*_conditions(settings.pipeline, measures_only=bool(tools)), *_weights(settings)),
    )


def _conditions(pipeline: PipelineSettings, *, measures_only: bool) -> tuple[str, ...]:
    """What is not as shipped and changes results. Prompts are read here: one that cannot be used costs no sample."""
    found: list[str] = []
    if not measures_only:
        found += [f"mode {pipeline.mode}"] if pipeline.mode != "agents" else []
        found += [f"without {part}" for part in pipeline.without]
        found += [f"views {pipeline.views}"] if pipeline.views != "auto" else []
        found += [f"prompts {read_prompts(pipeline.prompts, SHIPPED).sha256}"] if pipeline.prompts else []
        found += ["strict mode selection"] if pipeline.strict_mode_selection else []
        found += ["no replan on conflict"] if not pipeline.replan_on_conflict else []
        found += [f"allow {name}" for name in sorted(pipeline.tools.allow)]
        found += [f"deny {name}" for name in sorted(pipeline.tools.deny)]
    curves = pipeline.tools.calibrations
    if curves:
        try:
            which = hashlib.sha256(curves.read_bytes()).hexdigest() if isinstance(curves, Path) else curves
        except OSError as error:
            raise ConfigError(f"The calibration file {str(curves)!r} cannot be read ({error}).") from None
        found.append(f"calibrations {which}")
    return tuple(found)


def _weights(settings: Settings) -> list[str]:
    """How much each of several models counts, where not all count alike."""
    names = settings.summarizer.backends
    weights = settings.summarizer.weight_of(names)
    return [f"weight {name} {weight:.6f}" for name, weight in weights.items()] if len(set(weights.values())) > 1 else []


def replaced_backends(job: BatchJob) -> list[str]:
    """What a user should know before a long run: roles that do not run on the backend that is configured."""
    reasons: dict[str, list[str]] = {}
    for role, choice in job.choices.items():
        if choice.reason and not choice.is_default:
            reasons.setdefault(f"on the {choice.backend} backend: {choice.reason}", []).append(role)
    return [f"{', '.join(roles).capitalize()} {reason}" for reason, roles in reasons.items()]


def missing_tools(job: BatchJob, *, strict: bool = False) -> list[str]:
    """Tools of the chosen pool that do not run here, and why; with ``strict`` that is a ToolUnavailableError."""
    settings = job.settings.pipeline.tools
    registry = default_registry(settings)
    missing = [] if job.tools or job.settings.pipeline.mode == "direct" else registry.missing(settings)
    if not missing:
        return []
    count = f"{len(missing)} of the {len(settings.allow)} tools that are asked for do not run here"
    if strict:
        raise ToolUnavailableError(f"{count}: {', '.join(missing)}.", hint=FETCH_HINT)
    by_reason: dict[str, list[str]] = {}
    for name in missing:
        reason = registry.unavailable.get(name, "unknown").replace(f"fetch {name}`", "fetch NAME`")
        by_reason.setdefault(reason, []).append(name)
    return [f"{count}. {FETCH_HINT}", *(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())]


def _for_many(settings: Settings, request: BatchRequest, *, use_cache: bool, remote: bool) -> Settings:
    """The same settings, fit for thousands of samples: short logs, a limit for each sample instead of each agent."""
    pipeline = settings.pipeline
    level = "WARNING" if pipeline.logging.level == "INFO" else pipeline.logging.level
    changes: dict[str, dict[str, Any]] = {
        "pipeline": {
            "cache": {"enabled": use_cache and pipeline.cache.enabled},
            "logging": {"level": level},
            "tools": {"timeout_s": min(pipeline.tools.timeout_s, request.timeout_s)},
        }
    }
    for role in ROLES if remote else ():
        limit = min(settings.role(role).timeout_s, request.timeout_s)
        changes[role] = {"timeout_s": limit, "node_timeout_s": NO_NODE_LIMIT_S}
    return settings.changed(**changes)


def uses_remote_backend(backends: Mapping[str, str]) -> bool:
    """Whether some role's model answers from elsewhere, where it costs money and has limits."""
    return any(not find_provider(BackendName.parse(backend).provider).local for backend in backends.values())


def default_workers(job: BatchJob) -> int:
    """One for each core; more where workers mostly wait; one where each would fill a GPU."""
    if uses_remote_backend(job.backends):
        return REMOTE_WORKERS
    if any(BackendName.parse(backend).provider == "qwen" for backend in job.backends.values()):
        return 1
    return usable_cores()


def engine_factory(job: BatchJob, workers: int | None = None) -> Callable[[], Engine]:
    """Makes the engine once it is known that there is work."""
    engine = ThreadEngine if uses_remote_backend(job.backends) else ProcessEngine
    return partial(engine, job, workers or default_workers(job))


@dataclass(frozen=True)
class CostEstimate:
    """Calls and cost of a number of samples: without any replan and view, and with all that are allowed."""

    calls: tuple[int, int]
    cost_usd: tuple[float, float] | None
    """None where a price is not known."""


def views_of(job: BatchJob) -> ViewsMode:
    """Whether a job's pictures may be looked at closer; such looks cost nothing where no model is paid for them."""
    pipeline = job.settings.pipeline
    looks = pipeline.mode == "agents" and "executor" in job.backends and "views" not in pipeline.without
    return pipeline.views if looks else "off"


def estimate(job: BatchJob, samples: int) -> CostEstimate:
    pipeline, views = job.settings.pipeline, views_of(job)
    again = pipeline.mode == "agents" and may_replan(pipeline.without)
    passes = max(1, pipeline.max_replan_iterations) if again else 1
    per_pass = calls_per_pass(pipeline.mode, pipeline.without, job.settings.answering)
    calls = sum(per_pass[role] for role in job.backends)
    asked = VIEW_CALLS if views == "ask" and job.backends["executor"] != EMBEDDED else 0
    both_calls = calls * samples, (calls * passes + asked) * samples
    costs = {role: estimate_cost(backend, TYPICAL_CALL) for role, backend in job.backends.items()}
    more = {role: estimate_cost(backend, VIEW) for role, backend in job.backends.items() if role != "planner"}
    if None in (*costs.values(), *more.values()):
        return CostEstimate(both_calls, None)
    one_pass = sum((costs[role] or 0.0) * per_pass[role] for role in job.backends)
    # Tools are chosen without views.
    with_views = {**per_pass, "executor": per_pass.get("executor", 0) - ("tools" not in pipeline.without)}
    most_views = 0 if views == "off" else MOST_VIEWS + (ASKED_VIEWS if asked else 0)
    shown = sum((more[role] or 0.0) * with_views[role] * most_views for role in more)
    one_ask = sum(of.get("executor") or 0.0 for of in (costs, *[more] * MOST_VIEWS))
    most = (one_pass + shown) * passes + asked * one_ask
    return CostEstimate(both_calls, (round(one_pass * samples, 4), round(most * samples, 4)))


def expected_cost(job: BatchJob) -> float:
    """What one sample probably costs. A budget needs prices: without them this raises."""
    found = estimate(job, 1).cost_usd
    if found is None:
        names = ", ".join(sorted(set(job.backends.values())))
        raise ConfigError(
            f"A budget cannot be kept: the price of {names} is not known.", hint="Leave --budget-usd away."
        )
    return found[0]
