"""What the vision model sees in a picture, as an audit tells it: a score, findings, and the sort of picture."""

from __future__ import annotations

from dataclasses import dataclass

from agenticiqa.batch.audit.findings import Findings
from agenticiqa.models.offline.looking import Look
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.score_fusion import ScoreFusion
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.scene import FLAW_IS_THERE, Scene
from agenticiqa.vocabulary import SEVERITIES

LEAST_SIDE = 32
"""Below this the model has nothing to look at."""
POOR = 2.5
COUNTS_FROM = SEVERITIES.index("moderate")
_BY_CATEGORY = {
    "Blurs": "blurry",
    "Color distortions": "off_color",
    "Compression": "compressed",
    "Noise": "noisy",
    "Sharpness": "oversharpened",
    "Contrast": "bad_contrast",
    "Spatial distortions": "distorted",
}
_BY_FLAW = {
    "motion_blur": "motion_blur",
    "out_of_focus": "out_of_focus",
    "hazy": "hazy",
    "too_dark": "dark",
    "too_bright": "light",
}
_OTHERWISE = {"drawn": "drawing", "page": "page", "noise": "noise", "blank": "blank"}
_DRAWN_SORTS = {"drawn": ("screen", "painting", "drawing", "sketch"), "page": ("screen", "sketch")}


@dataclass(frozen=True)
class Seen:
    """The model's part of one picture's record."""

    score: float
    """1 (bad) to 5 (excellent), as the tool AIQA_NR gives it."""
    level: str
    """The score as a letter, A (excellent) to E (bad)."""
    sort: str
    """photograph, painting, drawing, sketch, screen, page, generated; noise or blank where nothing shows."""
    generated: float
    """The chance that the picture comes from a generator."""
    findings: Findings


def seen(image: LoadedImage) -> Seen | None:
    """A look at the picture; None where it is too small for one."""
    if min(image.size) < LEAST_SIDE:
        return None
    look = Look(Scene.of(load_vision(), image.rgb), image)
    reading = look.reading
    return Seen(
        score=round(reading.score, 3),
        level=ScoreFusion().map_to_level(reading.score),
        sort=_sort(look),
        generated=round(reading.generated, 3),
        findings=_findings(look),
    )


def _sort(look: Look) -> str:
    content, sorts = look.facts.content, look.reading.sorts
    likeliest = max(sorts, key=lambda name: sorts[name])
    if content != "photograph":
        # That it is no photograph was measured; which of the drawn sorts it is, the model tells.
        drawn = content in ("drawn", "page") and likeliest in _DRAWN_SORTS[content]
        return likeliest if drawn else _OTHERWISE[content]
    return "generated" if look.reading.generated > 0.5 and likeliest != "screen" else likeliest


def _findings(look: Look) -> Findings:
    reading, found = look.reading, {}
    for category, name in _BY_CATEGORY.items():
        severity = look.severity_name(category)
        if SEVERITIES.index(severity) >= COUNTS_FROM:
            found[name] = f"{category.lower()}: {severity}"
    for flaw, name in _BY_FLAW.items():
        # Facts may have ruled out the category since.
        chance = min(reading.flaws[flaw], reading.presence(look.scene.vision.flaws[flaw]))
        if chance > FLAW_IS_THERE:
            found[name] = f"seen with a chance of {chance:.0%}"
    if reading.score < POOR:
        found["poor"] = f"score {reading.score:.1f} of 5"
    return found
