"""How long commands take from nothing, beside an import that nobody can do without.

    python benchmarks/speed/startup.py [--repeats 5] [--python PYTHON]

Each command runs in a process of its own; the peer is ``python -c "import numpy, langgraph"``, run in turn with them.
Printed are medians of the time by the clock and of the processor's time, and their ratios to the peer: on a machine
that does other things too, the latter is the steadier. Then what the reader of questions costs, ONNX Runtime with
it: memory and seconds of its first question in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "examples" / "pictures" / "dandelion.jpg"
PEER = "import numpy, langgraph"


READER = """
import time
from agenticiqa.embedded.question import understand
def resident():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024
before, started = resident(), time.perf_counter()
understand("Is the background blurry?")
print(resident() - before, time.perf_counter() - started)
"""


def commands(python: str) -> dict[str, list[str]]:
    own = str(Path(python).with_name("agenticiqa"))
    return {
        PEER: [python, "-c", PEER],
        "import langgraph.graph": [python, "-c", "import langgraph.graph"],
        "agenticiqa --help": [own, "--help"],
        "agenticiqa graph show": [own, "graph", "show"],
        "agenticiqa tools list": [own, "tools", "list"],
        "agenticiqa assess": [own, "assess", str(PICTURE), "--no-cache", "--quiet"],
        "agenticiqa assess -q blurry?": [own, "assess", str(PICTURE), "-q", "Is it blurry?", "--no-cache", "--quiet"],
    }


def measured(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--python", default=sys.executable, help="Interpreter of the installation to measure.")
    chosen = arguments.parse_args()
    environment = {**os.environ, "AGENTICIQA_HOME": tempfile.mkdtemp(prefix="agenticiqa-startup-")}
    # As users run it: Python keeps what it compiled.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    for command in commands(chosen.python).values():
        measured(command, environment)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands(chosen.python)}
    for _ in range(chosen.repeats):
        for name, command in commands(chosen.python).items():
            found[name].append(measured(command, environment))
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    clock, processor = medians[PEER]
    print(f"{'':32} {'clock':>8} {'ratio':>6}   {'processor':>9} {'ratio':>6}")
    for name, (wall, cpu) in medians.items():
        print(f"{name:32} {wall:6.2f} s {wall / clock:6.2f}   {cpu:7.2f} s {cpu / processor:6.2f}")
    costs = []
    for _ in range(chosen.repeats):
        told = subprocess.check_output([chosen.python, "-c", READER], env=environment, text=True)
        costs.append([float(value) for value in told.split()])
    memory, seconds = (statistics.median(column) for column in zip(*costs, strict=True))
    print(f"the reader of questions: {memory:.0f} MB, {seconds:.2f} s at its first question")


if __name__ == "__main__":
    main()
