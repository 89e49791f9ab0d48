"""Status ``ok`` means that what was asked was read: counted by the benchmark over all questions of the tests."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def benchmark():
    spec = spec_from_file_location("answers_benchmark", ROOT / "benchmarks" / "accuracy" / "answers.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.hard
def test_hardly_an_answer_is_certain_without_a_reading_of_what_was_asked():
    counting = benchmark()
    count = counting.over_made_readings(counting.questions([]), 2)
    assert count["answers"] > 2000
    assert count["ok"] > 500
    assert count["violations"] / count["answers"] < 0.005
