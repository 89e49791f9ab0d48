"""Where the picture pairs are found; two files here are scripts that hold no tests."""

import sys
from pathlib import Path

# pytest imports tests by path (importlib mode), which puts no folder on sys.path.
sys.path.insert(0, str(Path(__file__).parent))

collect_ignore = ["make_reference_values.py", "compare.py"]
