"""Several models answer from the same evidence; what they say together is one answer, and each is told."""

from __future__ import annotations

import math

import pytest

from agenticiqa import AgenticIQA
from agenticiqa.errors import BackendTimeoutError, ConfigError, RefusalError
from agenticiqa.runtime.config import load_settings
from agenticiqa.state import ModelAnswer
from support.scripted import RichScriptedClient, ScriptedClient, answer_reply, plan_reply

CHOICE = "What is wrong? A. Blur B. Noise C. Nothing"
NO_TOOLS = plan_reply(plan={"tool_selection": False, "tool_execution": False})
EXPLAIN = plan_reply(query_type="Other", plan=dict.fromkeys(NO_TOOLS["plan"], False))


def answering(answer, *, logprobs=None, plan=EXPLAIN, **more):
    """A model with an answer of its own."""
    reply = answer if isinstance(answer, BaseException) else answer_reply(answer, f"Because of {answer}.")
    given = {"plan": plan, "answer": reply, "direct": reply, **more}
    return RichScriptedClient({k: math.log(v) for k, v in logprobs.items()} if logprobs else None, **given)


@pytest.fixture
def together(isolated):
    """Makes an assessor in which these models answer together, by name; the first plans and looks."""
    made = []

    def make(models, **overrides):
        names = list(models)
        for name, model in models.items():
            if model:
                model.backend = name
        first, *others = models.values()
        clients = dict.fromkeys(("planner", "executor", "summarizer"), first)
        clients |= {f"summarizer:{name}": model for name, model in zip(names[1:], others, strict=True) if model}
        made.append(AgenticIQA(backends=names, clients=clients, overrides=overrides))
        return made[-1]

    yield make
    for each in made:
        each.close()


def by_name(result) -> dict[str, ModelAnswer]:
    return {each.backend: each for each in result.models}


def test_each_model_gets_the_same_evidence_bytes_and_words(together, pair):
    models = {name: ScriptedClient() for name in ("one", "two", "three")}
    result = together(models).assess(pair.test, "Rate the quality.", max_replan_iterations=0)
    assert result.status == "ok", result.error
    asked = [model.script.of("answer") for model in models.values()]
    assert [len(each) for each in asked] == [1, 1, 1]
    assert len({each[0].prompt for each in asked}) == 1
    assert len({each[0].images[0].image.sha256 for each in asked}) == 1
    # Planned and looked once, by the first.
    assert [model.script.counts["plan"] for model in models.values()] == [1, 0, 0]
    assert "sharpness" in asked[0][0].prompt or "noise" in asked[0][0].prompt
    assert result.metadata["backend"]["summarizer:three"] == "three"
    assert [each.backend for each in result.models] == ["one", "two", "three"]


def test_chances_are_a_weighted_mean_and_the_minority_is_named(together, pair):
    models = {
        "one": answering("A", logprobs={"A": 0.6, "B": 0.3, "C": 0.1}),
        "two": answering("A", logprobs={"A": 0.5, "B": 0.4, "C": 0.1}),
        "three": answering("B", logprobs={"A": 0.05, "B": 0.9, "C": 0.05}),
    }
    even = together(models).assess(pair.test, CHOICE)
    chances = even.summarizer_result.used_evidence["option_probabilities"]
    assert chances == pytest.approx({"A": 1.15 / 3, "B": 1.6 / 3, "C": 0.25 / 3})
    assert (even.answer, even.reasoning.split(".")[0]) == ("B", "Because of B")
    assert even.summarizer_result.agreement == "Two of three say A. Blur; three says B. Noise (90 %)."
    assert even.summarizer_result.agreement in even.reasoning
    weighted = together(models, **{"summarizer.weights": {"one": 3, "two": 1, "three": 1}}).assess(pair.test, CHOICE)
    assert weighted.answer == "A"
    assert [each.weight for each in weighted.models] == [0.6, 0.2, 0.2]
    assert by_name(weighted)["three"].probabilities["B"] == pytest.approx(0.9)


