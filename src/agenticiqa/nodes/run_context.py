"""What a run needs: the state it starts with, its context (settings, clients, tools, cache, accounts), its events."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from pydantic import BaseModel, TypeAdapter, ValidationError

from agenticiqa import vlm_client
from agenticiqa.answers import lettered, split_question
from agenticiqa.errors import AgenticIQAError, BackendUnavailableError, ConfigError, QueryError
from agenticiqa.models.backends import BackendChoice, choose_backends, create_vlm_client, usable
from agenticiqa.nodes.model_calls import CallLog, ModelCaller
from agenticiqa.nodes.prompts import SHIPPED, PromptBook, PromptTemplate, earlier_turns, read_prompts
from agenticiqa.pictures.images import LoadedImage, load_image
from agenticiqa.pictures.inputs import Align, GivenPicture, aligned, given_picture
from agenticiqa.runtime.cache import DiskCache, open_cache
from agenticiqa.runtime.config import Settings, load_settings
from agenticiqa.runtime.logs import configure_logging
from agenticiqa.state import (
    DEFAULT_MAX_REPLAN_ITERATIONS,
    MAX_TURNS,
    AgenticIQAState,
    RunMode,
    Turn,
    View,
    ViewsMode,
    check_mode,
    known_parts,
)
from agenticiqa.tools.measuring import ToolJob
from agenticiqa.tools.registry import ToolRegistry, default_registry

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PipelineEvent:
    """Something that happened in a run: a step inside an agent, an agent that ended, or the state after it."""

    kind: Literal["step", "node", "state"]
    name: str
    details: Mapping[str, Any]


def initial_state(  # noqa: PLR0913 - a question may bring all of these
    query: str,
    image_path: str,
    reference_path: str | None = None,
    max_replan_iterations: int | None = None,
    *,
    options: Sequence[str] | None = None,
    regions: Mapping[str, Sequence[int]] | None = None,
    align: Align = "none",
    mode: RunMode = "agents",
    without: Collection[str] | str = (),
    views: ViewsMode | None = None,
    earlier: Sequence[Turn] | None = None,
) -> AgenticIQAState:
    limit = DEFAULT_MAX_REPLAN_ITERATIONS if max_replan_iterations is None else max_replan_iterations
    if limit < 0:
        raise ConfigError(f"max_replan_iterations is {limit}.", hint="It counts replans: 0 or more.")
    try:
        turns = TypeAdapter(list[Turn]).validate_python(list(earlier or ()))[-MAX_TURNS:]
    except ValidationError as error:
        raise TypeError(f"earlier is a list of turns, each with query and answer: {error}") from None
    said = [text for turn in turns for text in (turn["query"], turn["answer"], *turn.get("options", ()))]
    for text in (query, str(image_path), str(reference_path), *(options or ()), *(regions or ()), *said):
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise QueryError(f"{text!r} holds characters that are not valid Unicode.", hint="Rename or retype it.")
    state: AgenticIQAState = {
        "query": query,
        "image_path": str(image_path),
        "reference_path": str(reference_path) if reference_path else None,
        "iteration_count": 0,
        "max_replan_iterations": limit,
        "replan_history": [],
    }
    if align not in get_args(Align):
        raise ConfigError(f"align is {align!r}.", hint="It is 'none' or 'resize'.")
    parts = known_parts(without)
    check_mode(mode, parts)
    if options:
        state["options"] = list(options)
    if regions:
        state["regions"] = {name: list(box) for name, box in regions.items()}
    if align != "none":
        state["align"] = align
    if mode != "agents":
        state["mode"] = mode
    if parts:
        state["without"] = parts
    if views is not None:
        state["views"] = known_views_mode(views)
    if turns:
        state["earlier"] = turns
    return state


def known_views_mode(views: str) -> ViewsMode:
    if views not in get_args(ViewsMode):
        raise ConfigError(f"views is {views!r}.", hint="It is 'off', 'auto' or 'ask'.")
    return cast("ViewsMode", views)


# LangGraph keeps keys with this prefix out of what it stores.
CONTEXT_KEY = "__agenticiqa_context"
EMBEDDED = "embedded"


@dataclass
class RunContext:
    """Everything that serves one run and is not part of its result."""

    settings: Settings = field(default_factory=load_settings)
    clients: Mapping[str, vlm_client.VLMClient] = field(default_factory=dict)
    """Ready-made clients by role, for callers that bring their own."""
    tools: ToolRegistry = field(default_factory=default_registry)
    cache: DiskCache | None = None
    prompts: PromptBook = field(default_factory=lambda: PromptBook({}, SHIPPED))
    calls: CallLog = field(default_factory=CallLog)
    timings: dict[str, float] = field(default_factory=dict)
    run_id: str = ""
    pictures: Mapping[str, GivenPicture] = field(default_factory=dict)
    """Pictures that are no files, by the names that stand for them in the state."""
    memory: int | None = None
    """Bytes that the run's pictures and tools may take together; None: whatever it takes."""
    scaled_to: Mapping[str, str] = field(default_factory=dict)
    """Pictures that are scaled to another's size when they are opened, and that other."""
    permanent_failures: dict[ToolJob, str] = field(default_factory=dict)
    """What tools could not measure for a reason that stays: they are not tried again when the planner plans again."""
    error_kind: str = "no_answer"
    """The machine-readable name of the last failure, for a run that has no answer."""
    _made: dict[str, vlm_client.VLMClient] = field(default_factory=dict, repr=False)
    _making: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while a client is made; shared by the runs that share clients."""
    _choices: dict[str, BackendChoice | BackendUnavailableError] = field(default_factory=dict, repr=False)
    """By role; shared by the runs of one assessor, whose settings do not change."""
    _images: dict[str, LoadedImage] = field(default_factory=dict, repr=False)
    _asked: vlm_client.Question | None = field(default=None, repr=False)
    _views: tuple[View, ...] | None = field(default=None, repr=False)
    _typed_backends: dict[int, vlm_client.TypedBackend | None] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def image(self, path: str) -> LoadedImage:
        """The picture, decoded once per run."""
        with self._lock:
            if path not in self._images:
                limits = self.settings.pipeline.images
                given = self.pictures.get(path)
                opened = given.open(limits) if given else load_image(path, limits)
                other = self.scaled_to.get(path)
                self._images[path] = aligned(opened, self.image(other)) if other not in (None, path) else opened
            return self._images[path]

    def picture_size(self, path: str) -> tuple[int, int]:
        """(width, height), from the header where that is possible: known before memory is taken for the pixels."""
        given = self.pictures.get(path) or given_picture(path)
        return given.peek(self.settings.pipeline.images) if given.peek else self.image(path).size

    def labelled_pictures(self, state: AgenticIQAState) -> tuple[vlm_client.LabelledImage, ...]:
        """For a model: the test picture and, where there is one, the reference."""
        paths = {
            vlm_client.TEST_IMAGE_LABEL: state["image_path"],
            vlm_client.REFERENCE_IMAGE_LABEL: state.get("reference_path"),
        }
        return tuple(vlm_client.LabelledImage(label, self.image(path)) for label, path in paths.items() if path)

    def loaded_image(self, path: str) -> LoadedImage | None:
        """The picture if it could be loaded during the run."""
        return self._images.get(path)

    def forget_pictures(self) -> None:
        """Free the pixels when the run ends: LangGraph's circles would keep them until a full garbage collection."""
        with self._lock:
            self._images.clear()
            self._typed_backends.clear()
            self._asked = self._views = None

    def backend_choice(self, role: str) -> BackendChoice:
        """Which backend plays a role; all roles are decided together and once."""
        if role in self.clients:
            return BackendChoice(self.clients[role].identity)
        with self._lock:
            if role not in self._choices:
                self._choices.update(choose_backends(self.settings))
            return usable(self._choices[role])

    def asked(self, state: AgenticIQAState) -> vlm_client.Question:
        """The run's question, read once; a question that cannot be asked is refused here."""
        with self._lock:
            if self._asked is None:
                query, given = state["query"], state.get("options")
                if not query.strip():
                    raise QueryError("The question is empty.", hint='Ask something, for example "Rate the quality".')
                self.settings.pipeline.check_query_length(query)
                question, listed = split_question(query)
                image, reference = state["image_path"], state.get("reference_path")
                self._asked = vlm_client.Question(
                    query,
                    question,
                    lettered(given) if given else listed,
                    open_image=lambda: self.image(image),
                    open_reference=(lambda: self.image(reference)) if reference else None,
                    regions=state.get("regions") or {},
                    earlier=state.get("earlier") or (),
                )
            return self._asked

    def views_mode(self, state: AgenticIQAState) -> ViewsMode:
        """Whether this run looks closer; without agents, or where views are left out, it does not."""
        if state.get("mode") == "direct" or "views" in state.get("without", []):
            return "off"
        return state.get("views") or self.settings.pipeline.views

    @property
    def sees_side(self) -> int:
        """Up to which longer side every model that is shown views sees a picture as it is; no view is larger."""
        sides = [self._clients_of("executor")[0].sees_side]
        for role in self.settings.answering:
            # One that cannot be reached says so when it is asked.
            with suppress(AgenticIQAError):
                sides.append(self._clients_of(role)[0].sees_side)
        return min(sides)

    def planned_views(self, state: AgenticIQAState) -> tuple[View, ...]:
        """The closer looks by rule, chosen once per run: none of a picture that all models see whole."""
        with self._lock:
            if self._views is None:
                self._views = self._plan_views(state)
            return self._views

    def _plan_views(self, state: AgenticIQAState) -> tuple[View, ...]:
        sees = self.sees_side
        if self.views_mode(state) == "off" or max(self.picture_size(state["image_path"])) <= sees:
            return ()
        # Imported here: a picture that is seen whole needs nothing of it.
        from agenticiqa.vision.closer_look import plan_views

        image, *others = (picture.image for picture in self.labelled_pictures(state))
        with self.timed("views"):
            return plan_views(image, regions=state.get("regions"), reference=next(iter(others), None), side=sees)

    def view_pictures(self, state: AgenticIQAState, views: Sequence[View]) -> tuple[vlm_client.LabelledImage, ...]:
        """Views as pictures for a model, each with words that say which part it is."""
        if not views:
            return ()
        from agenticiqa.vision.views import render, view_label

        image, *others = (picture.image for picture in self.labelled_pictures(state))
        return tuple(
            vlm_client.LabelledImage(
                view_label(number, view, image.size), render(view, image, next(iter(others), None))
            )
            for number, view in enumerate(views, 1)
        )

    def request(
        self,
        role: str,
        state: AgenticIQAState,
        template: PromptTemplate,
        fields: Mapping[str, str],
        schema: type[BaseModel],
        answer_letters: Sequence[str] = (),
        views: Sequence[View] = (),
    ) -> vlm_client.ModelRequest:
        """A step's prompt with the question, the pictures and views, and the parameters that are set for the role."""
        known = {"query": state["query"].strip(), "earlier": earlier_turns(state.get("earlier") or ())}
        system, user = self.prompts.fill(template, {**known, **fields})
        return vlm_client.ModelRequest(
            system=system,
            user=user,
            images=(*self.labelled_pictures(state), *self.view_pictures(state, views)),
            schema=schema,
            answer_letters=tuple(answer_letters),
            **self.settings.role(role).model_dump(include={"temperature", "top_p", "max_tokens", "timeout_s"}),
        )

    def model_caller(self, role: str, asked: vlm_client.Question, *, deadline: float | None = None) -> ModelCaller:
        """What an agent asks its model through, with its retries, time limit and fallback."""
        role_settings = self.settings.role(role)
        return ModelCaller(
            role=role,
            clients=self._clients_of(role),
            typed_backend_of=lambda client: self._typed_backend(client, asked),
            calls=self.calls,
            cache=self.cache,
            attempts=role_settings.retry_attempts,
            deadline=deadline or time.monotonic() + role_settings.node_timeout_s,
            secrets=self.settings.secrets,
        )

    def _typed_backend(
        self, client: vlm_client.VLMClient, asked: vlm_client.Question
    ) -> vlm_client.TypedBackend | None:
        with self._lock:
            if id(client) not in self._typed_backends:
                self._typed_backends[id(client)] = client.typed_backend_for(asked)
            return self._typed_backends[id(client)]

    def is_typed(self, role: str, asked: vlm_client.Question) -> bool:
        """Whether a role's backend is no language model."""
        return self._typed_backend(self._clients_of(role)[0], asked) is not None

    def prefetch(self, state: AgenticIQAState, role: str) -> None:
        """Let a role's typed backend begin to look in another thread; what goes wrong is told when the agent asks."""
        if role in self.clients or self.backend_choice(role).backend != EMBEDDED:
            return

        def look() -> None:
            try:
                if backend := self._typed_backend(self._client(EMBEDDED), self.asked(state)):
                    backend.prefetch()
            except AgenticIQAError as error:
                logger.debug("Looking ahead failed: %s", error)

        threading.Thread(target=look, name="look ahead", daemon=True).start()

    def _clients_of(self, role: str) -> list[vlm_client.VLMClient]:
        if role in self.clients:
            return [self.clients[name] for name in (role, f"{role}.fallback") if name in self.clients]
        fallback = self.settings.role(role).fallback_backend
        clients = [self._client(self.backend_choice(role).backend)]
        if fallback and fallback != clients[0].backend:
            try:
                clients.append(self._client(fallback))
            except BackendUnavailableError as error:
                logger.debug("The %s has no fallback: %s", role, error)
        return clients

    def _client(self, backend: str) -> vlm_client.VLMClient:
        with self._making:
            if backend not in self._made:
                self._made[backend] = create_vlm_client(backend, self.settings)
            return self._made[backend]

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the run's timings."""
        started = time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self.timings[name] = self.timings.get(name, 0.0) + time.perf_counter() - started

    def close(self) -> None:
        for client in self._made.values():
            client.close()
        self._made.clear()
        if self.cache:
            self.cache.close()


