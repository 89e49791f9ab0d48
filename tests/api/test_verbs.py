"""The front door: the names, the verbs, what they take, what they give back, and what they leave behind."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import agenticiqa
from agenticiqa import AgenticIQA, Assessment, Comparison
from agenticiqa.errors import (
    AssessmentFailedError,
    ImageTooLargeError,
    MissingExtraError,
    OutputError,
    ToolUnavailableError,
)
from agenticiqa.nodes import run_context
from agenticiqa.nodes.run_context import PipelineEvent
from agenticiqa.runtime.config import ROLES, ImageLimits
from agenticiqa.vlm_client import ModelReply, ModelRequest, RichVLMClient
from support.http_service import encoded
from support.pictures import distorted, save, scene
from support.scripted import ScriptedClient, answer_reply

pytestmark = pytest.mark.usefixtures("isolated")

NOISY = distorted(scene(96, 128))
CLEAN = scene(96, 128)
TOOLS = ["PSNR", "SSIM", "noise"]

HELD: dict[str, Callable[[np.ndarray, Path], Any]] = {
    "path": lambda pixels, folder: save(folder / f"{pixels.sum()}.png", pixels),
    "bytes": lambda pixels, _: encoded(pixels),
    "file": lambda pixels, _: io.BytesIO(encoded(pixels)),
    "PIL": lambda pixels, _: Image.fromarray(pixels),
    "uint8": lambda pixels, _: pixels,
    "uint16": lambda pixels, _: pixels.astype(np.uint16) * 257,
    "float": lambda pixels, _: pixels / 255,
}


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    return save(tmp_path / "noisy.png", NOISY)


def left_behind(home: Path) -> list[Path]:
    """Everything in the home folder, the folder to work in, and the folder of configurations."""
    folders = (home, home.parent / "work", home.parent / "config")
    return [file for folder in folders if folder.exists() for file in folder.rglob("*")]


# --- names ---


def test_dir_shows_the_public_names_and_no_others() -> None:
    assert dir(agenticiqa) == sorted(agenticiqa.__all__)
    assert len(set(agenticiqa.__all__)) == len(agenticiqa.__all__)
    wanted = {"assess", "compare", "measure", "AgenticIQA", "Assessment", "Comparison", "Provider", "Tool"}
    assert wanted | {"run_pipeline", "__version__", "AgenticIQAError"} <= set(agenticiqa.__all__)


@pytest.mark.parametrize("name", agenticiqa.__all__)
def test_every_public_name_is_there(name: str) -> None:
    found = getattr(agenticiqa, name)
    assert name == "__version__" or found.__name__ == name


def test_five_errors_are_at_the_top_and_the_others_one_version_longer() -> None:
    from agenticiqa import errors

    classes = {
        name: each for name, each in vars(errors).items() if inspect.isclass(each) and issubclass(each, Exception)
    }
    top = {"AgenticIQAError", "BackendError", "ConfigError", "ImageError", "QueryError"}
    assert {name for name in agenticiqa.__all__ if name.endswith("Error")} == top
    for name in classes.keys() - top:
        with pytest.warns(DeprecationWarning, match="import it from agenticiqa.errors"):
            assert getattr(agenticiqa, name) is classes[name]


def test_the_tree_of_errors_in_the_documentation_is_the_real_one() -> None:
    from agenticiqa import errors

    def lines(kind: type[Exception], depth: int = 0) -> list[tuple[int, str]]:
        below = [each for each in kind.__subclasses__() if each.__module__ == errors.__name__]
        return [(depth, kind.__name__), *(line for each in below for line in lines(each, depth + 1))]

    page = Path(__file__).parents[2] / "docs" / "inside" / "api.md"
    tree = [line for line in page.read_text(encoding="utf-8").splitlines() if re.match(r"    [A-Z│├└]", line)]
    assert [((len(line) - len(line.lstrip(" │├└─"))) // 4 - 1, line.strip(" │├└─")) for line in tree] == lines(
        errors.AgenticIQAError
    )


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'asses'"):
        agenticiqa.asses  # noqa: B018


def test_documents_names_are_where_the_documents_put_them() -> None:
    """D2-03, D4-15: ``should_replan`` beside the summarizer, the clients in ``vlm_client``."""
    from agenticiqa import vlm_client
    from agenticiqa.nodes.summarizer import should_replan
    from agenticiqa.state import ExecutorOutput

    assert should_replan(ExecutorOutput(), "Global") == (True, "No tool scores available")
    for name in ("OpenAIVLMClient", "AnthropicVLMClient"):
        client = getattr(vlm_client, name)
        assert issubclass(client, vlm_client.VLMClient)
        assert client.__name__ == name
    with pytest.raises(AttributeError, match="NoSuchClient"):
        vlm_client.NoSuchClient  # noqa: B018


def test_the_package_runs_as_a_module_and_imports_little(tmp_path: Path) -> None:
    script = (
        "import agenticiqa, sys; print(sorted({'numpy', 'langgraph', 'pydantic', 'PIL', 'cv2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60
    )
    assert done.stdout.strip() == "[]"
    done = subprocess.run(
        [sys.executable, "-m", "agenticiqa", "--version"],
        capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == agenticiqa.__version__


# --- arguments ---

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("assess", (NOISY,)),
    ("stream", (NOISY,)),
    ("compare", (NOISY, CLEAN)),
    ("measure", (NOISY,)),
    ("aassess", (NOISY,)),
    ("acompare", (NOISY, CLEAN)),
    ("ameasure", (NOISY,)),
]


@pytest.mark.parametrize(("verb", "arguments"), CALLS, ids=[verb for verb, _ in CALLS])
def test_a_typing_error_is_a_type_error_that_names_it(verb: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="refrence"):
        getattr(agenticiqa, verb)(*arguments, refrence=CLEAN)
    with AgenticIQA(record=False) as assessor:
        method = getattr(assessor, verb, None)
        if method is not None:
            with pytest.raises(TypeError, match="refrence"):
                method(*arguments, refrence=CLEAN)


@pytest.mark.parametrize("verb", [verb for verb, _ in CALLS])
def test_keywords_are_explicit_and_typed(verb: str) -> None:
    parameters = inspect.signature(getattr(agenticiqa, verb)).parameters.values()
    assert not [each for each in parameters if each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    assert all(each.annotation is not each.empty for each in parameters)


@pytest.mark.parametrize("wrong", [None, 7, ["a.png"]])
def test_what_cannot_be_a_picture_raises(wrong: Any) -> None:
    with pytest.raises(TypeError, match="A picture is"):
        agenticiqa.assess(wrong)
    with pytest.raises(TypeError, match="A picture is"):
        agenticiqa.measure(wrong)
    with pytest.raises(TypeError, match="A picture is"):
        agenticiqa.compare(NOISY, wrong)
    with pytest.raises(TypeError, match="A picture is"):
        agenticiqa.assess(NOISY, reference=wrong or 5)


BROKEN = {
    "missing": ("nowhere.png", "no file"),
    "no picture": (b"no picture", "not a picture"),
    "empty": (b"", "empty"),
    "floats": (np.full((8, 8), 200.0), "floats from"),
    "shape": (np.zeros((8, 8, 2), np.uint8), "shape"),
}


@pytest.mark.parametrize(("picture", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_wrong_with_a_picture_is_in_the_result(picture: Any, says: str) -> None:
    for result in (agenticiqa.assess(picture), agenticiqa.assess(NOISY, reference=picture)):
        assert result.status == "error"
        assert says in (result.error or "")
        with pytest.raises(AssessmentFailedError):
            _ = result.answer
    compared = agenticiqa.compare(NOISY, picture)
    assert compared.status == "error"
    assert says in (compared.error or "")
    (record,) = agenticiqa.measure(picture, tools=["noise"])
    assert record.raw is None
    assert says in (record.error or "")


def test_a_tool_that_is_not_there_raises() -> None:
    with pytest.raises(ToolUnavailableError, match="NOSUCH"):
        agenticiqa.measure(NOISY, tools=["NOSUCH"])


# --- every door leads to the same picture ---


@pytest.fixture(scope="module")
def as_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the verbs say of the same pixels in files."""
    folder = tmp_path_factory.mktemp("files")
    noisy, clean = save(folder / "noisy.png", NOISY), save(folder / "clean.png", CLEAN)
    return {
        "score": agenticiqa.assess(noisy, reference=clean, backend="embedded").score,
        "measured": [each.raw for each in agenticiqa.measure(noisy, reference=clean, tools=TOOLS)],
        "chance": agenticiqa.compare(noisy, clean, reference=clean, backend="embedded").chance_a,
    }


