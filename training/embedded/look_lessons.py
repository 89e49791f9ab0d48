"""What a cheaper content network learns from: views of whole pictures, as they are and damaged, packed in tar files.

    python -m training.embedded.look_lessons --more MORE --data SHARED --out FOLDER [--per-file 5200] [--rounds 1]

``MORE`` holds voc/, biq/, coco/ and generated/ as they are laid out, ``SHARED`` photos/ and real_flaws/. ``FOLDER``
gets views*.tar for ``distil`` and ``quicken``: pictures of 280×280 pixels, named "t…" to learn from, "e…" to ask about,
and pictures.tar for ``quicken``: some of the same pictures at their own size.
No picture that ``compare_looks`` measures is among them (:func:`measured`, :func:`fresh`), nor any that may only be
measured on.
"""

from __future__ import annotations

import argparse
import io
import json
import tarfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from pathlib import Path

import numpy as np
from PIL import Image
from training.distortions import PROTOCOL
from training.embedded import splits
from training.embedded.extra_damage import EXTRA_DAMAGE
from training.embedded.further_damage import FURTHER_DAMAGE
from training.embedded.network import CELL, VIEW
from training.embedded.opinions import ratings
from training.embedded.see_copies import COPIES, made, seed_of

LEARNT_ONE_OF = {"voc": 2, "biq": 2, "coco": 3, "generated": 1}
"""Which share of a collection's pictures version 2.7 learnt from."""
MEASURED_ONE_OF = {"voc": 26, "biq": 26, "coco": 14, "generated": 4}
FRESH_ONE_OF = 8
"""Of the pictures that version 2.7 neither learnt from nor was measured on, one of so many is kept for a last look."""
DAMAGES_OF_PHOTO, DAMAGED_ONE_OF_VOC, DAMAGES_OF_VOC = 8, 2, 2
ASKED_ABOUT = 40
"""One of so many views is kept to ask how close a student came."""
PICTURES = 64
"""So many stand for all where the ranges of values are measured."""
FLAWS_LEARNT = ("motion", "dark", "weather", "sort", "generated", "defocus")


def measured(more: Path, data: Path) -> list[str]:
    """Rated pictures that no look learns from: a share of each collection, BIQ2021's kept ones, CSIQ, out of focus."""
    parts = splits.load()["opinions"]
    kept = {f"biq/{name}" for part in ("test", "validation") for name in parts[part]}
    plain = {name: name.replace("(", "").replace(")", "") for name in ratings(more, data)}
    return sorted(
        name for name in plain
        if plain[name] in kept
        or seed_of(f"look{name}") % MEASURED_ONE_OF.get(name.partition("/")[0], 1) == 0
    )  # fmt: skip


def fresh(more: Path, data: Path, turns: tuple[int, ...] = (2,)) -> list[str]:
    """Rated pictures that no look learnt from or was chosen by; turns 0 and 1 were so for versions 2.8 and 2.9."""
    shares, others = LEARNT_ONE_OF, set(measured(more, data))
    return sorted(
        name for name in ratings(more, data)
        if (collection := name.partition("/")[0]) in shares and name not in others
        and seed_of(f"learn{name}") % shares[collection] and seed_of(f"fresh{name}") % FRESH_ONE_OF in turns
    )  # fmt: skip


def lessons(more: Path, data: Path, rounds: int = 1) -> list[tuple[str, str]]:
    """(path, operation) of every view; each round after the first damages photographs and scenes once more."""
    left_out = {*measured(more, data), *fresh(more, data, (0, 1, 2))}
    rated = [name for name in ratings(more, data) if name.partition("/")[0] in LEARNT_ONE_OF and name not in left_out]
    plain = [str(more / name) for name in rated]
    photos = [str(data / "photos" / name) for name in splits.load()["photos"]["train"]]
    parts = json.loads(Path(__file__).with_name("flaw_splits.json").read_text())
    flaws = [str(data / "real_flaws" / name) for name in parts["train"]
             if name.startswith(FLAWS_LEARNT) and f"real_flaws/{name}" not in left_out]  # fmt: skip
    scenes = [[str(more / name) for name in rated
               if name.startswith("voc/") and (seed_of(f"spoil{name}") + again) % DAMAGED_ONE_OF_VOC == 0]
              for again in range(rounds)]  # fmt: skip
    kinds = [*COPIES, *(f"{kind}:{level}" for level in range(1, 6)
                        for kind in (*(each.name for each in PROTOCOL), *EXTRA_DAMAGE, *FURTHER_DAMAGE))]  # fmt: skip
    found = [(name, "") for name in (*plain, *photos, *flaws)]
    ordered = []
    for again in range(rounds):
        own = chain(((one, DAMAGES_OF_PHOTO) for one in photos), ((one, DAMAGES_OF_VOC) for one in scenes[again]))
        for name, count in own:
            rng = np.random.default_rng(seed_of(f"again{again or ''}{name}"))
            found += [(name, kinds[each]) for each in rng.choice(len(kinds), count, replace=False)]
        ordered += [found[each] for each in np.random.default_rng(again).permutation(len(found))]
        found = []
    return ordered


def picture_of(lesson: tuple[str, str]) -> Image.Image:
    name, operation = lesson
    with Image.open(name) as opened:
        return made(opened.convert("RGB"), operation, seed_of(Path(name).name + operation))


def view_of(lesson: tuple[str, str]) -> bytes:
    kept = io.BytesIO()
    view = picture_of(lesson).resize((VIEW, VIEW), Image.Resampling.BILINEAR)
    view.save(kept, "WEBP", quality=78, method=2)
    return kept.getvalue()


def whole_cells_of(lesson: tuple[str, str]) -> bytes:
    image, kept = picture_of(lesson), io.BytesIO()
    image.crop((0, 0, image.width // CELL * CELL, image.height // CELL * CELL)).save(kept, "PNG")
    return kept.getvalue()


def pack(file: Path, entries: Iterable[tuple[str, bytes]]) -> None:
    with tarfile.open(file, "w") as packed:
        for name, data in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            packed.addfile(entry, io.BytesIO(data))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--more", "--data", "--out"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--per-file", type=int, default=5200, help="views of a tar file")
    parser.add_argument("--rounds", type=int, default=1, help="how often photographs and scenes are damaged anew")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    wanted = lessons(given.more, given.data, given.rounds)
    print(f"{len(wanted)} views, {sum(bool(each[1]) for each in wanted)} of them damaged", flush=True)
    pack(
        given.out / "pictures.tar",
        ((f"t{n:02d}.png", whole_cells_of(each)) for n, each in enumerate(wanted[:PICTURES])),
    )
    with ProcessPoolExecutor() as workers:
        for part, start in enumerate(range(0, len(wanted), given.per_file)):
            views = workers.map(view_of, wanted[start : start + given.per_file], chunksize=32)
            named = ((f"{'te'[n % ASKED_ABOUT == 0]}{n:05d}.webp", view) for n, view in enumerate(views, start))
            pack(given.out / f"views{part:02d}.tar", named)
            print(f"{min(len(wanted), start + given.per_file)} packed", flush=True)


if __name__ == "__main__":
    main()
