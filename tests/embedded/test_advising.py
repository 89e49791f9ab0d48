"""Advice with amounts: what was done to a picture is what undoing it is advised by."""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.embedded.advising import advice_for
from agenticiqa.embedded.looking import Look, Looker
from agenticiqa.pictures.fixes import fixed
from agenticiqa.pictures.images import decode_image
from agenticiqa.reports.assessment import ReportItem, render_report
from agenticiqa.state import Fix
from agenticiqa.vision.appearance.symmetry import tilt
from agenticiqa.vision.network import load_vision
from support.drawn import disc, horizon

PICTURES = Path(__file__).resolve().parents[2] / "examples" / "pictures"


@pytest.fixture(scope="module")
def dandelion() -> np.ndarray:
    with Image.open(PICTURES / "dandelion.jpg") as picture:
        return np.asarray(picture.convert("RGB").resize((512, 288)))


def look_at(rgb: np.ndarray, **saving: object) -> Look:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, **({"format": "PNG"} | saving))
    return Looker(load_vision()).look(decode_image(buffer.getvalue()))


def test_a_sound_picture_needs_nothing():
    with Image.open(PICTURES / "dandelion.jpg") as picture:
        assert advice_for(look_at(np.asarray(picture.convert("RGB")))) == []


def test_a_compressed_file_is_exported_again_and_says_its_quality(dandelion):
    first = advice_for(look_at(dandelion, format="JPEG", quality=8))[0]
    assert "JPEG quality 90" in first.do
    assert "about 8" in first.do
    assert "T.81" in first.source


def test_stops_are_those_that_were_taken(dandelion):
    light = (dandelion / 255.0) ** 2.2 / 2**3
    dark = np.asarray((light ** (1 / 2.2) * 255).round(), np.uint8)
    first = advice_for(look_at(dark))[0]
    assert "Brighten it by about" in first.do
    assert "stops" in first.do


def test_a_smear_asks_for_a_faster_shutter_by_its_length(dandelion):
    smeared = cv2.filter2D(dandelion, -1, np.full((1, 16), 1 / 16, np.float32))
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x829A] = 1 / 30
    advised = " ".join(each.do for each in advice_for(look_at(smeared, format="JPEG", quality=95, exif=exif)))
    assert "shutter" in advised
    assert "1/500 s instead of 1/30 s" in advised


def test_a_dark_picture_names_the_cameras_settings(dandelion):
    dark = np.asarray((((dandelion / 255.0) ** 2.2 / 2**3) ** (1 / 2.2) * 255).round(), np.uint8)
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0x829A: 1 / 1000, 0x829D: 8.0, 0x8827: 100})
    first = advice_for(look_at(dark, format="JPEG", quality=95, exif=exif))[0]
    assert "exposure compensation +" in first.do
    assert "instead of 1/1000 s" in first.do
    assert "instead of f/8" in first.do
    assert "instead of 100" in first.do


@pytest.mark.usefixtures("isolated")
def test_results_and_reports_carry_the_advice():
    with AgenticIQA("embedded") as assessor:
        result = assessor.assess(PICTURES / "dandelion_compressed.jpg", "Rate the quality.")
    assert "JPEG quality 90" in result.advice[0].do
    assert "JPEG quality 90" in render_report([ReportItem(result)])
    assert type(result).model_validate_json(result.model_dump_json()).advice == result.advice


@pytest.mark.hard
def test_asked_for_advice_a_slope_and_empty_space_are_looked_for():
    sloping = " ".join(each.do for each in advice_for(look_at(horizon(3, 5)), thorough=True))
    assert "turn it 5." in sloping or "turn it 4." in sloping
    assert "° clockwise" in sloping
    small = " ".join(each.do for each in advice_for(look_at(disc(1, 0.3, 0.4, 0.05)), thorough=True))
    assert "Crop closer" in small
    assert "Crop closer" not in " ".join(each.do for each in advice_for(look_at(disc(1, 0.3, 0.4, 0.05))))


def test_nobody_is_told_to_darken_a_screen():
    with Image.open(PICTURES.parents[1] / "docs" / "images" / "page-first.png") as picture:
        look = look_at(np.asarray(picture.convert("RGB")), format="JPEG", quality=12)
    assert "Brightness change" in look.visible()  # what it looks like is said; what to do about it is not
    assert [each.do for each in advice_for(look, thorough=True) if "arken" in each.do] == []


def test_a_tilted_facade_is_sure_and_a_sloping_horizon_alone_is_not():
    facade = np.full((700, 900, 3), 200, np.uint8)
    facade[::70], facade[:, ::90] = 60, 60
    turned = fixed(facade, Fix(kind="turn", amounts=(-3.0,)))
    found = tilt(turned)
    assert found is not None
    assert found.sure
    assert found.degrees == pytest.approx(3.0, abs=0.3)
    street = tilt(horizon(3, 5))
    assert street is not None
    assert not street.sure