@pytest.mark.hard
@pytest.mark.parametrize("held", HELD.values(), ids=HELD.keys())
def test_the_same_pixels_get_the_same_numbers(
    held: Callable[[np.ndarray, Path], Any], as_files: dict[str, Any], tmp_path: Path
) -> None:
    result = agenticiqa.assess(held(NOISY, tmp_path), reference=held(CLEAN, tmp_path), backend="embedded")
    assert result.status == "ok", result.error
    assert result.score == pytest.approx(as_files["score"], abs=1e-4)
    measured = agenticiqa.measure(held(NOISY, tmp_path), reference=held(CLEAN, tmp_path), tools=TOOLS)
    assert [each.raw for each in measured] == pytest.approx(as_files["measured"], rel=1e-5)
    noisy, clean = held(NOISY, tmp_path), held(CLEAN, tmp_path)
    # A chequered pattern is no photograph: with the original beside it, it is clear which one is damaged.
    compared = agenticiqa.compare(noisy, clean, reference=held(CLEAN, tmp_path), backend="embedded")
    assert compared.winner == "B"
    assert compared.chance_a == pytest.approx(as_files["chance"], abs=1e-4)


def test_a_model_is_sent_the_pixels_of_an_array(assessor: Any) -> None:
    client = ScriptedClient()
    assert assessor(client).assess(NOISY, reference=CLEAN).status == "ok"
    shown = {each.label: each.image.rgb for each in client.script.of("plan")[0].images}
    assert sorted(shown) == ["reference image", "test image"]
    assert np.array_equal(shown["test image"], NOISY)
    assert np.array_equal(shown["reference image"], CLEAN)


