"""Charts that set methods beside each other."""

from __future__ import annotations

from xml.etree import ElementTree

from agenticiqa.research.report.charts import Bar, interval_bars, scatter


def drawn(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)


def test_bars_reach_as_far_as_their_figures_and_names_are_escaped():
    svg = interval_bars(
        [Bar("a <b>", 0.8, 0.7, 0.9), Bar("half", 0.4), Bar("paper", 0.9, published=True)], "SRCC & more"
    )
    root = drawn(svg)
    assert root.get("aria-label") == "SRCC & more"
    widths = [float(rect.get("width")) for rect in root.iter("rect")]
    assert abs(widths[0] - 2 * widths[1]) < 0.2
    assert len({rect.get("fill") for rect in root.iter("rect")}) == 2
    assert len(list(root.iter("path"))) == 1  # one of them has an interval
    assert "a <b>: 0.800 [0.700, 0.900]" in [title.text for title in root.iter("title")]


def test_negative_figures_reach_to_the_left():
    root = drawn(interval_bars([Bar("up", 0.5), Bar("down", -0.5)], "SRCC"))
    up, down = root.iter("rect")
    assert float(down.get("x")) < float(up.get("x"))


def test_a_large_set_is_thinned_the_same_way_every_time():
    values = list(range(100))
    drawn_twice = [scatter(values, values, most=10) for _ in range(2)]
    assert drawn_twice[0] == drawn_twice[1]
    assert drawn_twice[0].count("<circle") == 10
    assert "Scores of 100 samples" in drawn_twice[0]
