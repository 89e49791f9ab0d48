"""The shipped model, as a user meets it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("onnxruntime")

from training.distortions import distort

from agenticiqa.errors import BackendUnavailableError
from agenticiqa.vision.network import WEIGHTS, Vision, load_vision, prepared
from agenticiqa.vocabulary import CATEGORIES, SEVERITIES

PHOTOGRAPH = Path(__file__).resolve().parents[2] / "examples" / "pictures" / "dandelion.jpg"


@pytest.fixture(scope="module")
def scene():
    """Soft shapes with edges and fine texture."""
    rng = np.random.default_rng(5)
    y, x = np.mgrid[0:256, 0:320] / 256.0
    sky = np.stack([0.4 + 0.3 * y, 0.6 + 0.2 * y, 0.9 - 0.1 * y], axis=2)
    hill = (y > 0.5 + 0.1 * np.sin(6 * x))[..., None]
    ground = np.stack([0.3 + 0.1 * np.sin(40 * x * y), 0.5 + 0.1 * np.cos(55 * x), 0.2 + 0 * x], axis=2)
    picture = np.where(hill, ground + 0.01 * rng.standard_normal(sky.shape), sky)
    return np.rint(picture.clip(0, 1) * 255).astype(np.uint8)


@pytest.fixture(scope="module")
def photograph():
    with Image.open(PHOTOGRAPH) as opened:
        return np.asarray(opened.convert("RGB").resize((512, 288)))


@pytest.fixture(scope="module")
def vision():
    return load_vision()


def test_the_package_part_stays_small():
    assert sum(file.stat().st_size for file in WEIGHTS.iterdir()) < 40e6


def test_description_matches_the_vocabulary(vision):
    assert tuple(vision.about["categories"]) == CATEGORIES
    assert tuple(vision.about["severities"]) == SEVERITIES
    assert vision.kinds[0] == "unchanged"


def test_probabilities_are_probabilities(vision, scene):
    found = vision.judge(vision.look(scene))
    for values in (found.levels, found.severities, found.kinds):
        assert np.allclose(values.sum(axis=-1), 1, atol=1e-4)
        assert (values >= 0).all()
    assert 1 <= found.score[0] <= 5


@pytest.mark.parametrize(
    ("kind", "category"), [("jpeg", "Compression"), ("white_noise", "Noise"), ("gaussian_blur", "Blurs")]
)
def test_damage_lowers_the_score_and_is_named(vision, photograph, kind, category):
    clean = vision.judge(vision.look(photograph))
    damaged = vision.judge(vision.look(distort(photograph, kind, 5)))
    assert damaged.score[0] < clean.score[0] - 0.5
    place = CATEGORIES.index(category)
    assert damaged.severities[0, place, 0] < clean.severities[0, place, 0]
    assert damaged.severities[0, place, 0] < 0.5


def test_mirroring_changes_little(vision, photograph):
    one = vision.judge(vision.look(photograph)).score[0]
    other = vision.judge(vision.look(np.ascontiguousarray(photograph[:, ::-1]))).score[0]
    assert one == pytest.approx(other, abs=0.1)


def test_small_pictures_are_seen_with_their_mirror_images(vision, scene):
    cells, turned = (vision.look(np.ascontiguousarray(each)).cells for each in (scene, scene[:, ::-1]))
    assert cells == pytest.approx(turned[:, ::-1], abs=1e-6)


@pytest.mark.hard
def test_pictures_seen_together_are_seen_as_if_alone(vision, photograph):
    sizes = ((200, 300), (200, 300), (640, 900), (700, 1200))
    pictures = [np.resize(photograph, (*size, 3)) for size in sizes]
    ready = [prepared(each, vision.about["view"], vision.about["cell"]) for each in pictures]
    seen = vision.see(ready)
    together = vision.judge_all(seen)
    for place, picture in enumerate(pictures):
        features = vision.look(picture)
        alone = vision.judge(features)
        assert together.score[place] == pytest.approx(alone.score[0], abs=1e-5)
        assert together.flaws[place] == pytest.approx(alone.flaws[0], abs=1e-5)


def test_the_maps_show_where(vision, photograph):
    half = np.ascontiguousarray(photograph[:256, :320]).copy()
    half[:, 160:] = distort(half, "gaussian_blur", 5)[:, 160:]
    features = vision.look(half)
    shape, place = features.cells.shape[:2], CATEGORIES.index("Blurs")
    blurred = (vision.map(features).severities[:, place] @ np.arange(5)).reshape(shape)
    assert blurred[:, 7:].mean() > blurred[:, :3].mean() + 0.5
    sharp = vision.focus(features)
    assert sharp[:, :3].max() > sharp[:, 7:].max() + 0.2
    _, columns = np.indices(shape)
    left, right = vision.judge(features, columns < 4), vision.judge(features, columns >= 6)
    assert right.severities[0, place, 0] < left.severities[0, place, 0]


def test_no_flaw_is_likelier_than_its_category(vision, photograph):
    for picture in (photograph, distort(photograph, "motion_blur", 5), distort(photograph, "darken", 4)):
        found = vision.judge(vision.look(picture))
        for place, category in enumerate(vision.flaws.values()):
            present = 1 - found.severities[0, vision.categories.index(category), 0]
            assert found.flaws[0, place] <= present + 1e-5


def test_any_size_is_seen(vision):
    rng = np.random.default_rng(0)
    for size in ((1, 1), (33, 20), (40, 2500)):
        features = vision.look(rng.integers(0, 256, (*size, 3), dtype=np.uint8))
        assert np.isfinite(vision.judge(features).score).all()
    large = vision.look(rng.integers(0, 256, (64, 1100, 3), dtype=np.uint8))
    assert large.cells.shape[:2] == (1, 16)
    assert large.closer is not None


def test_tampered_weights_are_refused(tmp_path):
    folder = tmp_path / "weights"
    shutil.copytree(WEIGHTS, folder)
    data = bytearray((folder / "joint.onnx").read_bytes())
    data[-1] ^= 1
    (folder / "joint.onnx").write_bytes(data)
    with pytest.raises(BackendUnavailableError, match="SHA-256"):
        Vision(folder)


def test_a_missing_description_says_what_to_do(tmp_path):
    with pytest.raises(BackendUnavailableError):
        Vision(tmp_path)
    (tmp_path / "model.json").write_text(json.dumps({"files": {"local.onnx": "0"}}))
    with pytest.raises(BackendUnavailableError):
        Vision(tmp_path)
