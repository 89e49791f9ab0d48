"""Folders as photographers have them: copies, versions, series, and what went wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

from PIL import Image, ImageEnhance, ImageFilter

from support.pictures import scene

PHOTOGRAPHS = Path(__file__).parents[1] / "data" / "photographs"


def photograph(name: str) -> Image.Image:
    return Image.open(PHOTOGRAPHS / f"{name}.webp").convert("RGB")


def with_time(path: Path, picture: Image.Image, taken: str, part: str = "") -> Path:
    exif = Image.Exif()
    block = exif.get_ifd(0x8769)
    block[0x9003] = taken
    if part:
        block[0x9291] = part
    picture.save(path, quality=92, exif=exif)
    return path


def moved(picture: Image.Image, right: int, down: int, degrees: float = 0.0) -> Image.Image:
    """The same scene from a hand that moved, within the frame."""
    turned = picture.rotate(degrees, Image.Resampling.BICUBIC)
    return turned.crop((12 + right, 12 + down, picture.width - 12 + right, picture.height - 12 + down))


def make_shoot(folder: Path) -> Path:
    """Three photographs, with what an audit should find in a folder of them."""
    folder.mkdir(parents=True)
    astronaut, cat, coffee = map(photograph, ("astronaut", "cat", "coffee"))
    astronaut.save(folder / "astronaut.png")
    # The same pixels in another file.
    astronaut.save(folder / "astronaut (1).bmp")
    cat.save(folder / "cat.png")
    cropped = cat.crop((7, 5, cat.width - 6, cat.height - 7))
    ImageEnhance.Brightness(cropped).enhance(1.15).resize((200, 176)).save(folder / "cat_small.jpg", quality=70)
    for number, (right, down, blur) in enumerate(((0, 0, 1.6), (4, -3, 0), (-5, 4, 1.0))):
        shot = moved(coffee, right, down, 0.5 * number).filter(ImageFilter.GaussianBlur(blur))
        with_time(folder / f"coffee_{number}.jpg", shot, "2024:05:01 10:00:02", part=f"{number * 3}00")
    Image.new("RGB", (200, 150), (90, 90, 90)).save(folder / "blank.png")
    (folder / "broken.jpg").write_bytes((folder / "coffee_0.jpg").read_bytes()[:900])
    (folder / "notes.txt").write_text("no picture")
    shutil.copy(folder / "cat.png", folder / "cat_named.jpg")
    Image.fromarray(scene(60, 400)).convert("L").save(folder / "strip.png")
    return folder