def test_a_bare_letter_counts_as_sure_as_the_setting_says(together, pair):
    models = {"one": answering("A"), "two": answering("B", logprobs={"A": 0.05, "B": 0.9, "C": 0.05})}
    result = together(models).assess(pair.test, CHOICE)
    assert result.summarizer_result.used_evidence["option_probabilities"]["A"] == pytest.approx((0.8 + 0.05) / 2)
    assert by_name(result)["one"].probabilities is None
    assert result.summarizer_result.agreement == "one says A. Blur; two says B. Noise (90 %)."


def test_ratings_are_fused_from_joint_chances(together, pair):
    models = {
        "one": answering("A", plan=NO_TOOLS, logprobs={"A": 0.9, "B": 0.1, "C": 0.0001, "D": 0.0001, "E": 0.0001}),
        "two": answering("C", plan=NO_TOOLS, logprobs={"A": 0.0001, "B": 0.0001, "C": 1.0, "D": 0.0001, "E": 0.0001}),
    }
    result = together(models).assess(pair.test, "Rate the quality.", max_replan_iterations=0)
    assert result.score == pytest.approx((4.9 + 3) / 2, abs=0.01)
    assert result.answer == "B"
    assert [each.quality_score for each in result.models] == pytest.approx([4.9, 3.0], abs=0.01)
    assert result.summarizer_result.agreement == "one says A. Excellent (4.90); two says C. Fair (3.00)."
    assert result.summarizer_result.used_evidence["fusion"]["p_source"] == "several models"
    assert result.score_interval is not None


def test_bare_letters_without_tools_are_averaged_without_an_invented_interval(together, pair):
    models = {"one": answering("A", plan=NO_TOOLS), "two": answering("C", plan=NO_TOOLS)}
    result = together(models).assess(pair.test, "Rate the quality.", max_replan_iterations=0)
    assert (result.score, result.answer, result.score_interval) == (4.0, "B", None)


def test_the_embedded_model_beside_another_and_its_own_measurement_counts_once(together, pair):
    result = together({"one": ScriptedClient("one"), "embedded": None}).assess(pair.test, "Rate the quality.")
    assert [each.backend for each in result.models] == ["one", "embedded"]
    assert all(each.quality_score and each.answer in "ABCDE" for each in result.models)
    low, high = sorted(each.quality_score for each in result.models)
    assert low - 0.3 <= result.score <= high + 0.3
    yes_no = together({"one": ScriptedClient("one", plan=EXPLAIN, answer=answer_reply("No")), "embedded": None})
    answer = yes_no.assess(pair.test, "Is it noisy?")
    assert sum(answer.summarizer_result.used_evidence["answer_probabilities"].values()) == pytest.approx(1)
    assert set(answer.summarizer_result.used_evidence["answer_probabilities"]) == {"Yes", "No"}


@pytest.mark.parametrize("failure", [RefusalError("It will not say."), BackendTimeoutError("Too late.")])
def test_one_that_fails_is_told_and_the_others_answer(together, pair, failure):
    models = {"one": answering("A"), "two": answering(failure), "three": answering("A")}
    settings = {"summarizer.weights": {"one": 0.6, "two": 0.2, "three": 0.2}, "summarizer.retry_attempts": 1}
    result = together(models, **settings).assess(pair.test, CHOICE)
    assert (result.status, result.answer) == ("partial", "A")
    assert [each.weight for each in result.models] == [0.75, 0, 0.25]
    assert failure.kind in by_name(result)["two"].error
    assert by_name(result)["two"].answer is None
    assert result.summarizer_result.doubt == f"two gave no answer ({failure.kind}): this one is of the others."
    assert result.summarizer_result.agreement.startswith("Both models say A. Blur. two gave no answer")


def test_where_all_fail_there_is_no_answer(together, pair):
    models = {"one": answering(RefusalError("No.")), "two": answering(BackendTimeoutError("Late."))}
    result = together(models, **{"summarizer.retry_attempts": 1}).assess(pair.test, CHOICE)
    assert result.status == "error"
    assert "No." in result.error
    assert "two failed too: Late." in result.error
    assert result.metadata["error_kind"] == "refusal"
    assert result.models == []


