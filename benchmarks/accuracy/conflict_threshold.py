"""How far apart may tools and model read? Behind ``HARDLY_OVERLAP`` in ``agenticiqa/score_fusion.py``.

    python benchmarks/accuracy/conflict_threshold.py [DATA] [--pictures N] [--embedded] [--json FILE]

First, without any picture: at which overlap a letter that moves away from the tools no longer moves the fused score
with it. Then, with DATA (a folder with ``biq2021/``, ``csiq/`` and ``real_flaws/``, laid out as training/README.md
says): how often a letter would count as a contradiction, by how many levels it is off from what people said of the
picture. The tool is the one that a run chooses first. With ``--embedded`` every second picture of CSIQ is assessed with
its reference by the embedded model: how far its own level probabilities overlap with the tools.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from agenticiqa import AgenticIQA, measure
from agenticiqa.score_fusion import HARDLY_OVERLAP, ScoreFusion
from agenticiqa.vocabulary import LEVEL_LETTERS

FUSION = ScoreFusion()
LEVELS = FUSION.quality_levels
OTHER_THRESHOLDS = (0.01, 0.02, HARDLY_OVERLAP, 0.05, 0.1)


@dataclass(frozen=True)
class Rated:
    """A picture and what people said of it, 1 (bad) to 5 (excellent)."""

    image: Path
    opinion: float
    tool: str
    reference: Path | None = None

    @property
    def level(self) -> int:
        return min(LEVELS[-1], max(LEVELS[0], round(self.opinion)))


def turn() -> tuple[float, float]:
    """The largest overlap of a letter that the score turns back from, and the smallest of one that it follows."""
    turned, followed = 0.0, 1.0
    for step in range(81):
        mean = 1 + step * 0.05
        scores = {level: _fused(mean, level) for level in LEVELS}
        for level in LEVELS:
            between = [each for each in LEVELS if level < each <= mean or mean <= each < level]
            overlap = FUSION.overlap([mean], {level: 1.0})
            if any(abs(scores[each] - mean) > abs(scores[level] - mean) for each in between):
                turned = max(turned, overlap)
            else:
                followed = min(followed, overlap)
    return turned, followed


def _fused(mean: float, level: int) -> float:
    return FUSION.fuse_scores([mean], FUSION.extract_vlm_probabilities(LEVEL_LETTERS[level]))


def collections(data: Path) -> dict[str, list[Rated]]:
    return {
        "BIQ2021": [
            Rated(data / "biq2021" / row["image"], 1 + 4 * float(row["mos_0_to_1"]), "AIQA_NR")
            for row in _rows(data / "biq2021" / "scores.csv")
        ],
        "FLIVE": [
            Rated(data / "real_flaws" / row["image"], 1 + 4 * float(row["mos"]) / 100, "AIQA_NR")
            for row in _rows(data / "real_flaws" / "labels.csv")
            if row["image"].startswith("ordinary/") and row["mos"]
        ],
        "CSIQ": [
            Rated(
                data / "csiq" / row["image"],
                5 - 4 * float(row["dmos_0_to_1"]),
                "AIQA_FR",
                data / "csiq" / row["reference"],
            )
            for row in _rows(data / "csiq" / "scores.csv")
        ],
    }


def _rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(newline="") as stream:
        yield from csv.DictReader(stream)


def overlaps(pictures: list[Rated]) -> dict[int, list[float]]:
    """By how many levels a letter is off from the opinion: its overlap with what the tool measured."""
    found: dict[int, list[float]] = {}
    for each in pictures:
        (record,) = measure(each.image, reference=each.reference, tools=[each.tool])
        if record.calibrated is None:
            raise SystemExit(f"{each.image}: {record.error}")
        for level in LEVELS:
            off = abs(level - each.level)
            found.setdefault(min(off, 3), []).append(FUSION.overlap([record.calibrated], {level: 1.0}))
    return found


def embedded_overlaps(pictures: list[Rated]) -> list[float]:
    """Of whole runs, the least first."""
    with AgenticIQA("embedded", record=False) as assessor:
        results = [assessor.assess(each.image, reference=each.reference).summarizer_result for each in pictures]
    return sorted(result.used_evidence["fusion"]["overlap"] for result in results if result and result.used_evidence)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--pictures", type=int, default=300, help="at most so many of each collection")
    parser.add_argument("--embedded", action="store_true")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    turned, followed = turn()
    print(f"the score turns back from letters up to {turned:.4f} and follows letters from {followed:.4f} on")
    report: dict[str, object] = {"turned": turned, "followed": followed, "threshold": HARDLY_OVERLAP}
    for name, pictures in collections(arguments.data).items() if arguments.data else ():
        chosen = random.Random(0).sample(pictures, min(arguments.pictures, len(pictures)))
        by_offset = overlaps(chosen)
        flagged = report[name] = {
            threshold: {off: sum(x < threshold for x in found) / len(found) for off, found in sorted(by_offset.items())}
            for threshold in OTHER_THRESHOLDS
        }
        print(
            f"\n{name}, {len(chosen)} pictures: letters that count as a contradiction, by levels off (3: three or four)"
        )
        for threshold, shares in flagged.items():
            print(f"  below {threshold:<5}", "  ".join(f"{off} off {share:6.1%}" for off, share in shares.items()))
    if arguments.data and arguments.embedded:
        found = embedded_overlaps(collections(arguments.data)["CSIQ"][::2])
        report["embedded"] = found
        print(f"\nembedded, {len(found)} pictures of CSIQ: overlap at least {found[0]:.2f}, median {median(found):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
