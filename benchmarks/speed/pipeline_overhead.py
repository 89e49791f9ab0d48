"""What the graph costs on top of the calls it makes.

One pass is run with a model that takes 200 ms per call, and the very same calls (and tool runs) are made in a bare loop
in the same process. Printed: both medians and their ratio.

    python benchmarks/speed/pipeline_overhead.py --passes 10
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.pictures.images import load_image
from agenticiqa.runtime.config import load_settings
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.registry import default_registry
from agenticiqa.vlm_client import Images, VLMClient

CALL_SECONDS = 0.2
REPLIES: dict[str, Any] = {
    "You are a planner": {
        "query_type": "IQA",
        "query_scope": "Global",
        "distortion_source": "Inferred",
        "distortions": None,
        "reference_mode": "Full-Reference",
        "required_tool": None,
        "plan": {
            "distortion_detection": True,
            "distortion_analysis": True,
            "tool_selection": True,
            "tool_execution": True,
        },
    },
    "find the distortions": {"objects": [{"object": "Global", "types": ["Noise"]}]},
    "judge how badly": {
        "analysis": [{"object": "Global", "type": "Noise", "severity": "moderate", "explanation": "Grain."}]
    },
    "choose the one measuring tool": {"selection": [{"object": "Global", "distortion": "Noise", "tool": "SSIM"}]},
    "visual quality assessment assistant": {"final_answer": "C", "quality_reasoning": "Noise of moderate strength."},
}


class SlowModel(VLMClient):
    """Answers from a table after a fixed time."""

    backend = "bench.slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def generate(self, prompt: str, images: Images = None, **kwargs: Any) -> str:  # noqa: ARG002 - as every client is asked
        time.sleep(self.seconds)
        return next(json.dumps(reply) for words, reply in REPLIES.items() if words in prompt)


def make_pictures(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    clean = np.kron(rng.integers(0, 256, (48, 64, 3)), np.ones((8, 8, 1))).astype(np.uint8)
    noisy = np.clip(clean + rng.normal(0, 12, clean.shape), 0, 255).astype(np.uint8)
    paths = (folder / "test.png", folder / "reference.png")
    for path, pixels in zip(paths, (noisy, clean), strict=True):
        Image.fromarray(pixels).save(path)
    return paths


def bare_pass(model: SlowModel, test: Path, reference: Path) -> None:
    """The same decode, calls and measurement without graph, validation, accounts or record."""
    bench = ToolRunner(load_image(test), load_image(reference))
    model.generate("You are a planner")
    model.generate("find the distortions")
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(model.generate, ["judge how badly", "choose the one measuring tool"]))
    bench.run([ToolJob(default_registry().find("SSIM"))], max_workers=1, timeout_s=60)
    model.generate("visual quality assessment assistant")


def timed(action: Any, passes: int) -> float:
    times = []
    for _ in range(passes):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--passes", type=int, default=10)
    passes = parser.parse_args().passes
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        test, reference = make_pictures(folder)
        overrides = {
            "pipeline.cache.enabled": False,
            "pipeline.runs.database": folder / "runs.sqlite",
            "pipeline.logging.file": folder / "log.jsonl",
        }
        model = SlowModel(CALL_SECONDS)
        clients = dict.fromkeys(("planner", "executor", "summarizer"), model)
        with AgenticIQA(settings=load_settings(overrides=overrides), clients=clients) as assessor:

            def whole_pass() -> None:
                result = assessor.assess(test, reference=reference)
                if result.status != "ok":
                    raise SystemExit(f"the pass failed: {result.error}")

            whole_pass()
            bare_pass(model, test, reference)
            bare = timed(lambda: bare_pass(model, test, reference), passes)
            graph = timed(whole_pass, passes)
    print(f"bare loop      {bare * 1000:8.1f} ms")
    print(f"through graph  {graph * 1000:8.1f} ms")
    print(f"ratio          {graph / bare:8.3f}   (5 calls of {CALL_SECONDS * 1000:.0f} ms, median of {passes} passes)")


if __name__ == "__main__":
    main()