def test_one_that_cannot_tell_has_no_voice(together, pair):
    models = {"one": answering("Unable to determine"), "two": answering("B"), "three": answering("B")}
    result = together(models).assess(pair.test, CHOICE)
    assert (result.answer, result.summarizer_result.agreement) == (
        "B",
        "Two of three say B. Noise; one cannot tell.",
    )
    assert [each.weight for each in result.models] == [0, 0.5, 0.5]
    assert set(result.summarizer_result.used_evidence["option_probabilities"]) == {"A", "B", "C"}
    nobody = together({name: answering("Unable to determine") for name in ("four", "five")}).assess(pair.test, CHOICE)
    assert (nobody.status, nobody.answer) == ("partial", "Unable to determine")
    assert "option_probabilities" not in nobody.summarizer_result.used_evidence
    assert nobody.summarizer_result.agreement == "four and five cannot tell."


def test_words_are_those_of_most_weight(together, pair):
    models = {"one": answering("A cat"), "two": answering("A dog"), "three": answering("A dog")}
    result = together(models).assess(pair.test, "What does it show?")
    assert result.answer == "A dog"
    assert result.summarizer_result.agreement == "Two of three say A dog; one says A cat."
    assert "answer_probabilities" not in result.summarizer_result.used_evidence


def test_the_bare_models_together(together, pair):
    models = {"one": answering("A"), "two": answering("C"), "three": answering("C")}
    result = together(models).assess(pair.test, "Rate the quality.", mode="direct")
    assert result.score == pytest.approx(11 / 3)
    assert (result.answer, result.metadata["calls"]) == ("B", 3)
    assert result.summarizer_result.agreement == "Two of three say C. Fair; one says A. Excellent (5.00)."


def test_cost_tokens_and_cache_count_every_model(together, pair):
    models = {"openai.gpt-4o": answering("A"), "anthropic.claude-3.5-sonnet": answering("A")}
    assessor = together(models)
    first, again = (assessor.assess(pair.test, CHOICE) for _ in range(2))
    answers = [call for call in first.metadata["call_log"] if call["step"] == "answer"]
    assert [call["backend"] for call in answers] == list(models)
    assert first.metadata["cost_usd"] == pytest.approx(sum(call["cost_usd"] for call in first.metadata["call_log"]))
    assert all(call["cost_usd"] > 0 for call in answers)
    assert (again.metadata["calls"], again.metadata["cached_calls"]) == (0, first.metadata["calls"])
    assert again.models == first.models


def test_a_run_is_asked_on_and_replayed_with_the_same_models(together, pair):
    assessor = together({"one": answering("A"), "two": answering("B")})
    first = assessor.assess(pair.test, CHOICE)
    assert [each.backend for each in first.ask("Why?").models] == ["one", "two"]
    with AgenticIQA(clients=assessor._clients) as another:
        _, replayed = another.replay(first.metadata["run_id"])
        assert [each.backend for each in replayed.models] == ["one", "two"]


# --- settings ---


