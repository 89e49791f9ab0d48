"""A configured limit refuses a picture wherever it is opened, not only in the run itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.api.comparison import compare_pictures
from agenticiqa.errors import ImageTooLargeError
from agenticiqa.nodes.results import Assessment, Comparison
from agenticiqa.reports import comparison
from agenticiqa.reports.assessment import notebook_view, render_report, report_item
from agenticiqa.reports.comparison import open_pictures
from agenticiqa.reports.look import NO_PICTURES
from agenticiqa.reports.scale import write_maps
from agenticiqa.runtime.config import ImageLimits, load_settings
from agenticiqa.serve.mcp.server import _difference_content, _map_content
from agenticiqa.tools.maps import MapFolder
from support.pictures import distorted, save, scene

pytestmark = pytest.mark.usefixtures("isolated")

LARGE_ENOUGH = ImageLimits()
TOO_SMALL = ImageLimits(max_pixels=1000)


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    return save(tmp_path / "picture.png", distorted(scene()))


@pytest.fixture
def result(picture: Path) -> Assessment:
    with AgenticIQA(backend="embedded") as assessor:
        return assessor.assess(picture)


@pytest.fixture
def compared(picture: Path, tmp_path: Path) -> Comparison:
    other = save(tmp_path / "other.png", scene())
    with AgenticIQA(backend="embedded") as assessor:
        return compare_pictures(assessor, picture, other)


def test_the_settings_are_the_limits():
    assert load_settings().pipeline.images == LARGE_ENOUGH
    assert load_settings(overrides={"pipeline": {"images": {"max_pixels": 1000}}}).pipeline.images == TOO_SMALL


def test_reports(result: Assessment):
    assert "data:image/jpeg" in render_report([report_item(result, LARGE_ENOUGH)])
    refused = render_report([report_item(result, TOO_SMALL)])
    assert "data:image/jpeg" not in refused
    assert NO_PICTURES in refused
    assert NO_PICTURES in notebook_view(result, TOO_SMALL)


def test_maps(result: Assessment, tmp_path: Path):
    with AgenticIQA(backend="embedded") as assessor, pytest.raises(ImageTooLargeError):
        write_maps(result, assessor.tools, MapFolder(tmp_path / "maps"), TOO_SMALL)


def test_comparisons(compared: Comparison, tmp_path: Path):
    assert "data:image/jpeg" in comparison.render_page(compared, LARGE_ENOUGH)
    assert "data:image/jpeg" not in comparison.render_page(compared, TOO_SMALL)
    with pytest.raises(ImageTooLargeError):
        comparison.write_difference(compared, tmp_path / "map.png", TOO_SMALL)
    with pytest.raises(ImageTooLargeError):
        open_pictures(compared.image_a, compared.image_b, None, TOO_SMALL)


def test_pictures_in_replies_of_the_mcp_server(result: Assessment, compared: Comparison):
    assert _map_content(result, LARGE_ENOUGH)
    with pytest.raises(ImageTooLargeError):
        _map_content(result, TOO_SMALL)
    with pytest.raises(ImageTooLargeError):
        _difference_content(Path(compared.image_a), Path(compared.image_b), None, TOO_SMALL)
