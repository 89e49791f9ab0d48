"""How often questions about the subject and the background are answered rightly, with and without locating them.

    python -m training.embedded.region_accuracy --data DATA [--part test] [--photographs 10]

The subject or the background of each photograph is blurred or made noisy; what stands out in the untouched photograph
says which pixels those are. Asked about the background of a picture whose subject was blurred, the answer is not known
(the photograph's own background may be soft): those are left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from training.distortions import distort
from training.embedded import splits
from training.embedded.choice_accuracy import wilson

from agenticiqa.embedded.answering.yes_no import said_of
from agenticiqa.embedded.looking import Look, Looker
from agenticiqa.embedded.parts import parse_part
from agenticiqa.embedded.places import STANDS_OUT, locate
from agenticiqa.embedded.question import understand
from agenticiqa.pictures.images import LoadedImage, decode_image, png_bytes
from agenticiqa.vision.locators import load_locators
from agenticiqa.vision.network import load_vision

DAMAGE = (("gaussian_blur", 4, "blurry"), ("white_noise", 4, "noisy"))
PARTS = ("subject", "background")
USABLE = (0.08, 0.6)


@dataclass(frozen=True)
class Case:
    """One picture and one question about it."""

    image: LoadedImage
    word: str
    damaged: str
    asked: str

    @property
    def known(self) -> bool:
        return not (self.word == "blurry" and self.damaged == "subject" and self.asked == "background")

    @property
    def truth(self) -> bool:
        return self.damaged == self.asked


def cases_of(path: Path) -> Iterator[Case]:
    with Image.open(path) as opened:
        rgb = np.asarray(opened.convert("RGB"))
    inside = load_locators().saliency(rgb) >= STANDS_OUT
    if not USABLE[0] <= inside.mean() <= USABLE[1]:
        return
    soft = cv2.GaussianBlur(inside.astype(np.float32), (0, 0), 2)[..., None]
    for kind, level, word in DAMAGE:
        worse = distort(rgb, kind, level).astype(np.float32)
        for damaged in PARTS:
            share = soft if damaged == "subject" else 1 - soft
            mixed = np.asarray(np.rint(worse * share + rgb * (1 - share)), np.uint8)
            image = decode_image(png_bytes(Image.fromarray(mixed)))
            yield from (case for asked in PARTS if (case := Case(image, word, damaged, asked)).known)


def says_yes(asked: str, word: str, look: Look) -> bool:
    return said_of(understand(f"Is the {asked} {word}?").meaning, look)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--part", choices=("test", "validation"), default="test")
    parser.add_argument("--photographs", type=int, default=10)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    names = np.random.default_rng(1).permutation(splits.load()["photos"][arguments.part])
    looker, used = Looker(load_vision()), 0
    rows: list[dict[str, object]] = []
    for name in names:
        cases = list(cases_of(arguments.data / "photos" / str(name)))
        for case in cases:
            place = locate(parse_part(case.asked), case.image)
            whole, part = looker.look(case.image), looker.look(case.image, place.box)
            right = {
                way: says_yes(case.asked, case.word, look) == case.truth
                for way, look in (("whole", whole), ("located", part))
            }
            rows.append({"word": case.word, "damaged": case.damaged, "asked": case.asked, **right,
                         "found": place.box is not None, "photograph": str(name)})  # fmt: skip
        used += bool(cases)
        if used >= arguments.photographs:
            break
    print(f"{used} photographs, {len(rows)} questions, subject or background found in "
          f"{sum(bool(row['found']) for row in rows)}")  # fmt: skip
    groups = sorted({(str(row["word"]), str(row["damaged"]), str(row["asked"])) for row in rows})
    for group in [*groups, None]:
        own = [row for row in rows if group is None or (row["word"], row["damaged"], row["asked"]) == group]
        title = "all" if group is None else f"{group[1]} made {group[0]}, asked of the {group[2]}"
        line = [title]
        for way in ("whole", "located"):
            right = sum(bool(row[way]) for row in own)
            low, high = wilson(right, len(own))
            line.append(f"{way} {right}/{len(own)} = {right / len(own):.0%} ({low:.0%} – {high:.0%})")
        print(", ".join(line), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
