"""The demonstration: what works on this machine, what the tools measure, and an answer where a model is at hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PICTURES = Path(__file__).parent / "pictures"
OUTPUT = Path("demo-output")


def agenticiqa(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the installed command and show what it says."""
    program = Path(sys.executable).with_name("agenticiqa")
    print(f"\n$ agenticiqa {' '.join(arguments)}", flush=True)
    return subprocess.run([program, *arguments], check=False, text=True)


def main() -> None:
    OUTPUT.mkdir(exist_ok=True)
    damaged, original = str(PICTURES / "dandelion_compressed.jpg"), str(PICTURES / "dandelion.jpg")
    agenticiqa("doctor")
    agenticiqa("measure", damaged, "--reference", original)
    agenticiqa("assess", damaged, "--reference", original)


if __name__ == "__main__":
    main()
