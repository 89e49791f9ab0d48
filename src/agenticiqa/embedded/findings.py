"""What is found in a picture, and the sentences that say so: the executor's work without a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import describe, reason
from agenticiqa.state import DistortionAnalysis, ExecutorOutput
from agenticiqa.vlm_client import OfferedTool, Selection
from agenticiqa.vocabulary import CATEGORIES, CATEGORY_WORDS, LEVEL_NAMES

# A slight one of these may be style: shallow focus, a grade, a low key.
POSSIBLY_INTENDED = ("Blurs", "Color distortions", "Brightness change", "Contrast")
MOST_FINDINGS = 3
LOW_SCORE = 3.0
"""Below this something must be wrong, even where nothing is found."""
CLEAR_SHARE = 0.5
"""A finer kind is named when it holds at least this share of what speaks for its category."""


def finding(category: str, look: Look) -> str:
    """What is wrong, in the words that people use: "Very blurry: its edges are soft."; "No visible noise."."""
    severity = look.severity_name(category)
    if severity == "none":
        return _SOUND.get(category, f"No visible {CATEGORY_WORDS[category]}.")
    title, share = look.scene.likeliest_kind(category, look.reading)
    phrase = _PHRASES.get(title or "", _PHRASES[category]) if share >= CLEAR_SHARE else _PHRASES[category]
    why = reason(category, look.measures, found=True)
    meant = ", perhaps on purpose" if severity == "slight" and category in POSSIBLY_INTENDED else ""
    strong = phrase.startswith("too ") and severity in ("severe", "extreme")
    words = f"{'far' if strong else _SEVERITY_ADVERBS[severity]} {phrase}".strip()
    return f"{words[0].upper()}{words[1:]}{meant}{f': {why}' if why else ''}."


_SOUND = {
    "Brightness change": "The exposure looks right.",
    "Contrast": "The contrast looks right.",
    "Color distortions": "The colours look right.",
}
_SEVERITY_ADVERBS = {"slight": "a little", "moderate": "", "severe": "very", "extreme": "extremely"}
# By category, and by the titles of its finer kinds and flaws.
_PHRASES = {
    "Blurs": "blurry", "Noise": "noisy", "Compression": "marked by compression", "Brightness change": "badly exposed",
    "Sharpness": "oversharpened", "Contrast": "off in contrast", "Color distortions": "off in its colours",
    "Spatial distortions": "damaged in places",
    "Motion blur": "blurred by motion or shake", "Missed focus": "out of focus", "Lens blur": "out of focus",
    "Underexposure": "too dark", "Too dark": "too dark", "Overexposure": "too bright", "Too bright": "too bright",
    "Haze": "hazy", "Low contrast": "flat", "Faded colours": "pale in its colours", "Garish colours": "garish",
    "Colour cast": "tinted", "Colour fringes": "fringed with colour", "Colour bleeding": "smeared in its colours",
    "JPEG compression": "marked by JPEG compression", "Pixelation": "pixelated", "Banding": "banded",
    "Fine grain": "grainy", "Colour noise": "noisy in colour", "Enlargement": "soft from enlarging",
    "Detail smoothed away by noise reduction": "smoothed too much",
}  # fmt: skip


def in_sentence(title: str) -> str:
    """A title in the middle of a sentence; names such as JPEG keep their capitals.

    >>> in_sentence("Motion blur"), in_sentence("JPEG compression"), in_sentence("WebP")
    ('motion blur', 'JPEG compression', 'WebP')
    """
    first = title.split(maxsplit=1)[0]
    return title if first[1:] != first[1:].lower() else title[0].lower() + title[1:]


def findings(look: Look) -> list[str]:
    """The worst things seen, or that nothing stands out."""
    visible = look.visible()[:MOST_FINDINGS]
    if visible:
        return [finding(category, look) for category in visible]
    if look.reading.score < LOW_SCORE:
        likeliest = max(CATEGORIES, key=look.reading.presence)
        cause = CATEGORY_WORDS[likeliest]
        return [f"No single fault stands out, yet it looks weak as a whole; {cause} is the likeliest cause."]
    return ["Nothing looks wrong."]


def measured_of(look: Look) -> tuple[str, ...]:
    """What was measured of the worst things seen; of a sound picture its edges and its grain."""
    categories = look.visible()[:MOST_FINDINGS] or ["Blurs", "Noise"]
    return tuple(text for category in categories for text in described(category, look)[:1])


def described(category: str, look: Look) -> list[str]:
    """What was measured for a category, told so that it agrees with whether the category was found."""
    return describe(category, look.measures, found=look.severity_name(category) != "none")


def level_sentence(look: Look) -> str:
    """The mean of the levels, which is what is fused, and the two likeliest levels."""
    probabilities = look.reading.level_probabilities
    mean = sum(level * chance for level, chance in probabilities.items())
    likeliest = sorted(probabilities, key=lambda level: -probabilities[level])[:2]
    chances = ", ".join(f"{LEVEL_NAMES[level].lower()} {probabilities[level]:.0%}" for level in likeliest)
    return f"{mean:.2f} of 5 ({chances})."


def level_word(look: Look) -> str:
    """The level on the whole, in a sentence."""
    mean = sum(level * chance for level, chance in look.reading.level_probabilities.items())
    return f"On the whole {LEVEL_NAMES[level_at(mean)].lower()}."


def level_at(score: float) -> int:
    """The level that a score falls on, halves upwards.

    >>> level_at(3.49), level_at(3.5), level_at(5.0)
    (3, 4, 5)
    """
    return min(5, max(1, int(score + 0.5)))


def tool_sentences(evidence: ExecutorOutput) -> list[str]:
    """What the tools measured, each tool once, in one sentence."""
    measured = {}
    for log in evidence.tool_logs:
        if log.calibrated_score is not None and log.raw_score is not None:
            where = "" if log.region is None else f" on {log.object}"
            same = abs(log.raw_score - log.calibrated_score) < 0.005
            raw = "" if same else f"{log.raw_score:.4g}, that is "
            measured[log.tool, where] = f"{log.tool}{where} {raw}{log.calibrated_score:.2f} of 5"
    return [f"Measured: {'; '.join(measured.values())}."] if measured else []


# --- The executor's work without a language model ---


@dataclass(frozen=True)
class Seen:
    """A look at an object, and a note where the object could not be found."""

    look: Look
    note: str | None = None
    guess: bool = False
    """Whether what was looked at is only perhaps the object."""
    assumed: bool = False
    """Whether it was taken for the object only because it stands out."""
    absent: bool = False
    """Whether the picture shows no such object, as far as can be told."""


Finder = Callable[[str], Seen]
"""From an object's name to a look at it."""