def test_names_and_weights_of_the_configuration(tmp_path):
    """Files, the environment and the command line name them alike; one backend named later is the only one again."""
    (tmp_path / "model_backends.yaml").write_text(
        "summarizer: {backends: [openai.gpt-4o, embedded], weights: {openai.gpt-4o: 3, embedded: 1}}"
    )
    settings = load_settings(tmp_path, environment={})
    assert settings.answering == {"summarizer": "openai.gpt-4o", "summarizer:embedded": "embedded"}
    assert settings.summarizer.weight_of(settings.summarizer.backends) == {"openai.gpt-4o": 0.75, "embedded": 0.25}
    assert settings.summarizer.weight_of(["embedded", "google.x"]) == {"embedded": 0.5, "google.x": 0.5}
    assert load_settings(tmp_path, {"backend": "embedded"}, {}).answering == {"summarizer": "embedded"}
    # Other models for one run, of which the file's weights know nothing.
    assert load_settings(tmp_path, {"backends": "a,b"}, {}).summarizer.weight_of(["a", "b"]) == {"a": 0.5, "b": 0.5}
    with pytest.raises(ConfigError, match="names gpt, which does not answer") as caught:
        load_settings(tmp_path, environment={"AGENTICIQA_SUMMARIZER__WEIGHTS": "{gpt: 3, embedded: 1}"})
    assert caught.value.hint == "These do: openai.gpt-4o, embedded."
    named = load_settings(overrides={"backends": "google.g, embedded"}, environment={})
    assert [named.role(role).backend for role in ("planner", "executor", "summarizer:embedded")] == [
        "google.g",
        "google.g",
        "embedded",
    ]
    assert named.planner.fallback_backend == "embedded"
    assert load_settings(environment={"AGENTICIQA_BACKENDS": "google.g,embedded"}).answering == named.answering
    beside = load_settings(overrides={"backend": "embedded", "backends": ["google.g", "openai.o"]}, environment={})
    assert (beside.planner.backend, list(beside.answering.values())) == ("embedded", ["google.g", "openai.o"])


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"backends": "embedded,embedded"}, "embedded is named twice"),
        ({"summarizer.weights": {"a": -1}}, "from 0 on"),
        ({"summarizer.weights": {"a": 0}}, "one of them above 0"),
        ({"summarizer.backends": ["a", "b"], "summarizer.fallback_backend": "c"}, "would have no effect"),
        ({"backends": "a,b", "summarizer.backend": "c"}, "summarizer.backend c would have no effect: a, b answer"),
        ({"backends": "a.x,b", "summarizer.weights": {"a.X": 3, "b": 1}}, "names a.X, which does not answer"),
    ],
)
def test_wrong_settings_say_what_to_write(overrides, words):
    with pytest.raises(ConfigError, match=words):
        load_settings(overrides=overrides, environment={})


def test_a_provider_that_does_not_exist_is_refused_before_anything_is_asked(isolated, pair):
    with AgenticIQA(backends=["gpt", "embedded"]) as assessor:
        result = assessor.assess(pair.test)
    assert result.status == "error"
    assert "There is no backend provider 'gpt'" in result.error
    assert result.metadata["calls"] == 0


def test_the_first_without_a_key_leaves_evidence_and_answer_to_the_others(isolated, pair):
    with AgenticIQA(backends=["openai.gpt-4o", "embedded"]) as assessor:
        result = assessor.assess(pair.test)
    assert (result.status, result.metadata["backend"]["planner"]) == ("partial", "embedded")
    assert "OPENAI_API_KEY is not set" in by_name(result)["openai.gpt-4o"].error
    assert by_name(result)["embedded"].weight == 1


def test_what_nobody_put_first_may_be_the_joint_answer(together, pair):
    models = {
        "one": answering("A", logprobs={"A": 0.5, "B": 0.45, "C": 0.05}),
        "two": answering("C", logprobs={"A": 0.05, "B": 0.45, "C": 0.5}),
    }
    assert together(models).assess(pair.test, CHOICE).answer == "B"


def test_words_that_choose_nothing_have_no_voice_beside_a_choice(together, pair):
    models = {"one": answering("Yes"), "two": answering("It depends on taste")}
    result = together(models).assess(pair.test, "Is it blurry?")
    assert result.answer == "Yes"
    assert by_name(result)["two"].weight == 0


def test_an_embedded_model_that_is_asked_first_settles_the_form_for_all(isolated, pair):
    second = answering("Good")
    clients = {"summarizer:two": second}
    with AgenticIQA(backends=["embedded", "two"], clients=clients) as assessor:
        result = assessor.assess(pair.test, "What does NIQE say about the quality?")
    assert result.status in ("ok", "partial")
    assert by_name(result)["two"].answer == "B"


def test_a_list_without_a_name_is_refused(isolated):
    with pytest.raises(ConfigError, match="names no model"):
        AgenticIQA(backends=[" "])
