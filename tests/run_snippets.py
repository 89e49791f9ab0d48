"""Everything the documentation shows, as its reader would run it: ``make snippets``.

The wheel is built and installed into a fresh environment outside the checkout, with the extras that the documentation
names beside what it shows; every command and every piece of Python then runs as a process of its own, in a folder that
holds the files they speak of. A cell that ends in a result is run by IPython, which must find HTML to show.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from support.snippets import ROOT, Snippet, commands, make_workshop, python_blocks

EXTRAS = "serve,mcp,dataframe"
TIMEOUT_S = 300
CELL = """\
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

shell = InteractiveShell.instance(config=Config(HistoryManager={{"enabled": False}}))
with capture_output() as captured:
    found = shell.run_cell({code!r})
found.raise_error()
print(captured.stdout)
if found.result is not None:
    data, _ = shell.display_formatter.format(found.result)
    print(*data)
    assert "text/html" in data or not hasattr(found.result, "_repr_html_"), data
"""


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="agenticiqa-snippets-") as folder:
        place = Path(folder)
        programs = _fresh_environment(place)
        workshop = make_workshop(place / "workshop")
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AGENTICIQA_", "PYTHON", "VIRTUAL_ENV")) and not name.endswith("_API_KEY")
        }
        environment |= {"AGENTICIQA_HOME": str(place / "home"), "XDG_CONFIG_HOME": str(place / "config")}
        _check_origin(programs, workshop, environment)
        failed = [
            each.id for each in (*commands(), *python_blocks()) if not _runs(each, programs, workshop, environment)
        ]
        total = len(commands()) + len(python_blocks())
        sys.stdout.write(f"snippets: {total - len(failed)} of {total} run in a fresh environment\n")
        return 1 if failed else 0


def _fresh_environment(place: Path) -> Path:
    """The folder of programs of an environment that holds the wheel, its extras, and IPython."""
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", str(place / "wheel"), str(ROOT)], check=True)
    (wheel,) = (place / "wheel").glob("*.whl")
    venv.create(place / "venv", with_pip=False)
    programs = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
    python = str(programs / "python")
    wanted = [f"agenticiqa[{EXTRAS}] @ {wheel.as_uri()}", "ipython"]
    subprocess.run([uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *wanted], check=True)
    return programs


def _check_origin(programs: Path, workshop: Path, environment: dict[str, str]) -> None:
    """What runs is the wheel, not the checkout."""
    script = "import agenticiqa; print(agenticiqa.__file__)"
    done = subprocess.run(
        [programs / "python", "-c", script], cwd=workshop, env=environment, capture_output=True, text=True, check=True
    )
    if not Path(done.stdout.strip()).is_relative_to(programs.parent):
        sys.exit(f"not the installed package: {done.stdout}")


def _runs(snippet: Snippet, programs: Path, workshop: Path, environment: dict[str, str]) -> bool:
    is_command = snippet.text.startswith("agenticiqa ")
    if is_command:
        arguments, allowed = [str(programs / "agenticiqa"), *snippet.words[1:]], snippet.exit_codes
    else:
        # A file of its own: worker processes import it.
        file = workshop / f"snippet_{snippet.page.replace('.', '_')}_{snippet.line}.py"
        is_program = "__main__" in snippet.text
        file.write_text(snippet.text if is_program else CELL.format(code=snippet.text), encoding="utf-8")
        arguments, allowed = [str(programs / "python"), str(file)], (0,)
    done = subprocess.run(
        arguments, cwd=workshop, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    fine = done.returncode in allowed and "Traceback" not in done.stderr
    fine = fine and bool(done.stdout.strip() or not is_command or snippet.is_silent)
    sys.stdout.write(f"{'ok  ' if fine else 'FAIL'} {snippet.id}  {snippet.text.splitlines()[0]}\n")
    if not fine:
        sys.stdout.write(f"     exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}\n")
    sys.stdout.flush()
    return fine


if __name__ == "__main__":
    sys.exit(main())
