"""What readers tell, as numbers."""

from __future__ import annotations

import pytest

from agenticiqa.embedded.readings.base import PropertyReading, reader, reader_of


def test_amount_and_presence_follow_from_the_chances_of_the_places() -> None:
    told = PropertyReading("Half and half.", (0.5, 0.0, 0.0, 0.0, 0.5))
    assert told.amount == 0.5
    assert told.presence == 0.5


def test_a_property_without_a_scale_has_no_amount() -> None:
    told = PropertyReading("Mostly red.", values={"red": 1.0})
    assert told.amount is None
    assert told.presence is None


def test_a_property_has_one_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reader_of("sharp") is not None
    monkeypatch.setattr("agenticiqa.embedded.readings.base._READERS", {})
    reader("striped")(lambda look: PropertyReading("Stripes."))
    assert reader_of("striped") is not None
    assert reader_of("dotted") is None
    with pytest.raises(ValueError, match="Two readers"):
        reader("striped")(lambda look: None)
