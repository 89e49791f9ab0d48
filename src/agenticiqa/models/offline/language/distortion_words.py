"""The words for what can be wrong with a picture: category, finer kind, and whether the word praises or complains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agenticiqa.models.offline.language.tokens import plain_spelling

Polarity = Literal["bad", "good", "neutral"]
"""``bad`` names damage ("blurry"), ``good`` its absence ("sharp"), ``neutral`` an attribute ("exposure")."""


@dataclass(frozen=True)
class DistortionTerm:
    """What one word or phrase says about a picture's quality."""

    category: str
    kind: str
    polarity: Polarity


# category, kind, polarity, words. Phrases in quotes of their own; comparatives and plurals are formed further down.
_TABLE: tuple[tuple[str, str, Polarity, str], ...] = (
    ("Blurs", "blur", "bad", "blur, blurry, blurred, blurring, blurriness, blurrily, smeared, smeary, smudged, smudgy, "
     "fuzzy, fuzziness, gaussian blur, blur level, smoothed, over smoothed, oversmoothed"),
    ("Blurs", "softness", "bad", "soft, softness, too soft"),
    ("Blurs", "defocus", "bad", "defocus, defocused, defocus blur, out of focus, unfocused, misfocused, not in focus, "
     "lens blur, out of focus blur, off focus, front focused, back focused, misfocus, focus error"),
    ("Blurs", "defocus", "neutral", "focus, focusing, autofocus, depth of field, bokeh"),
    ("Blurs", "defocus", "good", "in focus, well focused, focused, properly focused, correctly focused"),
    ("Blurs", "motion blur", "bad", "motion blur, motion blurred, motion blurry, camera shake, shaky, shaken, "
     "handshake, hand shake, ghosting, motion smear, movement blur, double image, panning blur"),
    ("Color distortions", "color", "neutral", "color, colors, coloring, coloration, color fidelity, hue, hues, tone, "
     "color tone, color tones, color reproduction, skin tone, skin tones, color accuracy, color rendition"),
    ("Color distortions", "color", "bad", "color distortion, color distortions, color distorted, off color, "
     "discolored, discoloration, unnatural colors, wrong colors, color error"),
    ("Color distortions", "saturation", "neutral", "saturation, saturated, color saturation, vividness, vibrance, "
     "chroma, colorfulness"),
    ("Color distortions", "oversaturation", "bad", "oversaturated, over saturated, oversaturation, over saturation, "
     "too saturated, garish, gaudy, too colorful, too vivid"),
    ("Color distortions", "undersaturation", "bad", "undersaturated, under saturated, undersaturation, desaturated, "
     "desaturation, under saturation, faded, fading, dull, dullness, drab, pale, colorless, muted, unsaturated"),
    ("Color distortions", "saturation", "good", "vivid, vibrant, colorful, rich colors, natural colors, lifelike"),
    ("Color distortions", "color cast", "bad", "color cast, color casts, tint, tinted, color shift, color shifts, "
     "yellowish, bluish, greenish, reddish, color shifted, green cast, blue cast, yellow cast, red cast, magenta cast, "
     "too warm, too cold, too cool, too yellow, too blue, too green, too red"),
    ("Color distortions", "white balance", "neutral", "white balance, white balanced, color balance, "
     "color temperature"),
    ("Color distortions", "chromatic aberration", "bad", "chromatic aberration, chromatic aberrations, color fringing, "
     "purple fringing, color fringes, fringing"),
    ("Color distortions", "color diffusion", "bad", "color diffusion, color bleeding, color bleed"),
    ("Color distortions", "color quantization", "bad", "color quantization, posterization, posterized"),
    ("Compression", "compression", "bad", "compression, compressed, compressing, overcompressed, over compressed, "
     "compression artifact, compression artifacts, compression noise, mosquito noise, overcompression, recompressed"),
    ("Compression", "jpeg", "bad", "jpeg, jpg, jpeg compression, jpg compression, jpeg artifact, jpeg artifacts, "
     "jpg artifacts, jpg artifact, jpeg noise"),
    ("Compression", "jpeg2000", "bad", "jpeg2000, jpeg 2000, jp2k, jpeg2000 compression, jpeg 2000 compression, jp2"),
    ("Compression", "blocking", "bad", "blocking, blocky, blockiness, blocking artifact, blocking artifacts, "
     "block artifact, block artifacts, macroblocking, block effect, blocking effect"),
    ("Compression", "ringing", "bad", "ringing, ringing artifact, ringing artifacts"),
    ("Compression", "banding", "bad", "banding, banded, color banding, banding artifact, banding artifacts, "
     "gradient banding, color bands"),
    ("Noise", "noise", "bad", "noise, noisy, noisiness, grain, grainy, graininess, film grain, iso noise, "
     "sensor noise, speckle, speckled, speckles, noise level, digital noise, image noise, grains, high iso, noises"),
    ("Noise", "white noise", "bad", "white noise, gaussian noise, additive noise, luminance noise"),
    ("Noise", "impulse noise", "bad", "impulse noise, salt and pepper noise, salt and pepper, salt pepper noise, "
     "impulsive noise, salt & pepper noise, salt & pepper"),
    ("Noise", "color noise", "bad", "color noise, chroma noise, chromatic noise, colored noise"),
    ("Noise", "multiplicative noise", "bad", "multiplicative noise, speckle noise"),
    ("Noise", "denoising", "bad", "denoising, denoised, denoising artifacts, noise reduction, over denoised"),
    ("Noise", "noise", "good", "noise free, noiseless, grain free"),
    ("Brightness change", "brightness", "neutral", "brightness, luminance, luminosity, brightness level, tonal range, "
     "highlights, brightness change"),
    ("Brightness change", "exposure", "neutral", "exposure, exposed, exposure level"),
    ("Brightness change", "lighting", "neutral", "lighting, illumination, light, lit, illuminated, lighting condition, "
     "lighting conditions, light condition, light conditions, soft light, soft lighting, lightness, lighted, "
     "natural light, light level"),
    ("Brightness change", "exposure", "good", "well exposed, well lit, properly exposed, correctly exposed, "
     "sufficiently lit, well illuminated, properly lit, good lighting, evenly lit, correct exposure"),
    ("Brightness change", "overexposure", "bad", "overexposure, over exposure, overexposed, over exposed, too bright, "
     "bright, blown out, blown, blown highlights, clipped highlights, burnt out, burned out, glaring, "
     "overly bright, over bright, overbright, overlit, brightened, dazzling, over lit"),
    ("Brightness change", "glare", "bad", "glare, lens flare, flare, light leak, light leaks, lens flares"),
    ("Brightness change", "underexposure", "bad", "underexposure, under exposure, underexposed, under exposed, dark, "
     "darkness, too dark, dim, dimness, low light, poorly lit, badly lit, dimly lit, crushed blacks, crushed shadows, "
     "overly dark, darkened, gloomy, backlit, backlight, backlighting, poor lighting, insufficient lighting, "
     "weak lighting, weak light, murky, insufficient light, low lighting, low brightness"),
    ("Brightness change", "vignetting", "bad", "vignetting, vignette, vignetted"),
    ("Sharpness", "sharpness", "good", "sharp, crisp, crispness, razor sharp, tack sharp, well defined, sharply"),
    ("Sharpness", "sharpness", "neutral", "sharpness, acutance"),
    ("Sharpness", "sharpness", "bad", "unsharp, unsharpness, lack of sharpness, insufficient sharpness"),
    ("Sharpness", "clarity", "neutral", "clarity, definition, legibility, readability, image clarity"),
    ("Sharpness", "clarity", "good", "clear, see clearly, seen clearly, clearly see, clearly seen, clearly visible, "
     "visible clearly, legible, readable, clear cut, crystal clear, recognizable, distinguishable"),
    ("Sharpness", "clarity", "bad", "unclear, indistinct, illegible, unreadable, ill defined, vague, not clear"),
    ("Sharpness", "detail", "neutral", "detail, details, texture, textures, fine detail, fine details, texture detail, "
     "texture details, resolution, level of detail, texture clarity"),
    ("Sharpness", "detail", "good", "detailed, rich details, high resolution, high res, rich texture"),
    ("Sharpness", "detail", "bad", "low resolution, low res, loss of detail, lack of detail, detail loss, "
     "loss of details, missing details, lost details, lost detail, texture loss"),
    ("Sharpness", "oversharpening", "bad", "oversharpened, over sharpened, oversharpening, over sharpening, "
     "sharpening, sharpened, too sharp, halo, halos, haloes, overshoot, sharpening artifacts, edge halos, "
     "oversharp, halo effect"),
    ("Contrast", "contrast", "neutral", "contrast, contrasts, contrast change, dynamic range, contrast level"),
    ("Contrast", "low contrast", "bad", "low contrast, flat, washed out, lack of contrast, insufficient contrast, "
     "poor contrast, weak contrast, contrast loss, milky"),
    ("Contrast", "haze", "bad", "haze, hazy, haziness, foggy, misty, smoggy, hazed"),
    ("Contrast", "high contrast", "bad", "too much contrast, harsh contrast, excessive contrast, high contrast"),
    ("Contrast", "contrast", "good", "contrasty, good contrast, enough contrast"),
    ("Spatial distortions", "pixelation", "bad", "pixelated, pixelation, pixelate, pixelating, pixely, mosaic, "
     "mosaic effect, upscaled, upscaling artifacts"),
    ("Spatial distortions", "aliasing", "bad", "aliasing, aliased, jagged, jaggies, jaggy, staircase, stair stepping, "
     "jagged edges, jaggedness, staircase effect"),
    ("Spatial distortions", "moire", "bad", "moire, moire pattern, moire patterns"),
    ("Spatial distortions", "geometric", "bad", "geometric distortion, warping, warped, barrel distortion, "
     "lens distortion, pincushion distortion, stretched, squeezed, spatial distortion, spatial distortions, "
     "perspective distortion, deformed, deformation, geometric distortions"),
    ("Spatial distortions", "jitter", "bad", "jitter, jittery, jittered"),
    ("Spatial distortions", "quantization", "bad", "quantization, quantized"),
    ("Spatial distortions", "color block", "bad", "color block, color blocks, missing blocks, block loss"),
    ("Spatial distortions", "patches", "bad", "patches, patchy, misplaced patches, noneccentricity patch, "
     "non eccentricity patch"),
    ("Spatial distortions", "damage", "bad", "scratch, scratches, scratched, dead pixels, hot pixels, glitch, "
     "glitches, tearing, interlacing"),
)  # fmt: skip

