"""Writes the ``agreement`` lines of the tool catalogue and the table of docs/measuring/tools.md.

``PYTHONPATH=. python training/tool_agreement.py PHOTOGRAPHS [COUNT]`` applies the KADID-10k protocol to some
photographs of a folder (512×384 pixels) and prints, for every calibrated native tool, the Spearman correlation of its
values with the protocol's mean opinions: over all pictures and by category.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import cv2
import numpy as np
from scipy.stats import spearmanr
from training.distortions import LEVELS, PROTOCOL, distort, expected_opinion

from agenticiqa.tools.metrics import Views
from agenticiqa.tools.registry import OVERALL, Tool, default_registry
from agenticiqa.vocabulary import CATEGORIES

WIDTH, HEIGHT = 512, 384


def photograph(path: Path) -> np.ndarray:
    """The upper left of the picture, scaled to fill 512×384."""
    picture = cv2.imread(str(path))
    height, width = picture.shape[:2]
    scale = max(WIDTH / width, HEIGHT / height)
    size = (round(width * scale) + 1, round(height * scale) + 1)
    return cv2.resize(picture, size, interpolation=cv2.INTER_AREA)[:HEIGHT, :WIDTH, ::-1].copy()


def rows(paths: list[Path], tools: list[Tool]) -> list[dict[str, object]]:
    found = []
    for seed, path in enumerate(paths):
        reference = photograph(path)
        for kind in PROTOCOL:
            for level in LEVELS:
                test = np.ascontiguousarray(distort(reference, kind.name, level, seed=seed))
                pair, alone = Views(test, reference), Views(test)
                values = {
                    tool.name: tool.metric.measure(pair if tool.needs_reference else alone).value for tool in tools
                }
                found.append({"category": kind.category, "opinion": expected_opinion(kind.name, level), **values})
        print(path.name, file=sys.stderr, flush=True)
    return found


def agreement(found: list[dict[str, object]], tool: Tool) -> dict[str, float]:
    sign = 1 if tool.spec.higher_is_better else -1
    grouped = defaultdict(list)
    for row in found:
        for category in (OVERALL, row["category"]):
            grouped[category].append((sign * row[tool.name], row["opinion"]))
    ordered = [OVERALL, *(category for category in CATEGORIES if category in grouped)]
    return {category: float(spearmanr(*zip(*grouped[category], strict=True)).statistic) for category in ordered}


def main(folder: Path, count: int) -> None:
    paths = sorted(folder.glob("*.jpg"))
    paths = paths[:: max(1, len(paths) // count)][:count]
    tools = [tool for tool in default_registry().all() if tool.calibration and tool.spec.higher_is_better is not None]
    found = rows(paths, tools)
    table = {tool.name: agreement(found, tool) for tool in tools}
    print(f"# {len(found)} pictures")
    for name, values in table.items():
        print(f"{name}: {{{', '.join(f'{category}: {value:.2f}' for category, value in values.items())}}}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 5)
