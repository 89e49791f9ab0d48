import numpy as np
import pytest
from PIL import Image
from training.embedded import kind_flaws, measure, real_flaws, screens
from training.embedded.kinds import KIND_INDEX, KINDS
from training.embedded.real_flaws import FLAW_CATEGORY, FLAWS, SORTS, Example, known
from training.embedded.variants import SIDE, VIEW, made


def row(**given):
    return {"image": "x/one.jpg", "flaw": "motion", "group": "", "value": "1", "mos": ""} | given


def test_no_picture_is_in_two_parts_and_forbidden_collections_only_measure():
    parts = real_flaws.load()
    names = [name for members in parts.values() for name in members]
    assert len(names) == len(set(names))
    for part, members in parts.items():
        for name in members:
            assert (name.split("/")[0] in real_flaws.MEASURE_ONLY) == (part == "measure")


def test_scenes_in_pairs_stay_on_one_side():
    side = {name: part for part, members in real_flaws.load().items() for name in members if name.startswith("dark/")}
    for name, part in side.items():
        other = name.replace("_low", "_high") if "_low" in name else name.replace("_high", "_low")
        assert side.get(other, part) == part


def test_groups_are_never_divided():
    examples = [Example(f"motion/{place}.jpg", "motion", f"{place // 2}", known()) for place in range(40)]
    hashes = np.random.default_rng(0).random((40, 256)) < 0.5
    parts = real_flaws.divided(examples, real_flaws.linked(examples, hashes))
    side = {name: part for part, members in parts.items() for name in members}
    assert len(side) == 40
    for place in range(0, 40, 2):
        assert side[f"motion/{place}.jpg"] == side[f"motion/{place + 1}.jpg"]


def test_motion_is_blur_and_a_still_photograph_has_none():
    moving, still = real_flaws.example(row()), real_flaws.example(row(value="0"))
    place = FLAWS.index("motion_blur")
    assert (moving.flaws[place], still.flaws[place]) == (1, 0)
    assert moving.flaws[FLAWS.index("blurry")] == 1
    assert moving.flaws[FLAWS.index("too_dark")] == real_flaws.UNKNOWN


def test_shallow_focus_is_no_flaw_of_the_picture():
    shallow = real_flaws.example(row(flaw="defocus", value="0.6"))
    nearly_all = real_flaws.example(row(flaw="defocus", value="0.95"))
    place = FLAWS.index("out_of_focus")
    assert (shallow.flaws[place], nearly_all.flaws[place]) == (real_flaws.UNKNOWN, 1)


def test_opinions_of_ordinary_photographs_use_the_whole_scale():
    assert real_flaws.flive_scale(30) == 1.0
    assert 3.5 < real_flaws.flive_scale(73) < 4.0
    assert real_flaws.flive_scale(89) == 5.0


def test_a_row_of_an_unknown_flaw_is_refused():
    with pytest.raises(ValueError, match="earthquake"):
        real_flaws.example(row(flaw="earthquake"))


def test_every_flaw_speaks_for_a_category_and_kinds_agree_with_it():
    table = kind_flaws.table()
    assert table.shape == (len(KINDS), len(FLAWS))
    for kind, place in KIND_INDEX.items():
        for flaw in np.flatnonzero(table[place] == 1):
            assert KINDS[place].category == FLAW_CATEGORY[FLAWS[flaw]], kind
    assert not table[KIND_INDEX["unchanged"]].any()


def test_variants_have_one_size_and_masks_follow_the_window():
    rng = np.random.default_rng(0)
    picture = Image.fromarray(rng.integers(0, 255, (342, 512, 3), dtype=np.uint8))
    everything_out = Image.new("L", picture.size, 255)
    for _ in range(5):
        variant = made(picture, everything_out, False, rng)
        assert variant.window.shape == (SIDE, SIDE, 3)
        assert variant.view.shape == (VIEW, VIEW, 3)
        assert variant.focus.max() == 0
    assert (made(picture, None, True, rng).focus == -1).all()


def test_a_drawn_screen_is_the_same_every_time(tmp_path):
    photograph = tmp_path / "a.jpg"
    Image.new("RGB", (64, 48), (200, 30, 30)).save(photograph)
    one, other = (screens.drawn(np.random.default_rng(3), [photograph]) for _ in range(2))
    assert one.size in screens.SIZES
    assert np.array_equal(np.asarray(one), np.asarray(other))


def test_balanced_accuracy_does_not_ask_what_is_unknown():
    said, truth = np.array([True, False, True, False]), np.array([1, 0, -1, -1])
    assert measure.balanced_accuracy(said, truth) == 1.0
    assert np.isnan(measure.balanced_accuracy(said, np.array([1, 1, -1, -1])))


def test_sorts_of_the_collection_are_among_ours():
    assert set(real_flaws.SORT_OF.values()) < set(SORTS)
