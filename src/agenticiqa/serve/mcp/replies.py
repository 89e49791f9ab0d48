"""What goes in and out of the MCP tools: pictures as agents hand them over, and the fields and text of replies."""

import base64
import math
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agenticiqa.errors import ImageError, ImageFormatError, ImageNotFoundError, ImageTooLargeError
from agenticiqa.nodes.results import Assessment, Status
from agenticiqa.pictures.images import check_allowed
from agenticiqa.serve.http.problems import without_addresses
from agenticiqa.serve.http.store.uploads import UploadStore
from agenticiqa.state import ExecutorOutput, ModelAnswer, ScoreConflict, View

MAX_INLINE_BYTES = 32 * 1024 * 1024
MAX_REQUEST_BYTES = 96 * 1024 * 1024
"""Over HTTP: a comparison of two pictures of that size, in base64."""
MAX_STORE_BYTES = 512 * 1024 * 1024
"""Of inline pictures kept for the maps and reports of earlier calls; beyond it the oldest go."""
_DATA_URL = re.compile(r"data:image/[\w.+-]+;base64,", re.IGNORECASE)
_OTHER_URL = re.compile(r"[a-z][a-z0-9+.-]{1,20}:", re.IGNORECASE)


class PictureStore:
    """Turns what a caller gave into files; inline pictures are kept by their content in ``folder``, up to a size."""

    def __init__(self, folder: Path, allowed_roots: Sequence[Path] | None, *, max_bytes: int = MAX_STORE_BYTES) -> None:
        self._allowed_roots = allowed_roots
        """Where paths may lead; None: into the client's own folders, or the working folder where it names none."""
        self._shelf = UploadStore(folder, keep_s=math.inf, max_bytes=max_bytes, least_s=0)
        self._held: Counter[Path] = Counter()
        self._lock = threading.Lock()

    def allowed_folders(self) -> str:
        if self._allowed_roots is None:
            return f"Paths must lie in the client's roots, or in {Path.cwd()} where it names none."
        if not self._allowed_roots:
            return "No path is opened: send pictures as data: URLs."
        return f"Paths must lie in {_listed(self._allowed_roots)}."

    def without_own_paths(self, text: str) -> str:
        """The text with inline pictures called so: where they lie for a while is nobody's business."""
        own = re.escape(str(self._shelf.folder))
        return re.sub(rf"(['\"]?){own}[\\/]\w\w[\\/][0-9a-f]{{64}}\1", "the inline picture", text)

    @contextmanager
    def in_use(self, client_roots: Sequence[Path] = ()) -> Iterator[Callable[[str], Path]]:
        """A function from what was given to a file; inline pictures stay at least until the block ends."""
        roots = (client_roots or [Path.cwd()]) if self._allowed_roots is None else self._allowed_roots
        held: list[Path] = []
        try:
            yield lambda given: self._file(given, held, roots)
        finally:
            with self._lock:
                self._held.subtract(held)
                self._held += Counter()  # drops what is no longer held

    def _file(self, given: str, held: list[Path], roots: Sequence[Path]) -> Path:
        text = given.strip()
        if not text:
            raise ImageError("No picture was given.", hint="Give a path, or the picture as a data: URL in base64.")
        head = _DATA_URL.match(text)
        if head:
            return self._kept(text[head.end() :], held)
        if _OTHER_URL.match(text) and not re.match(r"[a-z]:[\\/]", text, re.IGNORECASE):
            # Fetching addresses that a model read somewhere would let strangers reach this machine's network.
            raise ImageError("Addresses are not fetched.", hint="Give a path, or the picture as a data: URL in base64.")
        path = Path(text).expanduser()
        if path == self._shelf.folder / path.name[:2] / path.name and path.is_file():
            # Of an earlier call: what was sent inline is kept under a name made of its content.
            with self._lock:
                return self._hold(path, held)
        try:
            check_allowed(path, roots)
        except ImageNotFoundError:
            where = f"This server opens pictures in {_listed(roots)}." if roots else "This server opens no paths."
            raise ImageNotFoundError(
                f"{str(path)!r} is not inside an allowed folder. {where}",
                hint="Give a picture there, or the picture itself as a data: URL in base64.",
            ) from None
        return path

    def _kept(self, encoded: str, held: list[Path]) -> Path:
        if len(encoded) > MAX_INLINE_BYTES * 4 / 3 + 4:
            raise ImageTooLargeError(f"The inline picture is larger than {MAX_INLINE_BYTES // 2**20} MB.")
        try:
            data = base64.b64decode(encoded, validate=True)
        except ValueError as error:
            raise ImageFormatError("The inline picture is not valid base64.") from error
        with self._lock:
            path = self._shelf.put(data, "").path
            self._hold(path, held)
            self._shelf.sweep(self._held.keys())
        return path

    def _hold(self, path: Path, held: list[Path]) -> Path:
        held.append(path)
        self._held[path] += 1
        return path


