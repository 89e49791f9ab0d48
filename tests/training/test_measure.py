import numpy as np
import pytest
from training.distortions import PROTOCOL
from training.embedded import measure
from training.embedded.evaluate import ways_of
from training.embedded.kinds import CATEGORY_INDEX, KIND_INDEX, KINDS, severity_of

NAMES = [distortion.name for distortion in PROTOCOL]


def perfect(photographs=3):
    """Predictions that are right about everything."""
    row = np.tile(np.append(np.repeat(np.arange(25), 5), -1), photographs)
    level = np.tile(np.append(np.tile(np.arange(1, 6), 25), 0), photographs)
    photograph = np.repeat(np.arange(photographs), 126)
    opinion = np.array([PROTOCOL[r].opinions[int(n) - 1] if r >= 0 else 4.6 for r, n in zip(row, level, strict=True)])
    severities = np.zeros((len(row), 8, 5))
    kinds = np.zeros((len(row), len(KINDS)))
    for place, (r, value) in enumerate(zip(row, opinion, strict=True)):
        severities[place, :, 0] = 1
        kinds[place, KIND_INDEX[PROTOCOL[r].name] if r >= 0 else 0] = 1
        if r >= 0:
            where = CATEGORY_INDEX[PROTOCOL[r].category]
            severities[place, where] = np.eye(5)[severity_of(value)]
    found = {
        "score": opinion,
        "damage": opinion,
        "spread": np.full(len(row), 0.05),
        "severities": severities,
        "kinds": kinds,
    }
    return found, level, row, photograph


def test_perfect_predictions_get_perfect_figures():
    figures = measure.protocol_figures(*perfect())
    assert figures["srcc"]["value"] == 1
    assert figures["category_accuracy_changed"]["value"] == 1
    assert figures["severity_within_one"]["value"] == 1
    assert figures["unchanged_false_alarm"] == 0
    assert figures["monotone"]["value"] == 1


def test_a_wrong_category_counts():
    found, *rest = perfect()
    jpeg = rest[1] == NAMES.index("jpeg")
    found["kinds"][jpeg] = np.eye(len(KINDS))[KIND_INDEX["white_noise"]]
    figures = measure.protocol_figures(found, *rest)
    assert figures["category_recall_visible"]["Compression"] < 1
    assert figures["category_recall_visible"]["Blurs"] == 1


@pytest.mark.parametrize(
    ("name", "scores", "monotone"),
    [
        ("jpeg", [4.5, 4.4, 4.0, 2.0, 1.5], True),
        ("jpeg", [4.5, 4.4, 4.0, 2.0, 2.3], False),
        ("mean_shift", [4.0, 4.5, 4.6, 4.4, 3.9], True),
        ("mean_shift", [4.7, 4.5, 4.6, 4.4, 3.9], False),
        # Contrast is unchanged between the third and the fourth level: these two are not compared.
        ("contrast_change", [3.4, 3.9, 4.2, 4.5, 3.3], True),
        ("contrast_change", [3.4, 3.9, 4.2, 3.9, 4.3], False),
    ],
)
def test_monotone_chains(name, scores, monotone):
    assert measure.chain_is_monotone(np.array(scores), NAMES.index(name)) is monotone


def test_calibration_error_of_overconfidence():
    sure = np.tile([1.0, 0, 0, 0, 0], (10, 1))
    truth = np.array([0] * 6 + [1] * 4)
    assert measure.calibration_error(sure, truth) == pytest.approx(0.4)


def test_intervals_by_group_are_wider():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(10), 50)
    values = rng.normal(0, 1, 10)[groups] + rng.normal(0, 0.1, 500)
    alone = measure.interval(measure.mean, values)
    grouped = measure.interval(measure.mean, values, groups=groups)
    assert grouped[1] - grouped[0] > alone[1] - alone[0]


def test_every_way_of_damage_is_seen_on_about_as_many_photographs():
    counts = np.bincount(np.concatenate([ways_of(place, 5) for place in range(92)]), minlength=25)
    assert counts.min() >= 18
    assert counts.max() <= 19
