"""Views in a run: what models are shown, what is recorded, and how asking for views ends."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.errors import ConfigError, RefusalError
from agenticiqa.nodes.prompts import PARTS_ATTACHED, PARTS_NOTED
from agenticiqa.state import View
from agenticiqa.vision.views import render, view_label
from support.builders import RATE
from support.pictures import distorted, save, scene
from support.scripted import ScriptedClient, analysed, analysis_reply, answer_reply, plan_reply, views_reply

WHY = "Which flaw dominates? A. Blur B. Noise"


@pytest.fixture
def large(tmp_path):
    """Large for a model that sees 512 pixels a side."""
    return save(tmp_path / "large.png", distorted(scene(600, 900), 12))


def client(sees: int = 512, **replies) -> ScriptedClient:
    made = ScriptedClient(**replies)
    made.sees_side = sees
    return made


def shown(client: ScriptedClient, step: str) -> list[bytes]:
    """The pictures beside the whole one."""
    asked = client.script.of(step)[-1]
    return [item.image.data for item in asked.images if item.label.startswith("view ")]


@pytest.mark.hard
def test_models_are_shown_exactly_the_recorded_views(assessor, large) -> None:
    model = client(plan=plan_reply(query_type="Other"))
    given = assessor(model)
    result = given.assess(large, WHY)
    views = result.executor_evidence.views
    image = given.open_picture(large)
    assert 1 <= len(views) <= 4
    expected = [render(view, image).data for view in views]
    for step in ("detection", "analysis", "answer"):
        assert shown(model, step) == expected
        asked = model.script.of(step)[-1]
        assert [item.label for item in asked.images[1:]] == [
            view_label(number, view, image.size) for number, view in enumerate(views, 1)
        ]
        assert PARTS_ATTACHED in asked.user
        assert all(view.reason in asked.user for view in views)
    assert shown(model, "selection") == []
    for data in expected:
        with Image.open(io.BytesIO(data)) as view:
            assert max(view.size) <= 512


def test_a_score_is_asked_of_the_whole_with_views_as_notes(assessor, large) -> None:
    model = client()
    result = assessor(model).assess(large, RATE)
    assert result.executor_evidence.views
    assert shown(model, "answer") == []
    assert PARTS_NOTED in model.script.of("answer")[-1].user
    assert shown(model, "detection")


@pytest.mark.parametrize(
    ("sees", "options"),
    [
        (900, {}),
        (512, {"views": "off"}),
        (512, {"without": ["views"]}),
        (512, {"without": ["executor"]}),
        (512, {"mode": "direct"}),
    ],
)
def test_no_view_is_made_where_none_is_wanted_or_the_picture_is_seen_whole(assessor, large, sees, options) -> None:
    model = client(sees)
    result = assessor(model).assess(large, RATE, **options)
    assert result.status == "ok"
    assert not (result.executor_evidence and result.executor_evidence.views)
    for question in model.script.asked:
        assert len(question.images) == 1
        assert "view" not in question.user.casefold()


def test_the_paper_profile_takes_no_views(large) -> None:
    with AgenticIQA("embedded", profile="paper", record=False) as given:
        assert given.settings.pipeline.views == "off"


def test_an_unknown_way_to_look_is_refused(assessor, large) -> None:
    with pytest.raises(ConfigError, match="views is 'yes'"):
        assessor(client()).assess(large, views="yes")


def test_a_model_asks_for_views_within_its_budget(assessor, large) -> None:
    replies = [views_reply((700, 500, 400, 400), kind="noise"), views_reply((0, 0, 100, 50), (5, 5, 9, 9))]
    model = client(views=replies)
    given = assessor(model)
    result = given.assess(large, RATE, views="ask")
    asked = [view for view in result.executor_evidence.views if view.chosen_by == "model"]
    assert [(view.kind, view.box) for view in asked] == [
        ("noise", (700, 500, 200, 100)),
        ("magnified", (0, 0, 100, 50)),
    ]
    assert model.script.counts["views"] == 2
    assert "You may ask for 2 views" in model.script.of("views")[0].user
    assert "You may ask for 1 views" in model.script.of("views")[1].user
    assert "difference" not in model.script.of("views")[0].system
    expected = [render(view, given.open_picture(large)).data for view in result.executor_evidence.views]
    assert shown(model, "detection") == expected
    assert [call["step"] for call in result.metadata["call_log"]].count("views") == 2


def test_a_model_that_wants_no_view_is_asked_once(assessor, large) -> None:
    model = client()
    result = assessor(model).assess(large, RATE, views="ask")
    assert model.script.counts["views"] == 1
    assert all(view.chosen_by == "rule" for view in result.executor_evidence.views)


@pytest.mark.parametrize(
    "bad",
    [
        "no JSON at all",
        views_reply((5000, 5000, 10, 10)),
        views_reply((0, 0, 0, 0)),
        views_reply((0, 0, 10, 10), kind="difference"),
        views_reply((0, 0, 10, 10), kind="x-ray"),
        {"views": [{"kind": "noise"}]},
        RefusalError("I will not look closer."),
    ],
    ids=["prose", "outside", "empty", "no-reference", "unknown", "incomplete", "refusal"],
)
def test_a_request_that_cannot_be_met_costs_the_request_alone(assessor, large, bad) -> None:
    model = client(views=bad)
    result = assessor(model).assess(large, RATE, views="ask")
    assert result.answer == "C"
    assert result.status == "partial"
    assert any(error.startswith("views: ") for error in result.executor_evidence.errors)
    assert result.executor_evidence.views
    assert all(view.chosen_by == "rule" for view in result.executor_evidence.views)
    assert model.script.counts["views"] <= 3


def test_a_bad_request_is_asked_for_again(assessor, large) -> None:
    model = client(views=[views_reply((5000, 5000, 10, 10)), views_reply((0, 0, 50, 50)), views_reply()])
    result = assessor(model).assess(large, RATE, views="ask")
    assert (result.status, model.script.counts["views"]) == ("ok", 3)
    assert [view.box for view in result.executor_evidence.views if view.chosen_by == "model"] == [(0, 0, 50, 50)]


@pytest.mark.hard
def test_planning_again_keeps_the_views_and_asks_for_none(assessor, large) -> None:
    unsure, sure = analysis_reply(analysed("Global", uncertain=True)), analysis_reply()
    model = client(views=views_reply((0, 0, 50, 50)), analysis=[unsure, sure])
    result = assessor(model).assess(large, RATE, views="ask")
    assert result.metadata["replans"] == 1
    assert model.script.counts["views"] == 2
    first, second = model.script.of("detection")
    assert [item.image.sha256 for item in first.images] == [item.image.sha256 for item in second.images]


@pytest.mark.hard
def test_what_a_reply_depends_on_holds_the_views(isolated, large) -> None:
    """The same question with other views is another question; with the same views its reply is known."""
    model = client(views=views_reply((0, 0, 50, 50)), answer=answer_reply("B"))
    clients = dict.fromkeys(("planner", "executor", "summarizer"), model)
    with AgenticIQA(clients=clients) as given:
        given.assess(large, RATE, views="ask")
        once = model.calls
        again = given.assess(large, RATE, views="ask")
        assert (model.calls, again.metadata["calls"]) == (once, 0)
        assert any(view.chosen_by == "model" for view in again.executor_evidence.views)
        given.assess(large, RATE, views="auto")
        repeated = [question.step for question in model.script.asked[once:]]
        assert sorted(repeated) == ["analysis", "answer", "detection"]


@pytest.mark.hard
def test_a_run_that_is_resumed_asks_for_no_view_twice(isolated, large) -> None:
    broken = [RuntimeError("gone"), answer_reply("B")]
    model = client(views=views_reply((0, 0, 50, 50)), answer=broken)
    clients = dict.fromkeys(("planner", "executor", "summarizer"), model)
    with AgenticIQA(clients=clients) as given:
        failed = given.assess(large, RATE, views="ask")
        assert failed.status == "error"
        before = model.script.counts["views"]
        result = given.resume(failed.metadata["run_id"])
    assert (result.answer, model.script.counts["views"]) == ("B", before)
    assert any(view.chosen_by == "model" for view in result.executor_evidence.views)


@pytest.mark.hard
def test_the_embedded_answer_tells_of_an_odd_place_and_its_score_stays(tmp_path) -> None:
    from vision.test_closer_look import flawed

    pixels, _ = flawed("noise")
    Image.fromarray(pixels).save(tmp_path / "flawed.png", compress_level=1)
    with AgenticIQA("embedded", record=False) as given:
        wrong = given.assess(tmp_path / "flawed.png", "What is wrong with this picture?")
        off = given.assess(tmp_path / "flawed.png", RATE, views="off")
        on = given.assess(tmp_path / "flawed.png", RATE)
    assert "One place is odd" in wrong.reasoning
    assert "grain" in wrong.reasoning
    assert any(view.oddity == "noise" for view in wrong.executor_evidence.views)
    assert on.score == off.score
    assert "odd" in on.reasoning
    assert "odd" not in off.reasoning


def test_a_view_is_plain_data() -> None:
    view = View(box=(1, 2, 3, 4), reason="x")
    assert View.model_validate_json(view.model_dump_json()) == view