def _listed(folders: Sequence[Path]) -> str:
    return " or ".join(str(folder) for folder in folders)


# --- replies: the fields another program reads, beside the text that a model reads ---


class FindingReply(BaseModel):
    """One distortion in one part of the picture."""

    object: str
    distortion: str
    severity: str
    explanation: str


class Score(BaseModel):
    """One tool's score: as the tool gives it, and on the common scale."""

    model_config = ConfigDict(from_attributes=True)

    tool: str
    raw: float | None = None
    calibrated: float | None = Field(None, description="1 (bad) to 5 (excellent)")
    higher_is_better: bool | None = Field(None, description="of the raw score")
    error: str | None = None

    def __str__(self) -> str:
        if self.error or self.raw is None:
            return f"{self.tool}: failed, {self.error}"
        common = "" if self.calibrated is None else f", {self.calibrated:.2f} of 5"
        direction = {True: " (higher is better)", False: " (lower is better)", None: ""}[self.higher_is_better]
        return f"{self.tool}: {self.raw:.5g}{direction}{common}"


class AssessReply(BaseModel):
    """The answer about one picture and what it rests on."""

    status: Status
    answer: str
    quality_score: float | None = Field(None, description="1 (bad) to 5 (excellent); rating questions only")
    conflict: ScoreConflict | None = Field(None, description="tools and model contradict each other")
    reasoning: str
    advice: list[str] = Field(default_factory=list, description="what to do about it, what matters most first")
    findings: list[FindingReply]
    scores: list[Score]
    models: list[ModelAnswer] = Field(default_factory=list, description="where several models answered, each one's")
    views: list[View] = Field(default_factory=list, description="closer looks at parts of a large picture, and why")
    run_id: str
    notes: list[str] = Field(default_factory=list)


class MeasureReply(BaseModel):
    """Scores of one picture."""

    scores: list[Score]


class CompareReply(BaseModel):
    """Which of two pictures is better."""

    model_config = ConfigDict(from_attributes=True)

    status: Status
    winner: str = Field(description="A, B or tie")
    confidence: float | None = Field(None, description="chance that people agree")
    verdict: str
    reasons: list[str]
    score_a: float | None = None
    score_b: float | None = None


class ToolFacts(BaseModel):
    """A measuring tool and whether it runs here."""

    name: str
    type: str
    available: bool
    about: str


class ToolsReply(BaseModel):
    """Every measuring tool known here."""

    tools: list[ToolFacts]


def assess_reply(result: Assessment) -> AssessReply:
    evidence = result.executor_evidence or ExecutorOutput()
    return AssessReply(
        status=result.status,
        answer=result.answer,
        quality_score=result.score,
        conflict=result.conflict,
        reasoning=result.reasoning,
        advice=[each.do for each in result.advice],
        findings=[
            FindingReply(object=name, distortion=entry.type, severity=entry.severity, explanation=entry.explanation)
            for name, entries in (evidence.distortion_analysis or {}).items()
            for entry in entries
        ],
        scores=[
            Score(tool=log.tool, raw=log.raw_score, calibrated=log.calibrated_score, error=log.error)
            for log in evidence.tool_logs
        ],
        models=[
            each.model_copy(update={"error": without_addresses(each.error)}) if each.error else each
            for each in result.models
        ],
        views=evidence.views,
        run_id=str(result.metadata.get("run_id", "")),
        notes=evidence.errors,
    )


def answer_text(result: Assessment) -> str:
    score = "" if result.score is None and not result.conflict else f" ({result.score_text})"
    notes = "".join(f"\nNote: {note}" for note in (result.executor_evidence or ExecutorOutput()).errors)
    return f"Answer: {result.answer}{score}. Status: {result.status}.\n{result.reasoning}{notes}"
