"""Logging: JSON lines, and no secret passes."""

from __future__ import annotations

import base64
import json
import logging
import resource
import time
from pathlib import Path

import pytest

from agenticiqa.errors import REDACTED
from agenticiqa.runtime.logs import PACKAGE_LOGGER, configure_logging, redact
from support.scripted import ScriptedClient

pytestmark = pytest.mark.usefixtures("isolated")


def lines_of(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_json_lines(tmp_path: Path) -> None:
    """D2-36: one object per line, whatever the message holds."""
    file = tmp_path / "deep" / "log.jsonl"
    configure_logging(file, "DEBUG")
    logger = logging.getLogger(f"{PACKAGE_LOGGER}.test")
    logger.debug('two\nlines "quoted" %s', "ü")
    logger.warning("plain")
    first, second = lines_of(file)
    assert first["message"] == 'two\nlines "quoted" ü'
    assert (first["level"], first["logger"]) == ("DEBUG", "agenticiqa.test")
    assert second["level"] == "WARNING"
    assert first["time"] <= second["time"]


def test_level(tmp_path: Path) -> None:
    """D2-36: below it nothing is written."""
    configure_logging(tmp_path / "log", "WARNING")
    logging.getLogger(PACKAGE_LOGGER).info("quiet")
    assert not (tmp_path / "log").exists()


def test_configuring_again_replaces(tmp_path: Path) -> None:
    """D2-36: no line twice, no line in the old file."""
    configure_logging(tmp_path / "old")
    configure_logging(tmp_path / "new")
    configure_logging(tmp_path / "new")
    logging.getLogger(PACKAGE_LOGGER).warning("once")
    assert len(lines_of(tmp_path / "new")) == 1
    assert not (tmp_path / "old").exists()


def test_a_log_file_that_cannot_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """D2-36: a warning, not a failure."""
    (tmp_path / "file").write_text("x")
    configure_logging(tmp_path / "file" / "log")
    assert "No log file" in caplog.text


@pytest.mark.parametrize(
    "text",
    [
        "key sk-proj-abcDEF123456 used",
        "sk-ant-api03-abcdefghijkl",
        "AIzaSyA1234567890abcdefghijklmno",
        "Authorization: Bearer abcdefghijklmnop",
        "https://x/?api_key=topsecret&a=1",
        "api-key: topsecret99",
    ],
)
def test_keys_are_removed(text: str) -> None:
    """D2-30: whoever wrote them."""
    cleaned = redact(text)
    assert REDACTED in cleaned
    for secret in ("abcDEF123456", "abcdefghijkl", "A1234567890", "topsecret"):
        assert secret not in cleaned


def test_configured_keys_are_removed_whatever_they_look_like(tmp_path: Path) -> None:
    """D2-30, SC-58: in messages, arguments and tracebacks."""
    configure_logging(tmp_path / "log", "DEBUG", ["hunter2-hunter2"])
    logger = logging.getLogger(PACKAGE_LOGGER)
    logger.error("key %s", "hunter2-hunter2")
    try:
        raise ValueError("bad key hunter2-hunter2")
    except ValueError:
        logger.exception("failed")
    text = (tmp_path / "log").read_text()
    assert "hunter2" not in text
    assert text.count(REDACTED) >= 2


def test_pictures_are_removed() -> None:
    """D2-30, SC-58: base64 becomes its length; words stay."""
    encoded = base64.b64encode(bytes(range(256))).decode()
    assert redact(f"data:image/png;base64,{encoded}") == f"data:image/png;base64,[{len(encoded)} base64 characters]"
    words = "an ordinary sentence about blur and noise " * 20
    assert redact(words) == words


KEY = "weird.key.without.prefix"


@pytest.mark.parametrize("step", ["plan", "detection", "answer"])
def test_a_run_writes_its_key_nowhere(  # type: ignore[no-untyped-def]
    assessor, pair, isolated: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """D2-30, D2-36: the key of the configuration, quoted by a failing backend, stays out of log, record and result."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    given = assessor(ScriptedClient(**{step: RuntimeError(f"401 for {KEY}")}), pipeline__logging__level="DEBUG")
    result = given.assess(pair.test, run_id="unlucky")
    log = (isolated / "log.jsonl").read_text(encoding="utf-8")
    assert "401 for" in log
    for line in log.splitlines():
        json.loads(line)
    record = given.runs.find("unlucky")
    assert record.result is not None
    assert "401 for" in json.dumps(record.result)
    assert KEY not in json.dumps([record.result, record.request, record.answer])
    assert KEY not in result.model_dump_json()
    given.close()
    written = [file for file in isolated.rglob("*") if file.is_file()]
    assert {"log.jsonl", "runs.sqlite"} <= {file.name for file in written}
    assert [file.name for file in written if KEY.encode() in file.read_bytes()] == []


def test_a_log_file_without_room_costs_one_warning_and_comes_back(tmp_path, monkeypatch, caplog):
    """A server lives longer than a full disk."""
    from agenticiqa.runtime import logs

    file = tmp_path / "log.jsonl"
    logs.configure_logging(file)
    logger = logging.getLogger("agenticiqa.somewhere")
    try:
        logger.info("before")
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, usual[1]))
        try:
            logger.info("does not fit")
            logger.info("is not tried")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        moment = time.monotonic() + logs.TRY_AGAIN_S
        monkeypatch.setattr(logs.time, "monotonic", lambda: moment)
        logger.info("after")
    finally:
        logs.configure_logging(None)
    assert sum("No log file" in message for message in caplog.messages) == 1
    kept = [json.loads(line)["message"] for line in file.read_text(encoding="utf-8").splitlines() if line]
    assert (kept[0], kept[-1]) == ("before", "after")
    assert "is not tried" not in kept
