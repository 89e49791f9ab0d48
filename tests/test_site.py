"""The site that ``make docs`` builds: every page has its place, and guides for authors of plug-ins really work.

Building it needs packages of its own; what can be known without them is checked here.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml

from agenticiqa.models.backends import create_vlm_client, provider_names
from agenticiqa.runtime.config import load_settings
from agenticiqa.tools.catalogue import tools_folder
from agenticiqa.tools.metrics.views import Views
from agenticiqa.tools.registry import build_registry
from support.snippets import ROOT, python_blocks

SITE = ROOT / "docs" / "site"
CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def hooks() -> Iterator[ModuleType]:
    """The hooks, with the little they need of MkDocs."""
    stand_ins = {
        "mkdocs": SimpleNamespace(),
        "mkdocs.exceptions": SimpleNamespace(PluginError=RuntimeError),
        "mkdocs.structure": SimpleNamespace(),
        "mkdocs.structure.files": SimpleNamespace(File=None, Files=list),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, module in stand_ins.items():
            patch.setitem(sys.modules, name, module)
        spec = importlib.util.spec_from_file_location("site_hooks", SITE / "hooks.py")
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


def in_navigation(part: Any = CONFIGURATION["nav"]) -> list[str]:
    if isinstance(part, str):
        return [part]
    children = part if isinstance(part, list) else part.values()
    return [page for child in children for page in in_navigation(child)]


def test_every_page_has_one_place_in_the_navigation(hooks: ModuleType) -> None:
    docs = ROOT / "docs"
    written = {file.relative_to(docs).as_posix() for file in docs.rglob("*.md")}
    assert sorted(in_navigation()) == sorted(written | set(hooks.PAGES.values()))


def test_pages_from_outside_the_folder_exist(hooks: ModuleType) -> None:
    assert all((ROOT / source).is_file() for source in hooks.PAGES)


def test_every_diagram_is_drawn_and_none_is_left_over(hooks: ModuleType) -> None:
    """Else: python docs/site/draw_diagrams.py"""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    wanted = {
        hooks.diagram_file(block["source"])
        for page in pages
        for block in hooks._MERMAID.finditer(page.read_text(encoding="utf-8"))
    }
    assert wanted
    assert set(hooks.DIAGRAMS.glob("*.svg")) == wanted


@pytest.mark.parametrize(
    ("page", "link", "turned"),
    [
        ("index.md", "[a](docs/many-pictures/batch.md#input)", "[a](many-pictures/batch.md#input)"),
        ("evaluating/evaluation.md", "[a](../../examples/results/README.md)", "[a](../examples/results.md)"),
        ("guides/gate-a-build.md", "[a](../many-pictures/reports.md)", "[a](../many-pictures/reports.md)"),
        ("guides/gate-a-build.md", "[a](../../CONTRIBUTING.md)", "[a](../contributing.md)"),
        ("contributing.md", "[a](training/README.md)", "a (`training/README.md`)"),
        ("index.md", "![a](docs/images/page-assess.png)", "![a](images/page-assess.png)"),
        ("index.md", "[a](https://example.org/x)", "[a](https://example.org/x)"),
        ("index.md", "`[a](docs/many-pictures/batch.md)`", "`[a](docs/many-pictures/batch.md)`"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(hooks: ModuleType, page: str, link: str, turned: str) -> None:
    on_site = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert hooks.on_page_markdown(link, page=on_site) == turned


def test_reading_it_asks_no_other_host() -> None:
    assert CONFIGURATION["theme"]["font"] is False
    assert "privacy" not in str(CONFIGURATION["plugins"])
    assert "http" not in (SITE / "style.css").read_text(encoding="utf-8")
    assert "http" not in str(CONFIGURATION)


@pytest.fixture
def plug_in(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A guide's program, installed under the entry point that the guide prints, as pip would leave it."""
    guide = ROOT / "docs" / "guides" / request.param
    (program,) = [block.text for block in python_blocks() if block.page == request.param]
    entry = re.search(
        r'entry-points\."(?P<group>[^"]+)"\]\n(?P<name>\w+) = "(?P<module>\w+):(?P<thing>\w+)"', guide.read_text()
    )
    assert entry
    (tmp_path / f"{entry['module']}.py").write_text(program, encoding="utf-8")
    info = tmp_path / "guide-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: guide\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[{entry['group']}]\n{entry['name']} = {entry['module']}:{entry['thing']}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop(entry["module"], None)


@pytest.mark.usefixtures("plug_in")
@pytest.mark.parametrize("plug_in", ["add-a-metric.md"], indirect=True)
def test_the_metric_of_the_guide_is_a_tool() -> None:
    registry = build_registry(load_settings(environment={}).pipeline.tools, tools_folder())
    tool = registry.find("dead_pixels")
    pixels = np.zeros((10, 12, 3), np.uint8)
    pixels[4, 5] = 255
    found = tool.metric.measure(Views.of(pixels, None, tool.spec))
    assert found.value == pytest.approx(1000 / (8 * 10))
    assert found.map is not None
    assert found.map.sum() == found.map[4, 5] == 1


@pytest.mark.usefixtures("plug_in")
@pytest.mark.parametrize("plug_in", ["add-a-backend.md"], indirect=True)
def test_the_backend_of_the_guide_can_be_named() -> None:
    assert "echo" in provider_names()
    client = create_vlm_client("echo.loud", load_settings(environment={}))
    assert client.generate("Hello") == "loud was asked 5 characters about 0 pictures"
