"""What helps people look: previews, limits, the worst place, what a file says, pictures that are asked about again."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image, ImageCms

from agenticiqa.embedded.backend import EmbeddedClient
from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.vision.network import load_vision
from support.http_service import PICTURE, REFERENCE, Running, assess, encoded, is_problem, serving
from support.pictures import scene
from support.scripted import ScriptedClient


def sent(client: httpx.Client, data: bytes, name: str = "photo.png", address: str = "/v1/preview") -> httpx.Response:
    return client.post(address, files={"image": (name, data)})


def asked(client: httpx.Client, **more: object) -> dict:
    return client.get(assess(client, **more).headers["location"]).json()  # type: ignore[no-any-return]


def test_preview_shows_what_browsers_cannot(client: httpx.Client):
    reply = sent(client, encoded(scene(), "TIFF"), "scan.tif")
    assert reply.headers["content-type"] == "image/png"
    height, width = scene().shape[:2]
    assert reply.headers["picture-size"] == f"{width}x{height}"
    assert np.array_equal(np.asarray(Image.open(BytesIO(reply.content))), scene())


def test_preview_of_a_large_picture_fits_a_screen(client: httpx.Client):
    reply = sent(client, encoded(np.zeros((40, 3000, 3), np.uint8)))
    assert reply.headers["picture-size"] == "3000x40"
    assert Image.open(BytesIO(reply.content)).width == 2048


def test_preview_says_what_cannot_be_read(client: httpx.Client):
    document = is_problem(sent(client, b"Dear Sir or Madam", "letter.png"), 415, "image_format")
    assert document["title"] == "This is not a picture that can be read here"
    assert "letter.png" in document["detail"]
    assert "pip install" not in document["detail"]


def test_preview_leaves_no_run(client: httpx.Client):
    before = client.get("/v1/runs").json()
    sent(client, PICTURE)
    assert client.get("/v1/runs").json() == before


def test_limits_are_those_of_the_server(tmp_path: Path):
    with serving(tmp_path, ScriptedClient(), max_upload_bytes=12345, max_pixels=678) as running:
        told = httpx.get(f"{running.url}/v1/limits").json()
    assert (told["max_upload_bytes"], told["max_pixels"]) == (12345, 678)
    assert "PNG" in told["formats"]
    assert ".png" in told["endings"]


# --- advice that can be followed ---


@pytest.mark.hard
def test_a_copy_with_advice_followed_is_brighter_and_tells_its_gain(tmp_path: Path):
    with (
        Image.open(Path(__file__).parents[3] / "examples" / "pictures" / "dandelion.jpg") as picture,
        serving(tmp_path, EmbeddedClient("embedded", load_vision())) as running,
        running.client() as client,
    ):
        dark = np.asarray(picture.convert("RGB").resize((480, 320))) // 8
        run = asked(client, files={"image": ("dark.png", encoded(dark))})
        told = run["result"]["summarizer_result"]["advice"]
        number = next(place for place, each in enumerate(told) if each["fix"] and each["fix"]["kind"] == "exposure")
        found = client.get(f"{run['links']['self']}/fixes/{number}").json()
        assert found["do"] == told[number]["do"]
        assert found["after"] > found["before"]
        copy = np.asarray(Image.open(BytesIO(client.get(found["image"]).content)))
        assert copy.shape == dark.shape
        assert copy.mean() > 2 * dark.mean()
        is_problem(client.get(f"{run['links']['self']}/fixes/20"), 404, "no_such_fix")


@pytest.mark.hard
def test_a_smaller_file_looks_the_same_and_is_what_it_says(client: httpx.Client):
    with Image.open(Path(__file__).parents[3] / "examples" / "pictures" / "dandelion.jpg") as picture:
        pixels = np.asarray(picture.convert("RGB").resize((320, 240)))
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    sent = encoded(pixels, icc_profile=profile)
    run = asked(client, files={"image": ("large.png", sent)})
    found = client.get(run["links"]["smaller"]).json()
    assert found["bytes_before"] == len(sent)
    assert found["kept"] >= found["least"] == 4.2
    assert abs(found["after"] - found["before"]) < 1
    reply = client.get(found["image"])
    assert reply.headers["content-type"] == "image/webp"
    assert len(reply.content) == found["bytes_after"] < found["bytes_before"]
    copy = Image.open(BytesIO(reply.content))
    assert (copy.format, copy.size) == ("WEBP", (320, 240))
    assert copy.info["icc_profile"] == profile
    is_problem(client.get(run["links"]["smaller"] + "/image?quality=101"), 422, "invalid_request")


def test_a_file_that_is_small_already_is_left_as_it_is(client: httpx.Client):
    with Image.open(Path(__file__).parents[3] / "examples" / "pictures" / "dandelion.jpg") as picture:
        pixels = np.asarray(picture.convert("RGB").resize((320, 240)))
    run = asked(client, files={"image": ("small.jpg", encoded(pixels, "JPEG", quality=8))})
    found = client.get(run["links"]["smaller"]).json()
    assert [found[name] for name in ("bytes_after", "quality", "kept", "after", "image")] == [None] * 5
    assert found["bytes_before"] == len(encoded(pixels, "JPEG", quality=8))


def test_a_transparent_picture_is_not_made_opaque(client: httpx.Client):
    shining = np.full((64, 64, 4), 90, np.uint8)
    run = asked(client, files={"image": ("logo.png", encoded(shining))})
    is_problem(client.get(run["links"]["smaller"]), 422, "transparent")


# --- where it is worst, what the file says ---


def test_worst_place_is_inside_the_picture_and_no_better_than_the_whole(client: httpx.Client):
    run = asked(client)
    found = client.get(run["links"]["worst"]).json()
    x, y, width, height = found["box"]
    assert x >= 0
    assert y >= 0
    assert x + width <= scene().shape[1]
    assert y + height <= scene().shape[0]
    assert 1 <= found["score"] <= found["whole"] <= 5


@pytest.mark.hard
def test_closer_looks_of_a_run_are_shown_and_no_others(client: httpx.Client):
    run = asked(client, files={"image": ("large.png", encoded(scene(900, 2304)))})
    views = run["result"]["executor_evidence"]["views"]
    assert 1 <= len(views) <= 4
    for number, view in enumerate(views, 1):
        reply = client.get(run["links"]["view"], params={"number": number})
        assert reply.headers["content-type"] == "image/png"
        _, _, width, height = view["box"]
        assert Image.open(BytesIO(reply.content)).size == (width * view["scale"], height * view["scale"])
    is_problem(client.get(run["links"]["view"], params={"number": len(views) + 1}), 404, "no_such_view")
    off = asked(client, files={"image": ("large.png", encoded(scene(900, 2304)))}, data={"views": "off"})
    assert off["result"]["executor_evidence"]["views"] == []
    is_problem(client.get(off["links"]["view"]), 404, "no_such_view")
    is_problem(assess(client, data={"views": "perhaps"}), 422, "invalid_request")


def test_file_says_how_it_was_taken_and_not_where(client: httpx.Client):
    exif = Image.Exif()
    exif[271], exif[272], exif[305] = "Maker", "Maker Z5", "Editor 3"
    exif.get_ifd(0x8769).update(
        {33434: 0.005, 33437: 2.8, 34855: 800, 42033: "serial-42", 36867: "2024:05:17 09:30:00"}
    )
    exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 12.0, 0.0)})
    run = asked(client, files={"image": ("dsc.jpg", encoded(scene(), "JPEG", exif=exif))})
    reply = client.get(run["links"]["file"])
    told = reply.json()
    assert told["taken"] == {
        "camera": "Maker Z5",
        "exposure": "1/200 s",
        "aperture": "f/2.8",
        "iso": "ISO 800",
        "date": "2024-05-17 09:30",
        "program": "Editor 3",
    }
    assert (told["format"], told["name"], told["frames"]) == ("JPEG", "dsc.jpg", 1)
    assert "serial-42" not in reply.text
    assert "48" not in str(told["taken"])


def test_animated_picture_says_that_one_frame_is_judged(client: httpx.Client):
    frames = [Image.fromarray(scene()), Image.fromarray(scene()[::-1])]
    buffer = BytesIO()
    frames[0].save(buffer, "GIF", save_all=True, append_images=frames[1:])
    run = asked(client, files={"image": ("loop.gif", buffer.getvalue())})
    assert client.get(run["links"]["file"]).json()["frames"] == 2
    assert any("first frame" in note for note in run["result"]["metadata"]["image_notes"])


def test_each_side_of_a_comparison_has_its_file(client: httpx.Client):
    reply = client.post("/v1/compare", files={"image_a": ("a.png", PICTURE), "image_b": ("b.png", REFERENCE)})
    run = client.get(reply.headers["location"]).json()
    names = [client.get(run["links"][f"file_{side}"]).json()["name"] for side in "ab"]
    assert names == ["a.png", "b.png"]


# --- asking again about a picture that is here ---


def test_kept_picture_is_asked_about_again(client: httpx.Client):
    run = asked(client)
    form = client.post(
        "/v1/assess", data={"image_kept": f"{run['id']}/image"}, files={"reference": ("r.png", REFERENCE)}
    )
    body = client.post("/v1/assess", json={"image": {"kept": f"{run['id']}/image"}})
    for reply in (form, body):
        assert reply.status_code == 200, reply.text
        assert reply.json()["image_path"] == "photo.png"
        assert reply.json()["metadata"]["image_sha256"] == run["result"]["metadata"]["image_sha256"]


@pytest.mark.parametrize("kept", ["0123456789ab/image", "{id}/reference", "{id}/../image"])
def test_picture_that_is_not_kept(client: httpx.Client, kept: str):
    run = asked(client)
    reply = client.post("/v1/assess", json={"image": {"kept": kept.format(id=run["id"])}})
    is_problem(reply, 422, "picture_gone")


@pytest.mark.parametrize("kept", ["", "image", "../../etc/passwd", "0123456789ab/"])
def test_what_names_no_run_is_refused(client: httpx.Client, kept: str):
    is_problem(client.post("/v1/assess", json={"image": {"kept": kept}}), 422, "invalid_request")


@pytest.mark.hard
def test_kept_pictures_of_others_are_not_there(tmp_path: Path):
    keys = KeyFile(tmp_path / "keys.json")
    mine, yours = keys.add("me"), keys.add("you")
    with serving(tmp_path, ScriptedClient(), api_keys_file=keys.path) as running:
        with running.client(headers={"Authorization": f"Bearer {mine}"}) as client:
            run = asked(client)
        with running.client(headers={"Authorization": f"Bearer {yours}"}) as client:
            reply = client.post("/v1/assess", json={"image": {"kept": f"{run['id']}/image"}})
            is_problem(reply, 422, "picture_gone")
            for address in ("worst", "file"):
                is_problem(client.get(run["links"][address]), 404, "run_not_found")


def test_examples_are_small_and_six_come_first(server: Running, client: httpx.Client):
    listed = client.get("/v1/examples").json()["examples"]
    first = [example for example in listed if example["first"]]
    assert len(first) == 6
    for example in first:
        data = client.get(example["image"]).content
        assert len(data) <= 60_000
        assert Image.open(BytesIO(data)).format == "JPEG"
        assert example["licence"]


# --- comparing one place ---


def compared(client: httpx.Client, **fields: str) -> httpx.Response:
    half_spoilt = scene().copy()
    half_spoilt[:, : scene().shape[1] // 2] //= 6
    files = {"image_a": ("a.png", REFERENCE), "image_b": ("b.png", encoded(half_spoilt))}
    return client.post("/v1/compare", files=files, data=fields)


@pytest.mark.hard
def test_comparison_inside_a_box_sees_nothing_else(client: httpx.Client):
    height, width = scene().shape[:2]
    inside = compared(client, region=f"[{width // 2}, 0, {width // 2}, {height}]")
    assert inside.status_code == 200, inside.text
    assert (inside.json()["winner"], inside.json()["chance_a"]) == ("tie", 0.5)
    assert inside.json()["a"]["metadata"]["image_size"] == [width // 2, height]
    assert compared(client).json()["chance_a"] != 0.5


def test_box_outside_of_the_pictures(client: httpx.Client):
    is_problem(compared(client, region="[0, 0, 9999, 10]"), 422, "region")


def test_one_place_of_pictures_of_two_sizes(client: httpx.Client):
    files = {"image_a": ("a.png", REFERENCE), "image_b": ("b.png", encoded(scene()[:64, :64]))}
    is_problem(client.post("/v1/compare", files=files, data={"region": "[0, 0, 32, 32]"}), 422, "region")
