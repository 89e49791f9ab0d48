"""What jobs do: the package's own calls, with the server's paths taken out of everything that goes back.

Files a request can reach are fixed before any model is asked: the assessor is bound to the uploads and refuses every
other path, and no reply of a model is ever used as a path or as the name of a program.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from PIL import Image
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from agenticiqa.api.assessor import AgenticIQA
from agenticiqa.api.comparison import compare_pictures
from agenticiqa.api.measure import Measurer, Pair, choose_tools
from agenticiqa.errors import AgenticIQAError, RegionError
from agenticiqa.models.backends import BackendName, choose_backend, find_provider
from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.nodes.run_context import EMBEDDED, PipelineEvent
from agenticiqa.pictures.images import Box, LoadedImage, decode_image, load_image, png_bytes
from agenticiqa.pictures.inputs import GivenPicture, aligned
from agenticiqa.pictures.regions import check_regions
from agenticiqa.runtime.config import Settings
from agenticiqa.runtime.memory import MemoryBudget, process_budget
from agenticiqa.serve.http.problems import REQUEST_FAULTS, ServiceError, without_addresses
from agenticiqa.serve.http.store.job_record import JobOutcome
from agenticiqa.serve.http.store.uploads import StoredPicture
from agenticiqa.serve.http.wire import AssessBody, BackendInfo, CompareBody, MeasureBody
from agenticiqa.serve.http.work.intake import Intake
from agenticiqa.serve.http.work.jobs import ServiceJob
from agenticiqa.tools.needs import assessing_need, measuring_need
from agenticiqa.vlm_client import VLMClient

MOST_OF_SEVERAL = 16
"""Assessors with several models that are kept."""


class Pipeline:
    """Assessors by backend, made when first asked for and kept."""

    def __init__(
        self, settings: Settings, allowed_backends: tuple[str, ...], clients: Mapping[str, VLMClient] | None = None
    ) -> None:
        self.settings = settings
        # Any other name is refused: for some providers the name is a folder or a download.
        configured = (settings.role(role).backend for role in settings.roles)
        named = dict.fromkeys([EMBEDDED, *configured, *allowed_backends])
        self.selectable = [name for name in named if self.provider(BackendName.parse(name).provider).ready]
        """Backends a request may name: the embedded one, those configured, those the operator allowed; if ready."""
        self.limits = settings.pipeline.images
        self._clients = dict(clients or {})
        self._assessors: dict[tuple[str | None, ...], AgenticIQA] = {}
        self._lock = threading.Lock()

    def check_backends(self, backend: str | None, backends: Sequence[str] | None = None) -> None:
        several = backends or ()
        if any(name not in self.selectable for name in (*several, *([backend] if backend else []))):
            raise ServiceError(422, "backend_not_selectable", f"backend: choose one of {', '.join(self.selectable)}.")
        if len({*several}) < len(several):
            raise ServiceError(422, "invalid_request", "backends: one is named twice.")

    def assessor(self, backend: str | None = None, backends: Sequence[str] | None = None) -> AgenticIQA:
        """The assessor for one of the selectable backends, or for several; None is the configured one."""
        self.check_backends(backend, backends)
        named = (backend, *(backends or ()))
        with self._lock:
            if named not in self._assessors:
                clients = self._clients if named == (None,) else None
                self._assessors[named] = AgenticIQA(
                    backend, backends=backends, settings=self.settings, clients=clients, only_allowed_roots=True
                )
            of_several = [each for each in self._assessors if len(each) > 1]
            if len(of_several) > MOST_OF_SEVERAL:
                # Callers may name several models in very many orders. A run that goes on keeps its assessor.
                del self._assessors[of_several[0]]
            return self._assessors[named]

    def warm_up(self, picture: StoredPicture) -> None:
        """One assessment that leaves no trace: models are loaded and code is imported when the first request comes."""
        off = {"enabled": False}
        with AgenticIQA(settings=self.settings.changed(pipeline={"runs": off, "cache": off})) as assessor:
            assessor.assess(picture.path)

    @property
    def is_embedded(self) -> bool:
        """Whether a request that names no backend is answered on this machine, for nothing."""
        return not self._clients and set(self.default_backends().values()) == {EMBEDDED}

    def default_backends(self) -> dict[str, str | None]:
        names: dict[str, str | None] = {}
        for role in self.settings.roles:
            if role in self._clients:
                names[role] = self._clients[role].identity
                continue
            try:
                names[role] = choose_backend(role, self.settings).backend
            except AgenticIQAError:
                names[role] = None
        return names

    def provider(self, name: str) -> BackendInfo:
        """What is known of a provider of models, and whether it can be used here."""
        try:
            provider = find_provider(name)
            ready = provider.readiness(self.settings.provider(name)).ready
        except AgenticIQAError:
            return BackendInfo(provider=name, ready=False, local=False, description="")
        return BackendInfo(provider=name, ready=ready, local=provider.local, description=provider.description)

    def close(self) -> None:
        for assessor in self._assessors.values():
            assessor.close()

    # --- what work needs of memory, known from headers ---

    @property
    def memory(self) -> MemoryBudget:
        return process_budget(self.settings.pipeline.memory)

    def assessing_need(self, intake: Intake[Any]) -> int:
        return assessing_need(
            intake.sizes,
            self.assessor().tools,
            self.memory.largest,
            has_reference="reference" in intake.pictures,
            resize=getattr(intake.fields, "align", "none") == "resize",
        )

    def measuring_need(self, intake: Intake[MeasureBody]) -> int:
        """Refuses named tools that can never run here; of all tools, those that do not fit say so in their records."""
        measurer = self._measurer(intake)
        resize = intake.fields.align == "resize"
        least = {tool: measuring_need(intake.sizes, [tool], resize=resize).least for tool in measurer.tools}
        for tool, need in least.items():
            if intake.fields.tools or need == min(least.values()):
                self.memory.check(need, tool.name)
        return measurer.need(intake.sizes)

    # --- work, each inside a worker's thread ---

    def assess(self, job: ServiceJob, intake: Intake[AssessBody]) -> JobOutcome:
        fields, names = intake.fields, _names(intake.pictures)
        # Damage and impossible regions are the request's fault: found here, they are answered as such.
        with failures_by_sent_name(intake.pictures):
            opened = self._opened(intake)
            image, original = opened["image"], opened.get("reference")
            if original is not None and fields.align == "resize":
                image = aligned(image, original)
            check_regions(fields.regions or {}, image)
        result = self.assessor(fields.backend, fields.backends).assess(
            image,
            fields.query,
            reference=original,
            options=fields.options,
            regions=fields.regions,
            max_replan_iterations=fields.max_replan,
            align=fields.align,
            mode=fields.mode,
            without=fields.without,
            views=fields.views,
            earlier=intake.earlier,
            on_event=lambda event: _report(job, event, names),
            run_id=job.id,
        )
        return JobOutcome(result.status, _presentable_result(result, intake))

    def compare(self, job: ServiceJob, intake: Intake[CompareBody]) -> JobOutcome:
        fields, names = intake.fields, _names(intake.pictures)
        with failures_by_sent_name(intake.pictures):
            opened = self._opened(intake)
            if fields.region is not None:
                opened = _inside(Box(*fields.region), opened)
        comparison = compare_pictures(
            self.assessor(fields.backend, fields.backends),
            opened["image_a"],
            opened["image_b"],
            reference=opened.get("reference"),
            query=fields.query,
            on_event=lambda side, event: _report(job, event, names, side=side),
        )
        return JobOutcome(comparison.status, _presentable_result(comparison, intake))

    def measure(self, job: ServiceJob, intake: Intake[MeasureBody]) -> JobOutcome:
        """Nothing of it is kept: pictures are measured as they came."""
        fields, pictures = intake.fields, {name: _as_sent(each, intake) for name, each in intake.pictures.items()}
        measurer = self._measurer(intake)
        boxes = {name: Box(*numbers) for name, numbers in (fields.regions or {}).items()}
        with measurer.admitted(Pair(pictures["image"], pictures.get("reference"))) as (pair, memory):
            opened, original = measurer.open(pair)
            check_regions(fields.regions or {}, opened)
            job.checkpoint()
            found = list(measurer.measure_opened(pair, opened, original, boxes or None, memory))
        return JobOutcome("ok", {"measurements": presentable([record.as_dict() for record in found], {})})

    def _measurer(self, intake: Intake[MeasureBody]) -> Measurer:
        fields, assessor, pipeline = intake.fields, self.assessor(), self.settings.pipeline
        tools = choose_tools(
            assessor.tools, fields.tools, all_tools=fields.all_tools, has_reference="reference" in intake.pictures
        )
        return Measurer(tools, pipeline.tools, pipeline.images, assessor.cache, fields.align, memory=assessor.memory)

    def _opened(self, intake: Intake[Any]) -> dict[str, LoadedImage]:
        return {name: load_image(picture.path, self.limits) for name, picture in intake.pictures.items()}


def _inside(box: Box, pictures: Mapping[str, LoadedImage]) -> dict[str, LoadedImage]:
    """The same place of each, as pictures of their own."""
    first, *others = pictures.values()
    if any(image.size != first.size for image in others):
        raise RegionError("A place can be compared only in pictures of one size.", hint="Compare the whole pictures.")
    check_regions({"region": box.as_list()}, first)
    return {
        name: decode_image(png_bytes(Image.fromarray(image.rgb[box.rows, box.columns])), path=image.path)
        for name, image in pictures.items()
    }


def _as_sent(picture: StoredPicture, intake: Intake[Any]) -> GivenPicture:
    data, name = intake.unstored[picture.path], picture.name
    return GivenPicture(
        name, lambda limits: decode_image(data, path=name, limits=limits), in_memory=True, peek=lambda _: picture.size
    )


@contextmanager
def failures_by_sent_name(pictures: Mapping[str, StoredPicture]) -> Iterator[None]:
    """Failures inside name pictures as their sender did."""
    try:
        yield
    except AgenticIQAError as error:
        error.message = _replaced(error.message, _names(pictures))
        raise


def _names(pictures: Mapping[str, StoredPicture]) -> dict[str, str]:
    """Paths in the upload store, and what to say instead: of a picture sent under two names, the first."""
    return {str(picture.path): picture.name for picture in reversed([*pictures.values()])}


def _report(job: ServiceJob, event: PipelineEvent, names: Mapping[str, str], **more: str) -> None:
    if event.kind == "state":
        # The state repeats what the nodes have reported.
        job.checkpoint()
        return
    job.report(event.kind, {"name": event.name, **more, "details": presentable(event.details, names)})


def _presentable_result(result: Assessment | Comparison, intake: Intake[Any]) -> dict[str, Any]:
    sent = {name: picture.name for name, picture in intake.pictures.items()}
    return with_picture_names(presentable(result, _names(intake.pictures)), sent)


def presentable(value: BaseModel | Mapping[str, Any] | list[Any], names: Mapping[str, str]) -> Any:
    """Plain JSON values without server paths, addresses of other servers, or numbers that JSON does not know."""
    return _cleaned(to_jsonable_python(value, fallback=str, inf_nan_mode="null"), names)


def _cleaned(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _replaced(value, names)
    if isinstance(value, dict):
        cleaned = {_replaced(str(key), names): _cleaned(each, names) for key, each in value.items()}
        if isinstance(cleaned.get("error"), str):
            cleaned["error"] = without_addresses(cleaned["error"])
        return cleaned
    if isinstance(value, list):
        return [_cleaned(each, names) for each in value]
    return value


def _replaced(text: str, names: Mapping[str, str]) -> str:
    for path, name in names.items():
        text = text.replace(path, name)
    return text


def failure_of(result: Mapping[str, Any], run_id: str) -> ServiceError:
    detail = without_addresses(str(result.get("error") or "The run ended without an answer."))
    # Of an assessment, or of the side of a comparison that failed.
    sides = [result, *(result[side] for side in ("a", "b") if result.get(side))]
    kinds = [(each.get("metadata") or {}).get("error_kind") for each in sides]
    kind = next((str(kind) for kind in kinds if kind), "")
    if kind not in REQUEST_FAULTS:
        return ServiceError(502, "assessment_failed", detail, run_id=run_id)
    return ServiceError(REQUEST_FAULTS[kind], kind, detail, run_id=run_id)


def with_picture_names(result: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A result that calls its pictures by other names, as ``image``, ``image_a``, ``image_b`` and ``reference``."""
    reference = {"reference_path": names.get("reference")}
    if "image" in names:
        return {**result, "image_path": names["image"], **reference}
    changed: dict[str, Any] = dict(reference)
    for side in ("a", "b"):
        changed[f"image_{side}"] = name = names[f"image_{side}"]
        changed[side] = {**result[side], "image_path": name, **reference} if result[side] else None
    return {**result, **changed}
