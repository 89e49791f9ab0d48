"""Do answers, findings, numbers and the score tell one story? Counts pictures on which they do not.

    python -m training.embedded.contradictions --data DATA [--pictures 3000] [--workers N] [--out FILE]

Pictures of all collections, held out or not, in turn. Of each: the answers to one question per category, the finding,
the numbers cited with it, and what is said of a low score. What is checked is the text that users read.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path

import numpy as np

from agenticiqa.embedded.answering.yes_no import said_of
from agenticiqa.embedded.findings import LOW_SCORE, described, findings
from agenticiqa.embedded.looking import Look
from agenticiqa.embedded.question import Meaning, understand
from agenticiqa.pictures.images import load_image
from agenticiqa.vision.network import Vision
from agenticiqa.vision.scene import Scene
from agenticiqa.vocabulary import CATEGORIES

FOLDERS = ("photos", "biq2021", "csiq", *(f"real_flaws/{name}" for name in (
    "defocus", "motion", "dark", "exposure", "noise", "weather", "sort", "generated", "ordinary")))  # fmt: skip
OF_CATEGORY = {
    "Blurs": "Is the picture blurry?",
    "Noise": "Is the picture noisy?",
    "Compression": "Is the picture compressed?",
}
OF_KIND = {
    "Is there motion blur?": "Blurs",
    "Is the picture out of focus?": "Blurs",
    "Is the picture too dark?": "Brightness change",
    "Is the picture overexposed?": "Brightness change",
    "Is the picture hazy?": "Contrast",
}
# What a sound picture measures, read from the sentences: (pattern, lowest, highest).
NUMBERS = {
    "Blurs": (r"Edges are ([\d.]+) px", 0.0, 2.5),
    "Noise": (r"deviation of ([\d.]+) of 255", 0.0, 3.0),
    "Brightness change": (r"Mean brightness is ([\d.]+) of 255", 80.0, 170.0),
    "Contrast": (r"RMS contrast is ([\d.]+)", 0.12, 0.30),
    "Color distortions": (r"saturation is ([\d.]+) of 1", 0.12, 0.65),
}
NEARLY_BLACK, NEARLY_WHITE = 16.0, 239.0


@cache
def _vision() -> Vision:
    return Vision(threads=1)


def contradictions(look: Look) -> list[str]:
    """Everything on which two statements about one picture disagree."""
    found: list[str] = []
    seen = {category: look.severity_name(category) != "none" for category in CATEGORIES}
    for query, category in {**{query: name for name, query in OF_CATEGORY.items()}, **OF_KIND}.items():
        yes, said = said_of(_meaning(query), look)
        if yes and not seen[category] and "though nothing is broken" not in said:
            found.append(f"{query} yes, but no such finding")
        if not yes and seen[category] and query in OF_CATEGORY.values():
            found.append(f"{query} no, but there is such a finding")
    for category, (pattern, low, high) in NUMBERS.items():
        text = " ".join(described(category, look)[:1])
        number = re.search(pattern, text)
        # Sentences round: a number on the bound may lie on either side.
        outside = number is not None and not low - 0.05 <= float(number[1]) <= high + 0.05
        if outside and not seen[category] and ";" not in text.split(")")[-1]:
            found.append(f"{category}: none, and unexplained: {text}")
    mean = look.measures.value("brightness")
    if mean is not None and look.facts.content == "photograph":
        if mean < NEARLY_BLACK and not said_yes("Is the picture too dark?", look):
            found.append(f"not too dark at a mean brightness of {mean:.0f}")
        if mean > NEARLY_WHITE and not said_yes("Is the picture overexposed?", look):
            found.append(f"not overexposed at a mean brightness of {mean:.0f}")
    if look.reading.score < LOW_SCORE and not any(seen.values()) and "likeliest" not in " ".join(findings(look)):
        found.append("a low score without a finding or a likely cause")
    return found


def said_yes(query: str, look: Look) -> bool:
    return said_of(_meaning(query), look)[0]


@cache
def _meaning(query: str) -> Meaning:
    """The same few questions are put to thousands of pictures."""
    return understand(query).meaning


def of_picture(path: Path) -> list[str]:
    image = load_image(path)
    return contradictions(Look(Scene.of(_vision(), image.rgb), image))


def pictures(data: Path) -> Iterator[Path]:
    """One of each folder, then the next of each, and so on; masks are no pictures."""
    listed = [
        sorted(file for file in (data / folder).glob("*.*")
               if file.suffix in (".jpg", ".png", ".webp") and not file.name.endswith(".mask.png"))
        for folder in FOLDERS
    ]  # fmt: skip
    rng = np.random.default_rng(2026)
    mixed = [[files[index] for index in rng.permutation(len(files))] for files in listed]
    return (file for file in chain.from_iterable(zip_longest(*mixed)) if file is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=3000)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    listed = [file for file, _ in zip(pictures(arguments.data), range(arguments.pictures), strict=False)]
    counts: Counter[str] = Counter()
    wrong = 0
    with ProcessPoolExecutor(arguments.workers) as workers:
        results = workers.map(of_picture, listed, chunksize=4)
        for number, (file, found) in enumerate(zip(listed, results, strict=True), 1):
            wrong += bool(found)
            counts.update(re.sub(r"[\d.]+", "#", text) for text in found)
            for text in found:
                print(file, text, flush=True)
            if number % 200 == 0:
                print(f"{wrong} of {number} pictures contradict themselves", flush=True)
    result = {"pictures": len(listed), "contradict_themselves": wrong, "by_kind": dict(counts)}
    print(json.dumps(result))
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
