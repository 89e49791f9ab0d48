"""Which lines of docs/inside/requirements.md a test names: ``python tests/requirement_coverage.py``.

A test names a line by its id (SC-31) in its docstring, or in its own name (test_sc_31_...). The script fails while a
line with M (must) is named by no test.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_STATEMENT = re.compile(r"^- (?P<id>(?:SC|D4|SM|RL|D2)-\d{2}) (?P<weight>[MSo])  (?P<text>.+)$", re.MULTILINE)
_ID = re.compile(r"\b(SC|D4|SM|RL|D2)-(\d{2})(?!\d)")
_ID_IN_NAME = re.compile(r"_(sc|d4|sm|rl|d2)_(\d{2})(?!\d)")


@dataclass(frozen=True)
class Requirement:
    id: str
    weight: str
    text: str


def read_requirements(text: str) -> list[Requirement]:
    return [Requirement(m["id"], m["weight"], m["text"]) for m in _STATEMENT.finditer(text)]


def named_ids(source: str) -> set[str]:
    """Ids in the docstrings and names of the test functions of one file."""
    tests = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
    ]
    found = [match for test in tests for match in _ID.findall(ast.get_docstring(test) or "")]
    found += [match for test in tests for match in _ID_IN_NAME.findall(test.name)]
    return {f"{kind.upper()}-{number}" for kind, number in found}


def python_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if not path.name.startswith("."))


def report(requirements: list[Requirement], named: set[str]) -> tuple[str, bool]:
    """The text to print and whether every M line is covered."""
    covered = [each for each in requirements if each.id in named]
    parts = []
    for weight in "MSo":
        wanted = [each for each in requirements if each.weight == weight]
        parts.append(f"{weight} {sum(each in covered for each in wanted)}/{len(wanted)}")
    lines = [f"requirements: {len(covered)} of {len(requirements)} covered ({', '.join(parts)})"]
    lines += [f"  not covered: {each.id} {each.weight}  {each.text}" for each in requirements if each not in covered]
    unknown = sorted(named - {each.id for each in requirements})
    lines += [f"  named by a test but not in the list: {name}" for name in unknown]
    complete = all(each in covered for each in requirements if each.weight == "M")
    return "\n".join(lines), complete and not unknown


def main() -> int:
    requirements = read_requirements((ROOT / "docs" / "inside" / "requirements.md").read_text(encoding="utf-8"))
    named: set[str] = set()
    for path in python_files(ROOT / "tests"):
        named |= named_ids(path.read_text(encoding="utf-8"))
    text, complete = report(requirements, named)
    sys.stdout.write(text + "\n")
    return 0 if requirements and complete else 1


if __name__ == "__main__":
    sys.exit(main())
