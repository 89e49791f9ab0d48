"""Two pictures: the better one wins, with numbers behind it, and nothing that failed becomes a verdict."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from training.distortions import distort

from agenticiqa import AgenticIQA
from agenticiqa.api.comparison import OTHER_SCENES, WITHOUT_REFERENCE, as_reported, compare_pictures
from agenticiqa.nodes.results import Comparison
from agenticiqa.reports.comparison import difference_of, open_pictures, render_page, write_difference
from agenticiqa.runtime.config import ROLES, ImageLimits
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")

DANDELION = Path(__file__).resolve().parents[3] / "examples" / "pictures" / "dandelion.jpg"


@pytest.fixture
def pictures(tmp_path: Path) -> dict[str, Path]:
    """A small photograph, two strengths of one damage, and one damaged on its left half only."""
    with Image.open(DANDELION) as file:
        rgb = np.asarray(file.convert("RGB").resize((320, 224), Image.Resampling.LANCZOS))
    half = rgb.copy()
    half[:, :160] = distort(rgb, "gaussian_blur", 5)[:, :160]
    made = {
        "original": rgb,
        "slight": distort(rgb, "jpeg", 2),
        "heavy": distort(rgb, "jpeg", 5),
        "half": half,
        "small": rgb[:64, :64],
    }
    for name, pixels in made.items():
        Image.fromarray(np.ascontiguousarray(pixels)).save(tmp_path / f"{name}.png", compress_level=1)
    return {name: tmp_path / f"{name}.png" for name in made}


@pytest.fixture
def assessor():
    with AgenticIQA("embedded") as made:
        yield made


@pytest.mark.hard
def test_with_a_reference_the_less_damaged_one_wins(assessor, pictures):
    found = compare_pictures(assessor, pictures["heavy"], pictures["slight"], reference=pictures["original"])
    assert found.status == "ok"
    assert found.winner == "B"
    assert found.decided_by == "AIQA_FR"
    assert found.confidence > 0.9
    assert found.chance_a == pytest.approx(1 - found.confidence, abs=1e-3)
    assert {"SSIM", "GMSD", "PSNR"} <= {row.tool for row in found.tools}
    assert all(row.better == "B" for row in found.tools if row.type == "FR")
    assert "B is better" in found.verdict
    assert f"{found.score_b:.2f}" in found.verdict


@pytest.mark.hard
def test_swapping_the_pictures_swaps_the_verdict(assessor, pictures):
    one = compare_pictures(assessor, pictures["heavy"], pictures["original"])
    other = compare_pictures(assessor, pictures["original"], pictures["heavy"])
    assert (one.winner, other.winner) == ("B", "A")
    assert one.confidence == other.confidence
    assert {place.name: place.lead for place in one.places} == {
        place.name: pytest.approx(-place.lead, abs=1e-3) for place in other.places
    }


def test_every_tool_that_either_assessment_chose_ran_on_both(assessor, pictures):
    found = compare_pictures(assessor, pictures["heavy"], pictures["original"])
    chosen = {log.tool for result in (found.a, found.b) for log in result.executor_evidence.tool_logs}
    measured = {row.tool for row in found.tools if row.raw_a is not None and row.raw_b is not None}
    assert chosen <= measured


def test_the_map_shows_where(assessor, pictures):
    found = compare_pictures(assessor, pictures["original"], pictures["half"], reference=pictures["original"])
    lead = {place.name: place.lead for place in found.places}
    assert lead["middle left"] > 0.05
    assert lead["middle right"] == pytest.approx(0, abs=1e-3)
    assert "left" in " ".join(found.reasons)


def test_identical_pictures_are_a_tie_whatever_they_are_called(assessor, pictures, tmp_path):
    copy = tmp_path / "copy.bmp"
    Image.open(pictures["heavy"]).save(copy)
    found = compare_pictures(assessor, pictures["heavy"], copy)
    assert (found.winner, found.confidence) == ("tie", 1.0)


def test_a_broken_picture_gives_no_verdict(assessor, pictures, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(pictures["heavy"].read_bytes()[:500])
    found = compare_pictures(assessor, pictures["original"], broken)
    assert found.status == "error"
    assert found.winner is None
    assert found.confidence is None
    assert "Picture B" in found.error


def test_a_reference_of_another_size_gives_no_verdict(assessor, pictures):
    found = compare_pictures(assessor, pictures["original"], pictures["heavy"], reference=pictures["small"])
    assert found.status == "error"
    assert found.winner is None
    assert "same size" in found.error


def test_two_sizes_are_compared_without_a_map(assessor, pictures):
    found = compare_pictures(assessor, pictures["original"], pictures["small"])
    assert found.status != "error"
    assert found.places == []
    assert "differ in size" in " ".join(found.notes)
    assert difference_of(open_pictures(pictures["original"], pictures["small"], None, ImageLimits())) is None


def test_only_allowed_roots_hold_for_both(pictures, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.png").write_bytes(pictures["original"].read_bytes())
    overrides = {"pipeline.allowed_roots": [str(inside)]}
    with AgenticIQA("embedded", overrides=overrides, only_allowed_roots=True) as assessor:
        found = compare_pictures(assessor, inside / "a.png", pictures["heavy"])
    assert found.status == "error"
    assert found.winner is None


def test_the_result_survives_json_and_its_page_is_safe(assessor, pictures, tmp_path):
    hostile = tmp_path / "<script>alert(1)</script>".replace("/", "_")
    hostile.write_bytes(pictures["heavy"].read_bytes())
    found = compare_pictures(assessor, pictures["original"], hostile)
    assert Comparison.model_validate_json(found.model_dump_json()) == found
    page = render_page(found, ImageLimits())
    assert "<script" not in page
    assert page.count("data:image/jpeg;base64,") == 7  # A, B, where they differ; each again with its quality map
    assert write_difference(found, tmp_path / "maps" / "difference.png", ImageLimits())
    with Image.open(tmp_path / "maps" / "difference.png") as shown:
        assert shown.size == (320, 224)


def test_the_same_in_sixteen_bits_is_too_close_to_call(assessor, pictures, tmp_path):
    with Image.open(pictures["original"]) as file:
        samples = np.asarray(file)[..., ::-1].astype(np.uint16) * 257
    cv2.imwrite(str(tmp_path / "deep.png"), samples)
    found = compare_pictures(assessor, pictures["original"], tmp_path / "deep.png")
    assert (found.winner, found.confidence) == ("tie", 0.5)
    assert "neither is ahead" in found.verdict
    assert "preferred" not in found.verdict


def test_a_picture_turned_by_its_exif_is_compared_upright(assessor, pictures, tmp_path):
    with Image.open(pictures["original"]) as file:
        turned = file.rotate(90, expand=True)
    exif = Image.Exif()
    exif[0x0112] = 6
    turned.save(tmp_path / "turned.png", exif=exif)
    found = compare_pictures(assessor, tmp_path / "turned.png", pictures["original"])
    assert found.decided_by == "pixels"


def test_incomplete_assessments_are_named_and_failed_ones_give_no_verdict(pictures):
    partly = dict.fromkeys(ROLES, ScriptedClient(detection="not JSON"))
    with AgenticIQA(clients=partly) as assessor:
        found = compare_pictures(assessor, pictures["heavy"], pictures["original"])
    assert (found.status, found.winner) == ("partial", "B")
    assert [note.split(" is ")[0] for note in found.notes][:2] == ["The assessment of A", "The assessment of B"]
    with AgenticIQA(clients=dict.fromkeys(ROLES, ScriptedClient(answer="not JSON"))) as assessor:
        found = compare_pictures(assessor, pictures["heavy"], pictures["original"])
    assert (found.status, found.winner, found.verdict) == ("error", None, "")
    assert "Picture A could not be assessed" in found.error


def test_after_a_failed_first_assessment_the_second_picture_costs_nothing(pictures):
    alone, both = ScriptedClient(answer="not JSON"), ScriptedClient(answer="not JSON")
    with AgenticIQA(clients=dict.fromkeys(ROLES, alone), overrides={"pipeline.cache.enabled": False}) as assessor:
        failed = assessor.assess(pictures["heavy"])
    with AgenticIQA(clients=dict.fromkeys(ROLES, both), overrides={"pipeline.cache.enabled": False}) as assessor:
        found = compare_pictures(assessor, pictures["heavy"], pictures["original"])
    assert found.status == "error"
    assert found.error == f"Picture A could not be assessed: {failed.error}"
    assert found.b is None
    assert both.calls == alone.calls == found.metadata["calls"] > 0


@pytest.mark.parametrize(
    ("a", "b", "reference", "told"),
    [
        ("nowhere", "original", None, "Picture A could not be opened"),
        ("original", "nowhere", None, "Picture B could not be opened"),
        ("original", "heavy", "nowhere", "nowhere.png"),
        ("original", "heavy", "small", "picture A has 320×224 pixels and the reference 64×64"),
        ("original", "small", "original", "picture B has 64×64 pixels"),
    ],
)
def test_no_model_is_asked_about_pictures_that_cannot_be_compared(pictures, tmp_path, a, b, reference, told):
    client = ScriptedClient()
    files = {**pictures, "nowhere": tmp_path / "nowhere.png"}
    with AgenticIQA(clients=dict.fromkeys(ROLES, client)) as assessor:
        found = compare_pictures(assessor, files[a], files[b], reference=files[reference] if reference else None)
    assert (found.status, found.winner) == ("error", None)
    assert told in found.error
    assert client.calls == found.metadata["calls"] == 0


def test_no_chance_is_told_as_certain(assessor, pictures):
    found = compare_pictures(assessor, pictures["heavy"], pictures["original"])
    assert abs(found.score_a - found.score_b) > 1.5
    assert (found.confidence, found.chance_a) == (0.999, 0.001)


def test_a_lead_says_less_of_two_scenes(assessor, pictures, tmp_path):
    """Versions of one photograph are easier to put in order than photographs of different scenes."""
    with Image.open(pictures["heavy"]) as opened:
        Image.fromarray(np.ascontiguousarray(np.asarray(opened)[::-1])).save(tmp_path / "turned.png")
    for other, reliability in ((pictures["heavy"], WITHOUT_REFERENCE), (tmp_path / "turned.png", OTHER_SCENES)):
        found = compare_pictures(assessor, pictures["original"], other)
        assert found.score_a is not None
        assert found.score_b is not None
        assert found.confidence == as_reported(reliability.chance(found.score_a - found.score_b))
    assert OTHER_SCENES.chance(1.0) < WITHOUT_REFERENCE.chance(1.0) - 0.05
