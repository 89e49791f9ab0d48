"""What the file says of itself: format, compression, and the settings that the camera wrote."""

from __future__ import annotations

from agenticiqa.models.offline.looking import Look
from agenticiqa.models.offline.readings.told import Told, reader
from agenticiqa.pictures.camera_settings import CameraSettings, camera_settings
from agenticiqa.pictures.images import LoadedImage
from agenticiqa.tools.metrics import MetricInputError
from agenticiqa.tools.metrics.jpeg_quality import jpeg_quality_of_file

LOSSY = frozenset({"JPEG", "MPO", "HEIF", "AVIF"})
LOSSLESS = frozenset({"PNG", "BMP", "GIF", "PPM", "TGA"})


def jpeg_quality(image: LoadedImage) -> float | None:
    """The encoder's setting by the file's tables; None where it is no JPEG file."""
    if image.format not in ("JPEG", "MPO"):
        return None
    try:
        return jpeg_quality_of_file(image.data)
    except MetricInputError:
        return None


@reader("file_format")
def file_format(look: Look) -> Told:
    """Format, size and, of a JPEG file, the quality it was saved with."""
    image = look.image
    quality = jpeg_quality(image)
    saved = f", saved at JPEG quality {quality:.0f}" if quality is not None else ""
    depth = ", 16 bits per sample" if image.precise is not None else ""
    numbers: dict[str, float | str] = {"format": image.format, "bytes": len(image.data)}
    if quality is not None:
        numbers["jpeg_quality"] = quality
    values = {name: float(image.format == name.upper()) for name in ("jpeg", "png", "webp", "tiff", "gif")}
    return Told(
        f"{image.format} file of {_size(len(image.data))}{saved}{depth}.",
        values=values | {"lossless": float(image.format in LOSSLESS), "lossy": float(image.format in LOSSY)},
        numbers=numbers,
    )


def _size(count: int) -> str:
    """
    >>> _size(900), _size(25_300), _size(4_200_000)
    ('900 bytes', '25 kB', '4.2 MB')
    """
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"


@reader("camera_settings")
def settings(look: Look) -> Told | None:
    """Exposure time, aperture, sensitivity, lens, camera and date by the file's EXIF; None where it holds none."""
    found = camera_settings(look.image.data)
    if not found.known:
        return None
    said = _said(found)
    return Told(f"{', '.join(said.values())} (by the file's EXIF).", numbers=dict(said))


def _said(found: CameraSettings) -> dict[str, str]:
    every = {
        "exposure_time": found.shutter,
        "aperture": f"f/{found.aperture:.1f}" if found.aperture else None,
        "iso": f"ISO {found.iso}" if found.iso else None,
        "focal_length": f"{found.focal_mm:.0f} mm" if found.focal_mm else None,
        "lens": found.lens,
        "camera": found.camera,
        "date": found.taken,
    }
    return {name: text for name, text in every.items() if text}
