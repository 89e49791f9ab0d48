"""Pictures that come with the service, to try it without one's own."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from agenticiqa.vocabulary import DEFAULT_QUERY


@dataclass(frozen=True)
class ExamplePicture:
    """A shipped picture and a question that suits it."""

    name: str
    file: str
    title: str
    query: str
    reference: str | None = None
    licence: str = "CC0 1.0 (“seeding” by Clemens Engelhardt, 2018)"

    def data(self) -> bytes:
        return resources.files(__package__).joinpath("examples").joinpath(self.file).read_bytes()


EXAMPLES = {
    example.name: example
    for example in (
        ExamplePicture("dandelion", "dandelion.jpg", "A dandelion", DEFAULT_QUERY),
        ExamplePicture(
            "dandelion_compressed",
            "dandelion_compressed.jpg",
            "The same at JPEG quality 12",
            "Which distortion dominates? A. Motion blur B. JPEG compression C. Underexposure",
            reference="dandelion",
        ),
    )
}
