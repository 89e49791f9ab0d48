"""What goes over the wire, in both directions."""

from itertools import combinations
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import Self

from agenticiqa.errors import ConfigError
from agenticiqa.state import PARTS, Part, RunMode, ViewsMode, check_mode
from agenticiqa.vocabulary import DEFAULT_QUERY

Text = Annotated[str, Field(min_length=1, max_length=500)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Pixel = Annotated[int, Field(ge=0, le=1_000_000)]
Region = Annotated[list[Pixel], Field(min_length=4, max_length=4)]
Backends = Annotated[
    list[Name],
    Field(
        min_length=2,
        max_length=8,
        json_schema_extra={"uniqueItems": True},
        description="Selectable backends that answer together; the first, or `backend`, collects the evidence",
    ),
]
Kept = Annotated[str, Field(pattern=r"^[0-9a-f]{12}/.{1,1200}$")]
Regions = Annotated[dict[Name, Region], Field(max_length=32)]
Scaling = Annotated[
    Literal["none", "resize"], Field(description="'resize' scales a picture to its reference's size; 'none' refuses")
]


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


WAYS = ("base64", "path", "example", "kept")
# What is not allowed, rather than what is: generators of clients make a plain class of the rest.
_TWO = [{"required": [*two], "properties": {key: {"type": "string"} for key in two}} for two in combinations(WAYS, 2)]
_NONE_OR_TWO: dict[str, Any] = {"anyOf": [{"properties": {key: {"type": "null"} for key in WAYS}}, *_TWO]}


class PictureSource(_Request):
    """Where a picture comes from: exactly one way."""

    model_config = ConfigDict(json_schema_extra={"not": _NONE_OR_TWO})

    base64: str | None = Field(None, min_length=1, description="The file's bytes")
    path: str | None = Field(
        None, min_length=1, max_length=4096, description="A file on the server, inside one of its allowed folders"
    )
    example: Name | None = Field(None, description="One of GET /v1/examples")
    kept: Kept | None = Field(None, description="A picture of an earlier run of yours: its id, a slash, `image`, …")
    name: str | None = Field(None, max_length=255, description="What to call an uploaded picture")

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if sum(getattr(self, way) is not None for way in WAYS) != 1:
            raise ValueError(f"give exactly one of {', '.join(WAYS[:-1])} and {WAYS[-1]}")
        return self


class PictureRequest(_Request):
    """A request about pictures, as JSON. In a form, pictures are files, and the other fields are the same."""

    @classmethod
    def pictures(cls) -> dict[str, bool]:
        """The name of each picture, and whether it must be there."""
        return {
            name: field.is_required()
            for name, field in cls.model_fields.items()
            if PictureSource in (field.annotation, *get_args(field.annotation))
        }


_NO_PICTURE_OR_PARTS_OF_NOTHING: dict[str, Any] = {
    "anyOf": [
        {"properties": {"image": {"type": "null"}, "after": {"type": "null"}}},
        {
            "required": ["mode", "without"],
            "properties": {"mode": {"const": "direct"}, "without": {"type": "array", "minItems": 1}},
        },
    ]
}


class AssessBody(PictureRequest):
    model_config = ConfigDict(json_schema_extra={"not": _NO_PICTURE_OR_PARTS_OF_NOTHING})

    image: PictureSource | None = Field(None, description="Needed unless `after` names a run with its picture")
    reference: PictureSource | None = None
    query: str = Field(DEFAULT_QUERY, min_length=1, description="The question; options may be part of it")
    options: list[Text] | None = Field(None, min_length=2, max_length=26, description="Answers to choose from")
    regions: Regions | None = Field(None, description="Where objects are: name to [x, y, width, height] in pixels")
    backend: Name | None = Field(None, description="One of the selectable backends of GET /v1/backends")
    backends: Backends | None = None
    max_replan: int | None = Field(None, ge=0, le=10, description="Replan limit N: at most max(1, N) passes")
    align: Scaling = "none"
    mode: RunMode | None = Field(None, description="'direct' asks the model alone, without agents and tools")
    without: list[Part] | None = Field(None, max_length=len(PARTS), description="Parts of the work to leave out")
    views: ViewsMode | None = Field(None, description="Closer looks at pictures that a model sees reduced")
    after: Annotated[str, Field(pattern="^[0-9a-f]{12}$")] | None = Field(
        None, description="A run of yours to ask on from: what is not given, its picture too, is as it was there"
    )

    @model_validator(mode="after")
    def _picture_or_run(self) -> Self:
        if self.image is None and self.after is None:
            raise ValueError("image: a picture is needed, or `after`: a run to ask on from")
        return self

    @model_validator(mode="after")
    def _parts_to_leave_out(self) -> Self:
        try:
            check_mode(self.mode or "agents", self.without or [])
        except ConfigError as error:
            raise ValueError(error.message) from None
        return self


class MeasureBody(PictureRequest):
    image: PictureSource
    reference: PictureSource | None = None
    tools: list[Name] | None = Field(None, min_length=1, max_length=64, description="Names from GET /v1/tools")
    all_tools: bool = Field(False, description="Every tool that can run on the picture")
    regions: Regions | None = None
    align: Scaling = "none"


class CompareBody(PictureRequest):
    image_a: PictureSource
    image_b: PictureSource
    reference: PictureSource | None = None
    query: str = Field(DEFAULT_QUERY, min_length=1, description="What each picture is asked")
    region: Region | None = Field(None, description="Compare only inside [x, y, width, height], the same in both")
    backend: Name | None = None
    backends: Backends | None = None


class PreviewBody(PictureRequest):
    image: PictureSource


# --- replies ---

RunStatus = Literal["queued", "running", "ok", "partial", "error", "cancelled", "timed_out", "interrupted"]


class _JobState(BaseModel):
    id: str
    status: RunStatus
    created_at: str
    finished_at: str | None = None
    seconds: float | None = None
    links: dict[str, str] = Field(description="Addresses of what else there is of it")


class RunSummary(_JobState):
    """One run, without its result."""

    kind: Literal["assess", "compare"]
    query: str | None = None
    picture: str = Field("", description="The same for all runs about one picture, or one pair of them")
    image_name: str
    image_b_name: str | None = Field(None, description="The second picture of a comparison")
    reference_name: str | None = None
    answer: str | None = None
    answer_text: str | None = Field(None, description="The answer in words: of an option, its text")
    score: float | None = None
    rated: str | None = Field(
        None, description="What a score rates where that is not the whole quality: `sharpness`, `background`, …"
    )
    pinned: bool = Field(False, description="Kept until it is unpinned or deleted")


class Run(RunSummary):
    """One run with everything known about it."""

    request: dict[str, Any]
    result: dict[str, Any] | None = Field(None, description="The reply of POST /v1/assess or /v1/compare")
    error: dict[str, Any] | None = Field(None, description="A problem document, where there is no result")


class WorstPlace(BaseModel):
    """Where the embedded model finds a picture worst."""

    box: Region = Field(description="[x, y, width, height] in pixels")
    score: float = Field(description="1 (bad) to 5 (excellent), there")
    whole: float = Field(description="The same over the whole picture")
    even: bool = Field(description="No place is clearly worse than the rest")


class FixPreview(BaseModel):
    """What a copy with one piece of advice followed gains."""

    do: str = Field(description="The advice")
    before: float = Field(description="Score of the picture, 1 (bad) to 5 (excellent), as the tool AIQA_NR gives it")
    after: float = Field(description="Score of the copy")
    image: str = Field(description="The copy as PNG")


class SmallerFile(BaseModel):
    """The smallest WebP file of a picture that looks the same, or that there is none."""

    bytes_before: int = Field(description="Of the picture's own file")
    bytes_after: int | None = Field(description="Of the copy; null where no copy that looks the same is smaller")
    quality: int | None = Field(description="The encoder's setting")
    kept: float | None = Field(description="The copy beside the picture, 1 (bad) to 5 (excellent), by SSIMULACRA2")
    least: float = Field(description="What `kept` had to be")
    before: float = Field(description="Score of the picture, 1 (bad) to 5 (excellent), as the tool AIQA_NR gives it")
    after: float | None = Field(description="Score of the copy")
    notes: list[str] = Field(description="What a copy cannot keep")
    image: str | None = Field(description="The copy")


class PictureFile(BaseModel):
    """What a picture's file says about it: its kind, and how it was taken. Places and serial numbers are left out."""

    name: str
    format: str
    bytes: int
    width: int
    height: int
    frames: int = 1
    notes: list[str] = Field(description="What had to change before it was judged")
    taken: dict[str, str] = Field(description="Camera, lens, exposure and so on, where the file says")


class RunList(BaseModel):
    runs: list[RunSummary]
    next: str | None = Field(None, description="The address of the runs before these")


class AuditState(_JobState):
    """An audit and how far it is."""

    total: int
    finished: int | None = Field(None, description="Pictures looked at; null when an earlier server ran it")
    summary: dict[str, Any] | None = Field(None, description="Counts, once it has ended")
    error: dict[str, Any] | None = Field(None, description="A problem document, where it did not end by itself")


class AuditList(BaseModel):
    audits: list[AuditState]
    next: str | None = Field(None, description="The address of the audits before these")


class MeasuredValue(BaseModel):
    """One tool's verdict on one picture or region."""

    image: str
    tool: str
    type: str
    raw: float | None
    calibrated: float | None = Field(description="On the common scale, 1 (bad) to 5 (excellent)")
    higher_is_better: bool | None
    region: str | None
    seconds: float
    error: str | None
    reference: str | None


class BackendInfo(BaseModel):
    provider: str
    ready: bool
    local: bool
    description: str


class BackendList(BaseModel):
    default: dict[str, str | None] = Field(description="The backend of each agent when a request names none")
    selectable: list[str] = Field(description="What a request may name")
    providers: list[BackendInfo]


class ServiceLimits(BaseModel):
    """What a picture may be like here, for programs that check before they send."""

    max_upload_bytes: int = Field(description="Of one request with its pictures")
    max_pixels: int
    max_batch_upload_bytes: int
    max_batch_samples: int
    formats: list[str] = Field(description="Names of the formats that open here")
    endings: list[str] = Field(description="Endings of their files")
    keep_uploads_hours: float = Field(description="How long pictures are kept")


class ReadinessReply(BaseModel):
    status: Literal["ready"] = "ready"
    version: str
    workers: int
    running: int
    waiting: int
