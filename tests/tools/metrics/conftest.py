from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

# pytest imports tests by path (importlib mode), which puts no folder on sys.path.
sys.path.insert(0, str(Path(__file__).parent))

from pictures import scene


@pytest.fixture(scope="session")
def picture() -> np.ndarray:
    return scene(192, 256)
