"""Each reader on a small folder in the official layout."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import layouts
from benchmarks.datasets.catalogue import ALL, find
from benchmarks.datasets.checking import DatasetReading, check_folder
from benchmarks.datasets.folder import DatasetError


def read(name: str, root: Path, subset: str | None = None) -> list:
    layouts.MAKERS[name](root)
    reading = DatasetReading(find(name), root, subset)
    samples = list(reading.samples())
    assert reading.check.missing == []
    for sample in samples:
        assert Path(sample.image_path).is_file()
        assert sample.reference_path is None or Path(sample.reference_path).is_file()
        assert sample.carried["dataset"] == name
    return samples


def test_every_dataset_has_a_layout_here():
    assert set(layouts.MAKERS) == {dataset.name for dataset in ALL}


def test_tid2013_finds_files_whatever_their_case(tmp_path):
    first, second, last = read("tid2013", tmp_path)
    assert (first.mos, first.carried["distortion"], first.carried["level"]) == (5.51429, "additive Gaussian noise", 1)
    assert second.carried["distortion"] == "Gaussian blur"
    assert Path(first.image_path).name == "i01_01_1.bmp"
    assert Path(last.reference_path).name == "i25.bmp"
    assert last.carried["distortion"] == "sparse sampling and reconstruction"
    assert check_folder(find("tid2013"), tmp_path).missing == []


def test_kadid_is_higher_for_better_although_it_says_dmos(tmp_path):
    best, worst = read("kadid10k", tmp_path)
    assert best.mos == best.carried["mos_original"] == 4.57
    assert (best.carried["distortion"], best.carried["level"]) == ("gaussian_blur", 1)
    assert worst.mos < best.mos
    assert Path(best.reference_path).name == "I01.png"


def test_csiq_is_turned_round(tmp_path):
    noise, jpeg2000, contrast = read("csiq", tmp_path)
    assert noise.mos == pytest.approx(1 - 0.062)
    assert noise.carried["mos_original"] == 0.062
    assert Path(noise.image_path).name == "1600.AWGN.1.png"
    assert (jpeg2000.carried["distortion"], jpeg2000.carried["level"]) == ("JPEG2000 compression", 5)
    assert Path(contrast.reference_path).name == "1600.png"


def test_csiq_from_the_text_form_and_a_flat_folder(tmp_path):
    (tmp_path / "csiq_label.txt").write_text("1600.AWGN.1.png 0.062\nfamily.jpeg2000.2.png 0.5\n")
    layouts.touch(tmp_path, "src_imgs/1600.png", "src_imgs/family.png")
    layouts.touch(tmp_path, "dst_imgs_all/1600.AWGN.1.png", "dst_imgs_all/family.jpeg2000.2.png")
    check = check_folder(find("csiq"), tmp_path)
    assert (check.listed, check.present) == (2, 2)


def test_live_leaves_the_originals_out_and_is_turned_round(tmp_path):
    samples = read("live", tmp_path)
    assert len(samples) == find("live").counts["all"] == 779
    assert samples[0].mos == 100
    assert samples[1].mos < 100
    assert samples[0].sample_id == "live/jp2k/img1"
    assert {sample.carried["distortion"] for sample in samples[227:460]} == {"JPEG compression"}
    assert check_folder(find("live"), tmp_path).complete


def test_pipal_looks_through_the_four_parts(tmp_path):
    first, second = read("pipal", tmp_path)
    assert (first.mos, Path(second.image_path).parent.name) == (1379.4179, "Distortion_2")
    assert Path(first.reference_path).name == "A0001.bmp"


@pytest.mark.parametrize(("subset", "first"), [("50cm", 1.0), ("100cm", 9.0)])
def test_cidiq_orders_scores_by_distortion_picture_and_level(tmp_path, subset, first):
    samples = read("cidiq", tmp_path, subset)
    assert len(samples) == 690
    assert samples[0].mos == first
    assert Path(samples[115 + 5 * 2 + 3].image_path).name == "final03_d2_l4.bmp"
    assert samples[115].carried["distortion"] == "JPEG Compression"
    assert samples[0].carried["viewing_distance"] == {"50cm": "50 cm", "100cm": "100 cm"}[subset]


def test_clive_leaves_the_training_pictures_out(tmp_path):
    samples = read("clive", tmp_path)
    assert [Path(sample.image_path).name for sample in samples] == ["3.bmp", "1024.JPG"]
    assert samples[-1].mos == 80
    everything = list(DatasetReading(find("clive"), tmp_path, "all").samples())
    assert len(everything) == 9
    assert Path(everything[0].image_path).parent.name == "trainingImages"


def test_koniq(tmp_path):
    (sample,) = read("koniq10k", tmp_path)
    assert (sample.mos, sample.carried["mos_zscore"], sample.carried["picture_size"]) == (3.83, 77.38, "1024x768")


def test_spaq(tmp_path):
    (sample,) = read("spaq", tmp_path)
    assert (sample.mos, sample.carried["mos_sharpness"]) == (63.5, 64)


def test_bid(tmp_path):
    first, second = read("bid", tmp_path)
    assert (first.mos, Path(first.image_path).name) == (2.68, "DatabaseImage0001.JPG")
    assert Path(second.image_path).name == "DatabaseImage0026.jpg"


@pytest.mark.parametrize(("subset", "scores"), [(None, [0.8471, 0.25]), ("train", [0.8471]), ("test", [0.25])])
def test_biq2021(tmp_path, subset, scores):
    assert [sample.mos for sample in read("biq2021", tmp_path, subset)] == scores


def test_agiqa(tmp_path):
    (sample,) = read("agiqa-3k", tmp_path)
    assert (sample.mos, sample.carried["mos_align"], sample.carried["generator"]) == (1.13, 0.9, "AttnGAN")


def test_llvisionqa(tmp_path):
    (sample,) = read("llvisionqa", tmp_path)
    assert (sample.query, sample.options, sample.answer) == ("Is this image clear?", ["Yes", "No"], "B")
    assert (sample.carried["question_type"], sample.carried["concern"]) == ("yes-or-no", "in-context other")
    (hidden,) = DatasetReading(find("llvisionqa"), tmp_path, "test").samples()
    assert hidden.answer is None


def test_agenticiqa_eval(tmp_path):
    tool, planner = read("agenticiqa-eval", tmp_path)
    assert (tool.carried["task"], planner.carried["task"]) == ("executor-tool", "planner")
    assert (tool.answer, Path(tool.reference_path).name) == ("A", "r.png")
    assert len(list(DatasetReading(find("agenticiqa-eval"), tmp_path, "planner").samples())) == 1


@pytest.mark.parametrize("name", sorted(layouts.MAKERS))
def test_an_empty_folder_says_what_is_missing_and_where_to_get_it(tmp_path, name):
    with pytest.raises(DatasetError) as failure:
        list(DatasetReading(find(name), tmp_path).samples())
    assert failure.value.hint == find(name).obtain


@pytest.mark.parametrize("name", ["csiq", "spaq", "bid"])
def test_without_openpyxl_the_extra_is_named(tmp_path, name, monkeypatch):
    layouts.MAKERS[name](tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DatasetError, match="openpyxl") as failure:
        list(DatasetReading(find(name), tmp_path).samples())
    assert "openpyxl" in failure.value.hint


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("tid2013", "mos_with_names.txt", "5.5 somebody.bmp"),
        ("kadid10k", "dmos.csv", "a,b\n1,2"),
        ("kadid10k", "dmos.csv", "dist_img,ref_img,dmos\nI01_01_01.png,I01.png,high"),
        ("csiq", "csiq.DMOS.xlsx", "no sheet"),
        ("live", "dmos.mat", "no matrix"),
        ("llvisionqa", "llvisionqa_dev.json", "{}"),
        (
            "llvisionqa",
            "llvisionqa_dev.json",
            '[{"img_path": "a", "question": "q", "candidates": ["x", "y"], "correct_ans": "z"}]',
        ),
    ],
)
def test_a_broken_label_file_is_named(tmp_path, name, file, content):
    layouts.MAKERS[name](tmp_path)
    (tmp_path / file).write_text(content)
    with pytest.raises(DatasetError, match=file.replace(".", r"\.")):
        list(DatasetReading(find(name), tmp_path).samples())
