"""One question about one picture."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

TaskType = Literal["scoring", "choice", "open"]


class Sample(BaseModel):
    """What is asked, and what people answered.

    ``mos`` is the opinion score with higher meaning better, on whatever scale its source uses. ``answer`` is the right
    option: its letter or its text. ``carried`` holds every other column and reaches the result untouched.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    sample_id: str = Field(min_length=1)
    image_path: str = Field(min_length=1)
    query: str | None = None
    reference_path: str | None = None
    options: list[str] | None = None
    regions: dict[str, list[int]] | None = None
    mos: float | None = None
    answer: str | None = None
    task_type: TaskType | None = None
    carried: dict[str, Any] = Field(default_factory=dict)

    def renamed(self, sample_id: str) -> Sample:
        return self if sample_id == self.sample_id else self.model_copy(update={"sample_id": sample_id})

    def as_row(self) -> dict[str, Any]:
        """The flat form a manifest holds: no empty fields, carried columns beside the others.

        >>> Sample(sample_id="1", image_path="a.png", mos=3.5, carried={"distortion": "jpeg"}).as_row()
        {'sample_id': '1', 'image_path': 'a.png', 'mos': 3.5, 'distortion': 'jpeg'}
        """
        return {**self.model_dump(exclude={"carried"}, exclude_none=True), **self.carried}