def test_one_picture_may_be_both(assessor: Any) -> None:
    client = ScriptedClient()
    assert assessor(client).assess(NOISY, reference=NOISY).status == "ok"
    assert len(client.script.of("plan")[0].images) == 2


class Shown(RichVLMClient):
    """A backend that answers with the pixels it was shown."""

    def complete(self, request: ModelRequest) -> ModelReply:
        return ModelReply(text=" ".join(f"{each.label}: {each.image.rgb.tobytes().hex()}" for each in request.images))


def test_generate_takes_a_picture_however_it_is_held(tmp_path: Path) -> None:
    """D2-02: by hand, without the agents; one, several or none."""
    expected = f"test image: {NOISY.tobytes().hex()}"
    assert {Shown().generate("?", held(NOISY, tmp_path)) for held in HELD.values()} == {expected}
    assert Shown().generate("?", [NOISY, encoded(CLEAN)]) == f"{expected} reference image: {CLEAN.tobytes().hex()}"
    assert Shown().generate("?") == ""
    with pytest.raises(ImageTooLargeError):
        Shown().generate("?", NOISY, limits=ImageLimits(max_pixels=100))


# --- nothing is left behind ---


def own_handlers() -> list[logging.Handler]:
    return [*logging.getLogger("agenticiqa").handlers, *logging.getLogger().handlers]


