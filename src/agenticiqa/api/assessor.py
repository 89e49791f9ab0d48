"""``AgenticIQA``: asks about pictures with one configuration, and keeps what can be kept between questions."""

from __future__ import annotations

import hashlib
import logging
import sys
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack

from agenticiqa import errors
from agenticiqa.api.arguments import AssessOptions, in_thread, spelled_out
from agenticiqa.api.interrupts import set_on_interrupt
from agenticiqa.api.run_result import Recorder, assessment_from
from agenticiqa.models.backends import BackendChoice
from agenticiqa.nodes.ablation import calls_per_pass
from agenticiqa.nodes.model_calls import CallLog, CallRecord
from agenticiqa.nodes.prompts import SHIPPED, read_prompts
from agenticiqa.nodes.results import Assessment, Comparison, Result
from agenticiqa.nodes.run_context import PipelineEvent, RunContext, initial_state
from agenticiqa.pictures.images import LoadedImage, check_allowed
from agenticiqa.pictures.inputs import GivenPicture, PictureInput, Size, given_picture, refuse_other_size
from agenticiqa.pictures.regions import check_regions
from agenticiqa.runtime.cache import DiskCache, open_cache
from agenticiqa.runtime.config import ImageLimits, Settings, load_settings, roles_named
from agenticiqa.runtime.logs import configure_logging, run_id_for_logs
from agenticiqa.runtime.memory import MemoryBudget, process_budget
from agenticiqa.runtime.runs import INTERRUPTED, RunRecord, RunStore, new_run_id
from agenticiqa.runtime.stopping import Cancelled, stoppable
from agenticiqa.state import AgenticIQAState, RunMode
from agenticiqa.tools.needs import assessing_need
from agenticiqa.tools.registry import ToolRegistry, default_registry
from agenticiqa.vlm_client import VLMClient
from agenticiqa.vocabulary import DEFAULT_QUERY

if TYPE_CHECKING:
    from agenticiqa.api.comparison import SideListener
    from agenticiqa.graph import Graph

logger = logging.getLogger(__name__)

EventListener = Callable[[PipelineEvent], None]
NAMED_BACKENDS = "named_backends"
"""Where the record of a run keeps the backends that its user named."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run, which can be resumed by its id; ``calls`` is how many there were until then."""

    def __init__(self, run_id: str, calls: int) -> None:
        super().__init__("interrupted")
        self.run_id, self.calls = run_id, calls


