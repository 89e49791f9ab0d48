"""Pictures from elsewhere: read into memory, measured and assessed under their own name."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path

import fsspec
import pytest

from agenticiqa.batch.preparing import BatchRequest, prepare_job
from agenticiqa.batch.remote_pictures import picture_at
from agenticiqa.errors import ImageError, ImageNotFoundError, ImageTooLargeError
from agenticiqa.pictures.images import ImageLimits
from support.batches import make_pictures, measuring_job, records, run_batch, write_jsonl

pytestmark = pytest.mark.usefixtures("isolated")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files."""
    folder = tmp_path / "temporär"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def bucket(tmp_path: Path) -> str:
    make_pictures(tmp_path / "set", 1)
    for name in ("noisy0.png", "clean0.png"):
        with fsspec.open(f"memory://bucket/{name}", "wb") as file:
            file.write((tmp_path / "set" / name).read_bytes())
    with fsspec.open("memory://bucket/broken.png", "wb") as file:
        file.write(b"no picture")
    return "memory://bucket"


def test_remote_picture_equals_the_local_one_and_leaves_nothing_behind(tmp_path, temporary, bucket):
    manifest = write_jsonl(
        tmp_path / "set" / "m.jsonl",
        [
            {"sample_id": "remote", "image_path": f"{bucket}/noisy0.png", "reference_path": f"{bucket}/clean0.png"},
            {"sample_id": "local", "image_path": "noisy0.png", "reference_path": "clean0.png"},
            {
                "sample_id": "file",
                "image_path": (tmp_path / "set" / "noisy0.png").as_uri(),
                "reference_path": "clean0.png",
            },
            {"sample_id": "gone", "image_path": f"{bucket}/gone.png"},
            {"sample_id": "broken", "image_path": f"{bucket}/broken.png"},
        ],
    )
    summary = run_batch(manifest, tmp_path / "r.jsonl")
    remote, local, by_file, gone, broken = records(tmp_path / "r.jsonl")
    assert summary.errors == {"image_not_found": 1, "image_format": 1}
    assert [each["raw"] for each in remote["measurements"]] == [each["raw"] for each in local["measurements"]]
    assert by_file["image_path"] == local["image_path"]
    assert remote["image_path"] == "memory://bucket/noisy0.png"
    assert "memory://bucket/gone.png" in gone["error"]
    assert "memory://bucket/broken.png" in broken["error"]
    assert str(temporary) not in (tmp_path / "r.jsonl").read_text()
    assert list(temporary.iterdir()) == []


def test_picture_inside_an_archive(tmp_path, temporary):
    make_pictures(tmp_path / "set", 1)
    with zipfile.ZipFile(tmp_path / "set.zip", "w") as archive:
        archive.write(tmp_path / "set" / "noisy0.png", "noisy0.png")
    url = f"zip://noisy0.png::{tmp_path / 'set.zip'}"
    manifest = write_jsonl(tmp_path / "m.jsonl", [{"sample_id": "1", "image_path": url}])
    summary = run_batch(manifest, tmp_path / "r.jsonl", job=measuring_job(tools=("sharpness",)))
    assert (summary.ok, records(tmp_path / "r.jsonl")[0]["image_path"]) == (1, url)


def test_agents_know_a_remote_picture_by_its_address(tmp_path, temporary, bucket):
    rows = [
        {"sample_id": "good", "image_path": f"{bucket}/noisy0.png", "reference_path": f"{bucket}/clean0.png"},
        {"sample_id": "broken", "image_path": f"{bucket}/broken.png"},
    ]
    manifest = write_jsonl(tmp_path / "set" / "m.jsonl", rows)
    summary = run_batch(manifest, tmp_path / "r.jsonl", job=prepare_job(BatchRequest(backend="embedded")))
    good, broken = records(tmp_path / "r.jsonl")
    assert (summary.ok + summary.partial, summary.errors) == (1, {"image_format": 1})
    assert (good["image_path"], good["reference_path"]) == ("memory://bucket/noisy0.png", "memory://bucket/clean0.png")
    assert good["metadata"]["image_sha256"] == hashlib.sha256((tmp_path / "set/noisy0.png").read_bytes()).hexdigest()
    assert "memory://bucket/broken.png" in broken["error"]
    assert list(temporary.iterdir()) == []


def test_limits_and_errors_of_fetching(temporary, bucket):
    small = ImageLimits(max_bytes=100)
    with pytest.raises(ImageTooLargeError, match=r"memory://bucket/noisy0\.png"):
        picture_at(f"{bucket}/noisy0.png").open(small)
    with pytest.raises(ImageNotFoundError):
        picture_at(f"{bucket}/gone.png").open(small)
    with pytest.raises(ImageError):
        picture_at("zip://x.png::/no/such.zip").open(small)
    assert list(temporary.iterdir()) == []
