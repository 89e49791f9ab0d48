"""Runs the cells of a notebook and keeps what they show, without starting a kernel:

    python examples/run_notebook.py examples/first_look.ipynb

Needs IPython, of which it uses what chooses how a value is shown.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

from IPython.core.formatters import DisplayFormatter

Cell = dict[str, Any]


def run_notebook(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells, run one after the other in one namespace."""
    names: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell |= {"execution_count": number, "outputs": _outputs("".join(cell["source"]), number, names)}
    return notebook


def _outputs(code: str, number: int, names: dict[str, Any]) -> list[Cell]:
    """What the cell printed, and the value of its last line, as a notebook keeps them."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
    found: list[Cell] = []
    if printed.getvalue():
        found.append({"output_type": "stream", "name": "stdout", "text": _lines(printed.getvalue())})
    if value is not None:
        data, _ = DisplayFormatter().format(value)
        shown = {kind: _lines(text) for kind, text in data.items()}
        found.append({"output_type": "execute_result", "execution_count": number, "data": shown, "metadata": {}})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    file = Path(sys.argv[1]).resolve()
    notebook = json.loads(file.read_text(encoding="utf-8"))
    os.chdir(file.parent)
    file.write_text(json.dumps(run_notebook(notebook), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
