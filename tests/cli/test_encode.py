"""``agenticiqa encode`` as a shop's build runs it."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import cv2
import numpy as np
from PIL import Image

from support.pictures import scene


def put(folder, *names: str) -> None:
    small = Image.fromarray(cv2.GaussianBlur(scene(96, 128), (0, 0), 1.5))
    for name in names:
        small.save(folder / name)


def test_a_folder_becomes_small_files_a_table_and_a_drawing(run, folder):
    (folder / "shop").mkdir()
    put(folder / "shop", "a.png", "b.png")
    done = run("encode", "shop", "--min-score", "3.8", "--format", "jpeg,webp", "-o", "out", "--plot", "plot.svg")
    assert done.code == 0
    assert "KB at" in done.out
    assert len(list((folder / "out").iterdir())) == 2
    drawn = ET.parse(folder / "plot.svg").getroot()
    assert sum(each.tag.endswith("circle") for each in drawn.iter()) == 4
    again = run("encode", "shop", "-o", "out")
    assert again.code != 0
    assert "--overwrite" in again.err


def test_json_and_a_bound_out_of_reach(run, folder):
    put(folder, "a.png")
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), np.uint8)
    Image.fromarray(noise).save(folder / "noise.png")
    (folder / "broken.png").write_bytes(b"no picture")
    some = run("encode", "a.png", "noise.png", "broken.png", "--metric", "PSNR>=32", "--format", "jpeg", "--json")
    assert some.code == 2
    assert "broken.png" in some.err
    first, second, third = some.json
    assert first["best"]["value"] >= 32
    assert second["best"] is None
    assert "not a picture" in third["error"]
    none = run("encode", "noise.png", "--metric", "PSNR>=80", "--format", "jpeg")
    assert none.code == 1
    assert f"reaches {second['trials'][0]['value']:.4g} only" in none.out


def test_a_file_that_is_small_already_is_told(run, folder):
    noise = np.random.default_rng(0).integers(0, 256, (96, 96, 3), np.uint8)
    Image.fromarray(noise).save(folder / "tiny.jpg", quality=20)
    done = run("encode", "tiny.jpg", "--metric", "PSNR>=25", "--format", "webp")
    assert done.code == 0
    assert "tiny.jpg: smaller as it is" in done.err
    assert run("encode", "tiny.jpg", "--plot", "plot.png").code == 2


def test_two_pictures_of_one_name_are_refused(run, folder):
    put(folder, "a.png", "a.jpg")
    done = run("encode", "a.png", "a.jpg", "-o", "out")
    assert done.code == 2
    assert "same name" in done.err
