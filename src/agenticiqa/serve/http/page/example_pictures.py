"""Pictures that come with the service, to try it without one's own."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from agenticiqa.vocabulary import DEFAULT_QUERY

_SEEDING = "CC0 1.0 (“seeding” by Clemens Engelhardt, 2018)"


@dataclass(frozen=True)
class ExamplePicture:
    """A shipped picture and a question that suits it."""

    name: str
    file: str
    title: str
    query: str
    reference: str | None = None
    licence: str = _SEEDING
    first: bool = False
    """Shown to whoever opens the page for the first time."""

    def data(self) -> bytes:
        return resources.files(__package__).joinpath("examples").joinpath(self.file).read_bytes()


def _first(name: str, title: str, licence: str, query: str = "How good is this picture?") -> ExamplePicture:
    return ExamplePicture(name, f"{name}.jpg", title, query, licence=licence, first=True)


# Where each comes from and how it was damaged: examples/README.md beside them.
EXAMPLES = {
    example.name: example
    for example in (
        _first("stream_blurred", "A shaken camera", "CC BY 4.0 (“life” by Aitzol Berasategi, 2018, blurred)"),
        _first("cat_noisy", "Grain of high ISO", "CC0 1.0 (“Chelsea” by Stéfan van der Walt, with noise)"),
        _first("coffee_dark", "Too little light", "CC0 1.0 (coffee by Rachel Michetti, darkened)"),
        _first("mountains_hazy", "Haze", "CC BY 4.0 (“picos de Europa” by Aitzol Berasategi, 2018, with haze)"),
        _first("portrait", "A face", "public domain (NASA, Eileen Collins)", "Is the face sharp?"),
        _first("screenshot", "A screenshot, saved as JPEG", "CC0 1.0 (drawn for this project)"),
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