_COMPARED = [
    "blurry",
    "noisy",
    "grainy",
    "hazy",
    "soft",
    "dark",
    "dim",
    "bright",
    "sharp",
    "crisp",
    "clear",
    "dull",
    "blocky",
    "fuzzy",
    "foggy",
    "flat",
    "vivid",
]


def compared(adjective: str) -> tuple[str, str]:
    """Comparative and superlative of a short adjective.

    >>> compared("noisy"), compared("dim"), compared("sharp")
    (('noisier', 'noisiest'), ('dimmer', 'dimmest'), ('sharper', 'sharpest'))
    """
    stem = adjective[:-1] + "i" if adjective.endswith("y") else adjective.removesuffix("e")
    if adjective in ("dim", "flat", "big", "thin", "red", "hot", "wet"):
        stem += adjective[-1]
    return stem + "er", stem + "est"


def _terms() -> dict[str, DistortionTerm]:
    terms: dict[str, DistortionTerm] = {}
    for category, kind, polarity, words in _TABLE:
        for word in words.split(","):
            terms[plain_spelling(word.strip())] = DistortionTerm(category, kind, polarity)
    for adjective in _COMPARED:
        for form in compared(adjective):
            terms[form] = terms[adjective]
    return terms


DISTORTION_TERMS = _terms()