def configured_context() -> RunContext:
    """A context as the configuration wants it, with its cache and its log file."""
    settings = load_settings()
    pipeline = settings.pipeline
    configure_logging(settings.log_file, pipeline.logging.level, settings.secrets)
    cache = open_cache(settings.cache_folder, pipeline.cache.size_limit_mb) if pipeline.cache.enabled else None
    tools, prompts = default_registry(pipeline.tools), read_prompts(pipeline.prompts, SHIPPED)
    return RunContext(settings=settings, tools=tools, cache=cache, prompts=prompts)


def context_of(config: RunnableConfig | None) -> RunContext:
    """The run's context, or a fresh one with default settings when a node is called by itself."""
    configurable: Mapping[str, Any] = (config or {}).get("configurable") or {}
    context = configurable.get(CONTEXT_KEY)
    return context if isinstance(context, RunContext) else RunContext()


StepReporter = Callable[[str, dict[str, Any]], None]


def step_reporter() -> StepReporter:
    """A function that streams what an agent has just done, in this context and copies of it; silent outside a graph."""
    # Imported here: a context is made before there is a graph, and LangGraph takes most of a second to import.
    from langgraph.config import get_stream_writer

    try:
        write = get_stream_writer()
    except RuntimeError:
        return lambda step, details: logger.debug("%s: %s", step, details)
    return lambda step, details: write({"step": step, **details})
