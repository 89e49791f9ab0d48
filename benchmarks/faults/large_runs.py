"""The server's memory over many runs of large pictures: whether it levels off.

    python benchmarks/faults/large_runs.py [--runs 50] [--memory 8G] [--command PATH]

Each run asks about another picture of 47 megapixels. Prints the memory of the server with its workers, in megabytes,
after each run, and the largest of the second half beside the largest of the first, as JSON.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from pathlib import Path

import httpx
import numpy as np
from PIL import Image
from service_abuse import Server

SIDE, TILES = 64, (92, 125)


def large_picture(number: int) -> bytes:
    noise = np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(np.tile(noise, (*TILES, 1))).save(buffer, "JPEG", quality=70)
    return buffer.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--memory", help="the server's budget, such as 8G; its default where none is given")
    parser.add_argument("--command", type=Path, default=Path(sys.executable).with_name("agenticiqa"))
    arguments = parser.parse_args()
    megabytes = []
    options = ["--timeout", "300", *(["--memory", arguments.memory] if arguments.memory else [])]
    with Server(arguments.command, options, None) as server:
        headers = {"Authorization": f"Bearer {server.keys['honest']}"}
        with httpx.Client(base_url=server.url, headers=headers, timeout=400) as client:
            for number in range(arguments.runs):
                reply = client.post("/v1/assess", files={"image": ("large.jpg", large_picture(number))})
                reply.raise_for_status()
                megabytes.append(server.resident() // 2**20)
                print(f"run {number + 1}: {megabytes[-1]} MB", file=sys.stderr, flush=True)
    half = len(megabytes) // 2
    print(json.dumps({"megabytes": megabytes, "largest by halves": [max(megabytes[:half]), max(megabytes[half:])]}))


if __name__ == "__main__":
    main()
