import numpy as np
from training.embedded import splits


def test_no_picture_is_on_two_sides():
    for sides in splits.load().values():
        names = [name for members in sides.values() for name in members]
        assert len(names) == len(set(names))
        assert {"train", "validation", "test"} == set(sides)
        assert 0.09 < len(sides["test"]) / len(names) < 0.12


def test_near_pictures_and_mirrored_ones_share_a_group():
    rng = np.random.default_rng(0)
    one, other = rng.random((2, 256)) < 0.5
    near = one.copy()
    near[:10] = ~near[:10]
    mirrored = ~one.reshape(16, 16)[:, ::-1].ravel()
    found = splits.groups(np.stack([one, other, near, mirrored]), ["", "", "", ""])
    assert found[0] == found[2] == found[3] != found[1]


def test_a_series_shares_a_group_and_groups_are_never_divided():
    hashes = np.random.default_rng(1).random((40, 256)) < 0.5
    series = [f"series{'abcdefgh'[index % 8]}" for index in range(40)]
    group = splits.groups(hashes, series)
    assert len(np.unique(group)) == 8
    names = [f"{index:02d}.jpg" for index in range(40)]
    parts = splits.divided(names, group)
    side = {name: part for part, members in parts.items() for name in members}
    for number in np.unique(group):
        assert len({side[names[index]] for index in np.flatnonzero(group == number)}) == 1
