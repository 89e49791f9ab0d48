"""What is found in a picture, and the sentences that say so: the executor's work without a language model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.measures import describe, reason, sentences
from agenticiqa.state import DistortionAnalysis, ExecutorOutput
from agenticiqa.vision.appearance.views import lightness, reduced
from agenticiqa.vision.scene import BLACK, GREY, WHITE
from agenticiqa.vlm_client import OfferedTool, Selection
from agenticiqa.vocabulary import CATEGORIES, CATEGORY_WORDS, LEVEL_NAMES

# A slight one of these may be style: shallow focus, a grade, a low key.
POSSIBLY_INTENDED = ("Blurs", "Color distortions", "Brightness change", "Contrast")
MOST_FINDINGS = 3
NOTHING = "Nothing looks wrong."
LOW_SCORE = 3.0
"""Below this something must be wrong, even where nothing is found."""
SIDE = 128
DARK_HALF, DARK_MOST, LIT = 0.1, 0.3, 0.5
"""Lightness that half and three quarters of a low-key picture stay below, and that its lightest fiftieth passes."""
CLEAR_SHARE = 0.5
"""A finer kind is named when it holds at least this share of what speaks for its category."""


def finding(category: str, look: Look) -> str:
    """What is wrong, in the words that people use: "Very blurry: its edges are soft."; "No visible noise."."""
    severity, words = look.severity_name(category), sentences()
    if severity == "none":
        return str(words["sound"].get(category, f"No visible {CATEGORY_WORDS[category]}."))
    title, share = look.scene.likeliest_kind(category, look.reading)
    phrases = words["phrases"]
    phrase = phrases.get(title or "", phrases[category]) if share >= CLEAR_SHARE else phrases[category]
    why = reason(category, look.measures, found=True)
    meant = ", perhaps on purpose" if severity == "slight" and category in POSSIBLY_INTENDED else ""
    strong = phrase.startswith("too ") and severity in ("severe", "extreme")
    said = f"{'far' if strong else words['adverbs'][severity]} {phrase}".strip()
    return f"{said[0].upper()}{said[1:]}{meant}{f': {why}' if why else ''}."


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
    return [NOTHING]


def styles(look: Look) -> list[str]:
    """What in a photograph's look is style and no damage: only where no damage of that kind is seen."""
    if look.box is not None or not look.is_photograph:
        return []
    seen, found = look.visible(), []
    if look.facts.colourfulness < GREY and BLACK < look.facts.brightness < WHITE:
        found.append("black and white")
    half, most, lightest = np.percentile(lightness(reduced(look.image.rgb, SIDE)), (50, 75, 98))
    if "Brightness change" not in seen and (half < DARK_HALF and most < DARK_MOST and lightest > LIT):
        found.append("mostly dark with lit parts, as at night or in a low key")
    if "Blurs" not in seen and look.has_shallow_depth:
        found.append("a shallow depth of field")
    return found


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
    """For each distortion the first tool (they come best first) that is good at it."""
    fitting = [tool for tool in tools if tool.needs_reference == has_reference] or tools
    return {
        name: {kind: next((tool for tool in fitting if kind in tool.good_at), fitting[0]).name for kind in kinds}
        for name, kinds in distortions.items()
    }