@pytest.mark.hard
@pytest.mark.parametrize(
    "verb",
    [
        lambda: agenticiqa.assess(NOISY),
        lambda: list(agenticiqa.stream(NOISY)),
        lambda: agenticiqa.compare(NOISY, CLEAN),
        lambda: agenticiqa.measure(NOISY, tools=["noise"]),
        lambda: asyncio.run(agenticiqa.aassess(NOISY)),
        lambda: asyncio.run(agenticiqa.acompare(NOISY, CLEAN)),
        lambda: asyncio.run(agenticiqa.ameasure(NOISY, tools=["noise"])),
        lambda: agenticiqa.assess("nowhere.png"),
    ],
    ids=["assess", "stream", "compare", "measure", "aassess", "acompare", "ameasure", "failing"],
)
def test_verbs_write_nothing_and_set_up_no_logging(
    verb: Callable[[], object], isolated: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handlers, level = own_handlers(), logging.getLogger("agenticiqa").level
    assert verb()
    assert left_behind(isolated) == []
    assert not isolated.exists()
    assert own_handlers() == handlers
    assert logging.getLogger("agenticiqa").level == level
    assert capfd.readouterr() == ("", "")


def test_an_assessor_keeps_record_log_and_cache_in_its_home(isolated: Path, photo: Path) -> None:
    with AgenticIQA("embedded") as assessor:
        run_id = assessor.assess(photo).metadata["run_id"]
        assert assessor.runs.find(run_id).status == "ok"
    assert {"runs.sqlite", "log.jsonl", "cache"} <= {file.name for file in isolated.iterdir()}


def no_home(isolated: Path) -> None:
    isolated.write_text("a file where the folder should be")


def no_files(isolated: Path) -> None:
    """Folders where the files should be: nobody, not even root, can write them."""
    for name in ("log.jsonl", "runs.sqlite", "runs.checkpoints.sqlite", "cache/cache.db"):
        (isolated / name).mkdir(parents=True)


def no_checkpoints(isolated: Path) -> None:
    (isolated / "runs.checkpoints.sqlite").mkdir(parents=True)


@pytest.mark.parametrize(
    ("damage", "warned"),
    [
        (no_home, ["No log file", "No cache", "Runs are not recorded"]),
        (no_files, ["No log file", "No cache", "Runs are not recorded"]),
        (no_checkpoints, ["Interrupted runs cannot be resumed"]),
    ],
)
def test_a_home_that_cannot_be_written_costs_the_record_and_not_the_answer(
    damage: Callable[[Path], None],
    warned: list[str],
    isolated: Path,
    photo: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    damage(isolated)
    with caplog.at_level(logging.WARNING, "agenticiqa"), AgenticIQA("embedded") as assessor:
        result = assessor.assess(photo)
    assert result.status == "ok", result.error
    assert result.score is not None
    assert [each for each in warned if each not in caplog.text] == []
    assert "Traceback" not in capfd.readouterr().err


# --- results ---


def flat(row: dict[str, Any]) -> bool:
    return all(value is None or isinstance(value, (str, int, float, bool)) for value in row.values())


def test_an_assessment_is_one_line_and_one_row(photo: Path) -> None:
    result = agenticiqa.assess(photo)
    assert str(result).startswith(f"{photo}: {result.answer} ({result.score:.2f} of 5)")
    assert "\n" not in str(result)
    row = result.to_row()
    assert flat(row)
    assert json.loads(json.dumps(row)) == row
    assert (row["image_path"], row["final_answer"], row["quality_score"]) == (str(photo), result.answer, result.score)
    assert row["backend"] == "embedded"


@pytest.mark.hard
def test_rows_have_the_columns_of_batch_tables(photo: Path) -> None:
    [row] = agenticiqa.run_batch([photo], "Is it blurry?", workers=1).to_rows()
    own = agenticiqa.assess(photo, "Is it blurry?").to_row()
    shared = {"image_path", "reference_path", "query", "status", "final_answer", "quality_score", "error", "cost_usd"}
    assert shared <= row.keys() & own.keys()
    assert {name: row[name] for name in shared} == {name: own[name] for name in shared}


def test_a_failure_is_one_line_and_one_row_without_an_answer() -> None:
    result = agenticiqa.assess("nowhere.png")
    assert str(result).startswith("nowhere.png: no answer (")
    assert "\n" not in str(result)
    row = result.to_row()
    assert flat(row)
    assert (row["status"], row["final_answer"], row["quality_score"], row["quality_reasoning"]) == (
        "error",
        None,
        None,
        None,
    )
    assert row["error"] == result.error


def test_a_line_stays_one_line_whatever_the_model_says(assessor: Any, photo: Path) -> None:
    client = ScriptedClient(answer=answer_reply("It is\nquite\r\nsoft", "Two\nlines"))
    assert len(str(assessor(client).assess(photo, "What is wrong with it?")).splitlines()) == 1
    broken = assessor(ScriptedClient(plan=RuntimeError("first\nsecond"))).assess(photo)
    assert broken.status == "error"
    assert len(str(broken).splitlines()) == 1


def test_a_comparison_is_one_line_and_one_row() -> None:
    result = agenticiqa.compare(NOISY, CLEAN, reference=CLEAN)
    assert isinstance(result, Comparison)
    assert str(result).endswith(result.verdict)
    assert len(str(result).splitlines()) == 1
    row = result.to_row()
    assert flat(row)
    assert json.loads(json.dumps(row))["winner"] == "B"


def test_measurements_are_one_line_one_row_and_found_by_name(photo: Path) -> None:
    found = agenticiqa.measure(photo, reference=CLEAN, tools=["PSNR", "ssim"])
    assert [each.tool for each in found] == ["PSNR", "SSIM"]
    assert found["psnr"].raw == found[0].raw
    with pytest.raises(KeyError, match="noise was not measured; these were: PSNR, SSIM"):
        found["noise"]
    assert str(found) == f"PSNR {found[0].raw:.4g}, SSIM {found[1].raw:.4g}"
    assert found.to_row() == {"image_path": str(photo), "PSNR": found[0].raw, "SSIM": found[1].raw}
    assert json.loads(json.dumps(found.to_row())) == found.to_row()
    assert found[:1][0] is found[0]


def test_measurements_of_regions_have_columns_of_their_own() -> None:
    regions = {"left": [0, 0, 64, 96], "right": [64, 0, 64, 96]}
    row = agenticiqa.measure(NOISY, tools=["noise"], regions=regions).to_row()
    assert set(row) == {"image_path", "noise@left", "noise@right"}


def test_measurements_become_a_data_frame(photo: Path) -> None:
    import pandas

    frame = agenticiqa.measure(photo, reference=CLEAN, tools=["PSNR", "SSIM"]).to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["tool"]) == ["PSNR", "SSIM"]
    assert list(frame["image"]) == [str(photo)] * 2
    assert frame["error"].isna().all()


def test_without_pandas_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pandas") as caught:
        agenticiqa.measure(NOISY, tools=["noise"]).to_dataframe()
    assert "pip install 'agenticiqa[dataframe]'" in str(caught.value.hint)


# --- streams ---


def test_a_stream_gives_steps_and_last_the_result(photo: Path) -> None:
    *events, result = agenticiqa.stream(photo)
    assert isinstance(result, Assessment)
    assert result.status == "ok"
    assert events
    assert all(isinstance(event, PipelineEvent) for event in events)
    assert [event.name for event in events if event.kind == "node"] == ["planner", "executor", "summarizer"]
    assert next(event.name for event in events if event.kind == "step") == "plan"
    heard: list[PipelineEvent] = []
    again = agenticiqa.assess(photo, on_event=heard.append)
    # Analysis and choice of tools go on side by side: either may be told first.
    assert sorted((event.kind, event.name) for event in heard) == sorted((event.kind, event.name) for event in events)
    assert again.score == result.score


def test_a_failing_stream_ends_with_its_result_too() -> None:
    *_, result = agenticiqa.stream("nowhere.png")
    assert isinstance(result, Assessment)
    assert result.status == "error"


def test_a_stream_that_is_closed_is_an_interrupted_run_that_can_be_resumed(assessor: Any, photo: Path) -> None:
    client = ScriptedClient()
    given = assessor(client)
    events = given.stream(photo, run_id="abandoned")
    for event in events:
        if (event.kind, event.name) == ("node", "planner"):
            break
    assert given.runs.find("abandoned").status == "running"
    events.close()
    assert given.runs.find("abandoned").status == "interrupted"
    assert client.script.counts["answer"] == 0
    resumed = given.resume("abandoned")
    assert resumed.status == "ok"
    assert resumed.metadata["run_id"] == "abandoned"
    assert client.script.counts["plan"] == 1, "the planner's turn was over"
    assert given.runs.find("abandoned").status == "ok"


def test_a_stream_that_nobody_reads_asks_nobody(assessor: Any, photo: Path) -> None:
    client = ScriptedClient()
    assessor(client).stream(photo).close()
    assert client.calls == 0


# --- event loops ---


def test_async_forms_give_what_the_others_give(photo: Path) -> None:
    async def main() -> tuple[Any, Any, Any]:
        return await asyncio.gather(
            agenticiqa.aassess(photo, "Is it noisy?", reference=CLEAN),
            agenticiqa.acompare(photo, CLEAN),
            agenticiqa.ameasure(photo, reference=CLEAN, tools=["PSNR"]),
        )

    assessed, compared, measured = asyncio.run(main())
    expected = agenticiqa.assess(photo, "Is it noisy?", reference=CLEAN)
    assert (assessed.answer, assessed.reasoning) == (expected.answer, expected.reasoning)
    assert compared.chance_a == agenticiqa.compare(photo, CLEAN).chance_a
    assert measured[0].raw == agenticiqa.measure(photo, reference=CLEAN, tools=["PSNR"])[0].raw


def test_async_methods_of_an_assessor_do_not_block_the_loop(assessor: Any, photo: Path) -> None:
    turns = 0

    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        reached, let_go = asyncio.Event(), threading.Event()

        def plan(_question: Any) -> Any:
            loop.call_soon_threadsafe(reached.set)
            assert let_go.wait(60)
            return ScriptedClient().script.replies["plan"]

        given = assessor(ScriptedClient(plan=plan))
        asked = asyncio.ensure_future(given.aassess(photo))
        await reached.wait()
        nonlocal turns
        for _ in range(5):
            await asyncio.sleep(0)
            turns += 1
        assert not asked.done()
        let_go.set()
        return [await asked, await given.acompare(photo, CLEAN)]

    assessed, compared = asyncio.run(main())
    assert turns == 5
    assert assessed.status == "ok"
    assert compared.status == "ok"


# --- the documents' entry ---


@pytest.fixture
def scripted_everywhere(monkeypatch: pytest.MonkeyPatch) -> ScriptedClient:
    """A model for runs whose caller brings none."""
    client = ScriptedClient()
    monkeypatch.setattr(run_context, "create_vlm_client", lambda *_: client)
    return client


def test_run_pipeline_uses_the_cache_and_the_log(
    scripted_everywhere: ScriptedClient, isolated: Path, photo: Path
) -> None:
    """RL-05, D2-27, D2-36: as everything else does, without a context of the caller's own."""
    first = agenticiqa.run_pipeline("Rate it", str(photo))
    asked = scripted_everywhere.calls
    assert asked > 0
    assert first["summarizer_result"].final_answer == "C"
    again = agenticiqa.run_pipeline("Rate it", str(photo))
    assert scripted_everywhere.calls == asked, "every reply came from the cache"
    assert again["summarizer_result"] == first["summarizer_result"]
    lines = [json.loads(line) for line in (isolated / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    assert any("Edge: need_replan=" in line["message"] for line in lines)


def test_run_pipeline_takes_the_configured_limit(
    scripted_everywhere: ScriptedClient, monkeypatch: pytest.MonkeyPatch, photo: Path
) -> None:
    """RL-05, RL-11, D4-28: the configured number of replans where none is given."""
    monkeypatch.setenv("AGENTICIQA_PIPELINE__MAX_REPLAN_ITERATIONS", "7")
    assert agenticiqa.run_pipeline("Rate it", str(photo))["max_replan_iterations"] == 7
    assert agenticiqa.run_pipeline("Rate it", str(photo), max_replan_iterations=0)["max_replan_iterations"] == 0


def test_an_assessor_takes_the_configured_limit(assessor: Any, monkeypatch: pytest.MonkeyPatch, photo: Path) -> None:
    """D4-28: the same for the class."""
    given = assessor(ScriptedClient(), pipeline__max_replan_iterations=5)
    run_id = given.assess(photo).metadata["run_id"]
    assert given.runs.find(run_id).request["max_replan_iterations"] == 5
    assert set(ROLES) == set(given.assess(photo).metadata["backend"])


def test_a_failure_of_ours_in_a_listener_is_in_the_result(assessor: Any, photo: Path) -> None:
    def refuse(_event: object) -> None:
        raise OutputError("The disk is full.")

    given = assessor(ScriptedClient())
    result = given.assess(photo, on_event=refuse, run_id="refused")
    assert (result.status, result.error) == ("error", "The disk is full.")
    assert given.runs.find("refused").status == "error"


def test_anything_else_in_a_listener_is_raised(assessor: Any, photo: Path) -> None:
    def fail(_event: object) -> None:
        raise ZeroDivisionError

    given = assessor(ScriptedClient())
    with pytest.raises(ZeroDivisionError):
        given.assess(photo, on_event=fail, run_id="broken")
    assert given.runs.find("broken").status == "interrupted"