def judged(category: str, seen: Seen) -> DistortionAnalysis:
    known = category in seen.look.reading.severity
    return DistortionAnalysis.model_validate(
        {
            "type": category,
            "severity": seen.look.severity_name(category) if known else "none",
            "explanation": explanation(category, seen),
            "uncertain": not known,
        }
    )


def explanation(category: str, seen: Seen) -> str:
    """What was measured, the likeliest kind, and where it was looked for."""
    if category not in seen.look.reading.severity:
        return f"This backend does not measure {category!r}."
    found = seen.look.severity_name(category) != "none"
    sentences = [kind_sentence(category, seen.look), *describe(category, seen.look.measures, found=found)]
    if seen.note:
        sentences.append(f"{seen.note[0].upper()}{seen.note[1:]}.")
    return " ".join(sentence for sentence in sentences if sentence)


def kind_sentence(category: str, look: Look) -> str:
    """Names the finer kind where it is seen and likely."""
    if look.severity_name(category) == "none":
        return ""
    title, share = look.scene.likeliest_kind(category, look.reading)
    if title is None or share < CLEAR_SHARE:
        return ""
    return f"Most like {in_sentence(title)} ({share:.0%})."


def select(distortions: Mapping[str, Sequence[str]], tools: Sequence[OfferedTool], *, has_reference: bool) -> Selection:
    fitting = [tool for tool in tools if tool.needs_reference == has_reference] or tools
    return {name: {kind: best_tool(kind, fitting).name for kind in kinds} for name, kinds in distortions.items()}


def best_tool(kind: str, tools: Sequence[OfferedTool]) -> OfferedTool:
    """The first tool (they come best first) that is good at the distortion."""
    return next((tool for tool in tools if kind in tool.good_at), tools[0])
