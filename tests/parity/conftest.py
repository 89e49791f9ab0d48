"""Where the picture pairs are found; some files here are scripts that hold no tests."""

import sys
from pathlib import Path

import pytest

# pytest imports tests by path (importlib mode), which puts no folder on sys.path.
sys.path.insert(0, str(Path(__file__).parent))

collect_ignore = ["draw_pictures.py", "make_reference_values.py", "compare.py", "tiny_qwen.py"]


@pytest.fixture(scope="session")
def tiny_qwen(tmp_path_factory) -> Path:
    """A model folder as a user would name it in QWEN_MODEL."""
    from tiny_qwen import build_tiny_qwen

    return build_tiny_qwen(tmp_path_factory.mktemp("tiny-qwen"))