class AgenticIQA:
    """Assesses pictures with one configuration; keeps clients, cache and run records open between questions.

    Args:
        backend: The model for all roles; by default the configured one, or the embedded model.
        backends: Several models that answer together from the same evidence; the first, or ``backend``, collects it.
        profile: ``"paper"`` takes the conditions of the AgenticIQA paper: its tools, calibrations and thresholds.
        settings: Ready settings, instead of ``config_dir``, ``overrides`` and ``profile``.
        config_dir: A folder with configuration files (docs/running/configuration.md).
        overrides: Settings by dotted name, such as ``{"pipeline.tools.max_workers": 2}``.
        clients: Ready clients by role (``planner``, ``executor``, ``summarizer``).
        tools: The tools to measure with, instead of all that run here.
        only_allowed_roots: Refuse pictures outside ``allowed_roots``, for programs that take paths from users.
        record: Keep run records, cache and log in the home folder; False writes nothing to disk.
    Raises:
        ConfigError: The configuration cannot be used, or the arguments contradict each other.

    >>> from PIL import Image
    >>> with AgenticIQA("embedded", record=False) as assessor:
    ...     assessor.assess(Image.new("RGB", (96, 96), "grey")).status
    'ok'
    """

    def __init__(
        self,
        backend: str | None = None,
        *,
        backends: Sequence[str] | None = None,
        profile: str | None = None,
        settings: Settings | None = None,
        config_dir: str | PathLike[str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        clients: Mapping[str, VLMClient] | None = None,
        tools: ToolRegistry | None = None,
        only_allowed_roots: bool = False,
        record: bool = True,
    ) -> None:
        if settings is None:
            folder = fspath(config_dir) if config_dir else None
            named = {"backend": backend, "backends": backends or None}
            settings = load_settings(folder, {**named, "pipeline.profile": profile, **(overrides or {})})
        elif config_dir or overrides or profile:
            raise errors.ConfigError(
                "Give either settings, or config_dir, overrides and profile: they would contradict it."
            )
        elif backend or backends:
            settings = settings.with_backends(roles_named(backend, backends))
        self.settings = settings
        pipeline = self.settings.pipeline
        if record:
            configure_logging(self.settings.log_file, pipeline.logging.level, self.settings.secrets)
        self._prompts = read_prompts(pipeline.prompts, SHIPPED)
        self.cache: DiskCache | None = None
        """Where replies and scores are kept; None when caching is off."""
        if pipeline.cache.enabled and record:
            self.cache = open_cache(self.settings.cache_folder, pipeline.cache.size_limit_mb)
        self._record = Recorder(self.settings.runs_database if pipeline.runs.enabled and record else None)
        self.tools = tools or default_registry(pipeline.tools)
        """The measuring tools that this assessor can run."""
        self._clients = dict(clients or {})
        self._allowed_roots = pipeline.allowed_roots if only_allowed_roots else None
        # Clients made for one run serve the next as well, and so does the choice of backends.
        self._made: dict[str, VLMClient] = {}
        self._choices: dict[str, BackendChoice | errors.BackendUnavailableError] = {}
        self._making = threading.RLock()
        self._graphs: dict[RunMode, Graph] = {}

    def keep_backend_choices(self, choices: Mapping[str, BackendChoice]) -> None:
        """Take over backends by role that were chosen under the same settings."""
        self._choices.update(choices)

    @property
    def runs(self) -> RunStore:
        """The run records. Raises RunNotFoundError where recording is off."""
        return self._record.store

    @property
    def home_full(self) -> errors.HomeFullError | None:
        """The error of a run that could not be recorded because the disk is full; None otherwise."""
        return self._record.full

    @property
    def memory(self) -> MemoryBudget:
        """The memory budget that all runs of this process share."""
        return process_budget(self.settings.pipeline.memory)

    @property
    def limits(self) -> ImageLimits:
        """The limits on size and pixels that pictures are checked against before decoding."""
        return self.settings.pipeline.images

    def open_picture(self, image: PictureInput) -> LoadedImage:
        """Decode a picture under the limits, and from the folders, that apply to a run.

        Raises:
            ImageError: It cannot be read, or is refused.
        """
        return self._given(image).open(self.limits)

    def picture_size(self, image: PictureInput) -> Size:
        """(width, height), from the header where that is possible.

        Raises:
            ImageError: It cannot be read, or is refused.
        """
        given = self._given(image)
        return given.peek(self.limits) if given.peek else given.open(self.limits).size

    # --- asking ---

    @spelled_out
    def assess(
        self,
        image: PictureInput,
        query: str = DEFAULT_QUERY,
        *,
        on_event: EventListener | None = None,
        run_id: str | None = None,
        **options: Unpack[AssessOptions],
    ) -> Assessment:
        """Answer one question about one picture.

        Args:
            run_id: The id to record the run under; by default a new one.
            image, query, on_event, options: As for :func:`agenticiqa.assess`. Values left out are the configured ones.
        Returns:
            The answer with its evidence. A picture or model that fails gives the status ``error``, not an exception.
        Raises:
            TypeError: An argument is unknown or of a wrong type.
        """
        return _last(self._start(image, query, options, run_id), on_event)

    @spelled_out
    def stream(
        self,
        image: PictureInput,
        query: str = DEFAULT_QUERY,
        *,
        run_id: str | None = None,
        **options: Unpack[AssessOptions],
    ) -> Generator[PipelineEvent | Assessment, None, None]:
        """Run :meth:`assess`, and yield every step of the agents as it ends, last the result.

        Closing the generator interrupts the run; :meth:`resume` continues it.
        """
        return self._start(image, query, options, run_id)

    @spelled_out
    def follow_up(
        self,
        run_id: str,
        query: str,
        *,
        image: PictureInput | None = None,
        on_event: EventListener | None = None,
        **options: Unpack[AssessOptions],
    ) -> Assessment:
        """Ask on about the picture of a recorded run; :meth:`Assessment.ask` is the same for a result at hand.

        Args:
            run_id: The run's id, an unambiguous beginning of it, or ``last``.
            query: The question; what it leaves open is what was asked before.
            image: The picture, where the run's own file is not to be taken.
            on_event: Called with every step.
            options: As for :func:`agenticiqa.assess`. Values left out are the run's, backends that were named too.
        Returns:
            The answer with its evidence.
        Raises:
            RunNotFoundError: There is no such run.
            AssessmentFailedError: The run has no answer to ask on from.
            ImageError: The run's picture is not in a file, is gone, or is another one by now.
        """
        record = self.runs.find(run_id)
        if record.result is None or record.status == "error":
            hint = f"`agenticiqa runs resume {record.id}` continues it."
            raise errors.AssessmentFailedError(
                f"Run {record.id} has no answer to ask on from.", hint=hint, client_hint=""
            )
        state, settings = self._recorded(record)
        before = Assessment.model_validate(record.result)
        return _last(self._follow(before, query, {**options, "image": image}, state, {}, settings), on_event)

    def compare(
        self,
        image_a: PictureInput,
        image_b: PictureInput,
        *,
        reference: PictureInput | None = None,
        query: str = DEFAULT_QUERY,
        on_event: SideListener | None = None,
    ) -> Comparison:
        """Find out which of two pictures is better; arguments and result as for :func:`agenticiqa.compare`.

        ``on_event`` is called with the side, A or B, and every step of its assessment.
        """
        from agenticiqa.api.comparison import compare_pictures

        return compare_pictures(self, image_a, image_b, reference=reference, query=query, on_event=on_event)

    # For programs with an event loop.
    aassess = in_thread(assess)
    acompare = in_thread(compare)

    # --- recorded runs ---

    def resume(self, run_id: str, *, on_event: EventListener | None = None) -> Assessment:
        """Continue an interrupted run at the node where it stopped; repeat a failed one; return an answered one.

        Args:
            run_id: The run's id, or an unambiguous beginning of it.
            on_event: Called with every step.
        Returns:
            The result. The run keeps the backends that were named for it, unless this assessor names its own.
        Raises:
            RunNotFoundError: There is no such run.
        """
        record = self.runs.find(run_id)
        if record.result is not None and record.status in ("ok", "partial"):
            return Assessment.model_validate(record.result)
        self._record.keep(lambda store: store.begin_again(record.id))
        state, settings = self._recorded(record)
        before = [CallRecord.from_dict(call) for call in self.runs.calls_before(record)]
        return _last(self._run_steps(record.id, state, {}, settings, before), on_event)

    def replay(self, run_id: str, *, on_event: EventListener | None = None) -> tuple[RunRecord, Assessment]:
        """Ask the question of a recorded run again.

        Args:
            run_id: The run's id, or an unambiguous beginning of it.
            on_event: Called with every step.
        Returns:
            The old record and the new result.
        Raises:
            RunNotFoundError: There is no such run.
        """
        record = self.runs.find(run_id)
        state, settings = self._recorded(record)
        return record, _last(self._begin(new_run_id(), state, {}, settings), on_event)

    def _recorded(self, record: RunRecord) -> tuple[AgenticIQAState, Settings]:
        """The recorded question, and the settings to ask it again under."""
        asked = dict(record.request)
        named = asked.pop(NAMED_BACKENDS, None) or {}
        return cast("AgenticIQAState", asked), self.settings.with_backends({**named, **self.settings.named_backends})

    def forget(self, run_ids: Collection[str]) -> None:
        """Delete the records of these runs, with the checkpoints for resuming them."""
        self._record.forget(run_ids)

    # --- one run ---

    def _start(
        self,
        image: PictureInput,
        query: str,
        options: AssessOptions,
        run_id: str | None = None,
        settings: Settings | None = None,
    ) -> Generator[PipelineEvent | Assessment, None, None]:
        """A run that has begun; arguments of a wrong kind raise here."""
        given, reference = given_picture(image), options.get("reference")
        original = given_picture(reference) if reference is not None else None
        pipeline = self.settings.pipeline
        limit, mode, without = options.get("max_replan_iterations"), options.get("mode"), options.get("without")
        state = initial_state(
            query,
            given.name,
            original.name if original else None,
            pipeline.max_replan_iterations if limit is None else limit,
            options=options.get("options"),
            regions=options.get("regions"),
            align=options.get("align", "none"),
            mode=pipeline.mode if mode is None else mode,
            without=pipeline.without if without is None else without,
            views=options.get("views"),
            earlier=options.get("earlier"),
        )
        pictures = {each.name: each for each in (given, original) if each is not None and each.in_memory}
        return self._begin(run_id or new_run_id(), state, pictures, settings or self.settings)

    def _follow(
        self,
        before: Assessment,
        query: str,
        given: Mapping[str, Any],
        state: AgenticIQAState,
        pictures: Mapping[str, GivenPicture],
        settings: Settings,
    ) -> Generator[PipelineEvent | Assessment, None, None]:
        """A run whose question follows that of ``before``, which began in ``state``; what is not given is as it was."""
        kept = ("regions", "align", "mode", "without", "views", "max_replan_iterations")
        options: dict[str, Any] = {name: value for name, value in state.items() if name in kept}
        options["earlier"] = before.turns
        # To align nothing is also what is said where nothing is said.
        unsaid = {name for name, value in given.items() if value is None or (name == "align" and value == "none")}
        options |= {name: value for name, value in given.items() if name not in unsaid}
        for name, path in (("image", state["image_path"]), ("reference", state.get("reference_path"))):
            if path and name not in options:
                options[name] = pictures.get(path) or _unchanged(path, name, before)
        return self._start(options.pop("image"), query, cast("AssessOptions", options), settings=settings)

    def _begin(
        self, run_id: str, state: AgenticIQAState, pictures: Mapping[str, GivenPicture], settings: Settings
    ) -> Generator[PipelineEvent | Assessment, None, None]:
        self._record.keep(lambda store: store.begin(run_id, {**state, NAMED_BACKENDS: settings.named_backends}))
        return self._run_steps(run_id, state, pictures, settings)

    def _run_steps(
        self,
        run_id: str,
        state: AgenticIQAState,
        pictures: Mapping[str, GivenPicture],
        settings: Settings,
        resumed: list[CallRecord] | None = None,
    ) -> Generator[PipelineEvent | Assessment, None, None]:
        """``resumed`` are the calls of a run that is to be continued, until it stopped."""

        def keep(call: CallRecord) -> None:
            self._record.keep(lambda store: store.note_call(run_id, call.as_dict()))

        reference = state.get("reference_path")
        context = RunContext(
            settings=settings,
            clients=self._clients,
            tools=self.tools,
            cache=self.cache,
            prompts=self._prompts,
            run_id=run_id,
            calls=CallLog(resumed or [], keep),
            pictures=pictures,
            scaled_to={state["image_path"]: reference} if reference and state.get("align") == "resize" else {},
            _made=self._made,
            _choices=self._choices if settings is self.settings else {},
            _making=self._making,
        )
        try:
            result = assessment_from(
                (yield from self._work_through(state, context, resume=resumed is not None)), context
            )
            result.keep_pictures(pictures)
            result.ask_with(
                lambda before, query, on_event=None, **options: _last(
                    self._follow(before, query, options, state, pictures, settings), on_event
                )
            )
        except BaseException as error:
            # The listener stopped it, Ctrl+C, a defect: the record must not call it running for ever.
            status = error.status if isinstance(error, Cancelled) else INTERRUPTED
            self._record.keep(lambda store: store.stop(run_id, status))
            if isinstance(error, KeyboardInterrupt):
                raise RunInterrupted(run_id, len(context.calls.made)) from error
            raise
        finally:
            context.forget_pictures()
        self._record.finish(run_id, result)
        yield result

    def _work_through(
        self, state: AgenticIQAState, context: RunContext, *, resume: bool
    ) -> Generator[PipelineEvent, None, Mapping[str, Any]]:
        """The run itself; its events are passed on as they come. Returns the state that it reached."""
        reached: Mapping[str, Any] = dict(state)
        interrupted = threading.Event()

        def check() -> None:
            if interrupted.is_set():
                raise Cancelled(INTERRUPTED)

        with context.timed("total"), run_id_for_logs(context.run_id), stoppable(check):
            try:
                with ExitStack() as admitted:
                    with set_on_interrupt(interrupted):
                        admitted.enter_context(self._admitted(state, context))
                        self._check(state, context)
                        events = self._events(state, context, resume=resume)
                    while True:
                        # Only while it works: between two events the program is the caller's.
                        with set_on_interrupt(interrupted):
                            event = next(events, None)
                        if event is None:
                            return reached
                        if event.kind == "state":
                            reached = event.details
                        try:
                            yield event
                        except BaseException:
                            # The listener ends the run: the working agent is signalled and not waited for.
                            interrupted.set()
                            raise
            except errors.AgenticIQAError as error:
                logger.error("Run %s failed: %s", context.run_id, error)  # noqa: TRY400 - the message says it all
                context.error_kind = error.kind
                return {**reached, "error": str(error)}

    def _events(self, state: AgenticIQAState, context: RunContext, *, resume: bool) -> Iterator[PipelineEvent]:
        mode, thread_id = state.get("mode", "agents"), context.run_id
        if "agenticiqa.graph" not in sys.modules:
            # The first run of a program: while LangGraph is imported, which takes a second, another thread can look.
            context.prefetch(state, "summarizer" if mode == "direct" else "executor")
        # LangGraph takes longer to import than everything else.
        from agenticiqa.graph import graph_for, stream_pipeline

        checkpoints = self._record.checkpoints
        if mode not in self._graphs:
            self._graphs[mode] = graph_for(state, checkpoints)
        graph = self._graphs[mode]
        if resume:
            # A run that died before its first checkpoint has nothing stored: it starts from the beginning. Tasks rather
            # than next: a node that ended while the run was being stopped is not among the next ones.
            stored = graph.get_state({"configurable": {"thread_id": thread_id}}) if checkpoints else None
            resume = stored is not None and bool(stored.tasks)
        return stream_pipeline(state, context=context, graph=graph, thread_id=thread_id, resume=resume)

    def _given(self, image: PictureInput) -> GivenPicture:
        given = given_picture(image)
        if self._allowed_roots is not None and not given.in_memory:
            check_allowed(given.name, self._allowed_roots)
        return given

    @contextmanager
    def _admitted(self, state: AgenticIQAState, context: RunContext) -> Iterator[None]:
        """Memory for the run before any pixel is decoded: its pictures, a look at them, any tool it may choose."""
        paths = [path for path in (state["image_path"], state.get("reference_path")) if path]
        for path in paths:
            if self._allowed_roots is not None and path not in context.pictures:
                check_allowed(path, self._allowed_roots)
        sizes, resize = [context.picture_size(path) for path in paths], state.get("align") == "resize"
        has_reference = len(paths) > 1
        need = assessing_need(sizes, self.tools, self.memory.largest, has_reference=has_reference, resize=resize)
        with self.memory.hold(need, f"A {'pair' if has_reference else 'picture'} of this size") as memory:
            context.memory = memory
            yield

    def _check(self, state: AgenticIQAState, context: RunContext) -> None:
        """What can be known to fail before anything is spent: pictures, regions, backends."""
        reference_path = state.get("reference_path")
        image = context.image(state["image_path"])
        if reference_path:
            refuse_other_size(image, context.image(reference_path))
        check_regions(state.get("regions") or {}, image)
        replaced: dict[BackendChoice, list[str]] = {}
        mode, without = state.get("mode", "agents"), state.get("without", [])
        for role in calls_per_pass(mode, without, context.settings.answering):
            choice = context.backend_choice(role)
            if choice.reason and not choice.is_default:
                replaced.setdefault(choice, []).append(role)
        for choice, roles in replaced.items():
            logger.warning("%s on the %s backend: %s", ", ".join(roles).capitalize(), choice.backend, choice.reason)

    def close(self) -> None:
        """Close clients, cache and run records; whoever asks again opens them again."""
        self._graphs.clear()
        for client in self._made.values():
            client.close()
        self._made.clear()
        if self.cache:
            self.cache.close()
        self._record.close()

    def __enter__(self) -> AgenticIQA:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _last(events: Generator[PipelineEvent | Assessment, None, None], on_event: EventListener | None) -> Assessment:
    """The result of a run, whose events go to a listener; what the listener raises ends the run where it stands."""
    for event in events:
        if isinstance(event, Assessment):
            return event
        if on_event:
            try:
                on_event(event)
            except BaseException as error:
                ended = events.throw(error)
                # An AgenticIQAError is in the result; everything else was raised again.
                if isinstance(ended, Assessment):
                    return ended
                raise
    raise AssertionError("a run ends with its result")


def _unchanged(path: str, name: str, before: Assessment) -> str:
    """The path of a picture that is still what ``before`` was about."""
    again = "Give it again: `agenticiqa assess PICTURE --after RUN --query QUESTION`, or image=… in Python."
    try:
        found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        gone = f"The {name} of the earlier run, {path!r}, is not there any more."
        raise errors.ImageNotFoundError(gone, hint=again, client_hint="Give it again.") from None
    # A picture that was scaled to its reference is known by its own bytes no more.
    scaled = any(note.startswith("scaled from") for note in before.metadata.get(f"{name}_notes") or [])
    if not scaled and before.metadata.get(f"{name}_sha256") not in (None, found):
        changed = f"The {name} of the earlier run, {path!r}, has changed since."
        raise errors.ImageError(changed, hint=again, client_hint="Give it again.")
    return path


def _in_notebook(result: Assessment | Comparison) -> str:
    from agenticiqa.reports import assessment, comparison

    limits = load_settings().pipeline.images
    if isinstance(result, Assessment):
        return assessment.notebook_view(result, limits)
    return comparison.notebook_view(result, limits)


Result.notebook_view = staticmethod(_in_notebook)
