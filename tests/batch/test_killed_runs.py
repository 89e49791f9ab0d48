"""Runs that are killed, that run out of disk, or that share an output: nothing is lost, doubled or torn."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agenticiqa.batch.results import ResultsFile, read_results
from agenticiqa.errors import OutputError
from agenticiqa.runtime.files import locked
from support import batches
from support.batches import make_manifest, records, run_batch, settled, write_jsonl

pytestmark = [pytest.mark.usefixtures("isolated"), pytest.mark.hard]

SAMPLES = 60
KILLS = 5


@pytest.fixture(scope="module")
def processes():
    """Starts processes quickly: a server imports everything once and is copied for each."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["agenticiqa.batch.runner", "agenticiqa.batch.preparing"])
    return context


def test_killed_at_random_moments_and_resumed_equals_an_undisturbed_run(tmp_path, processes):
    manifest = make_manifest(tmp_path / "set", SAMPLES)
    undisturbed, output = tmp_path / "undisturbed.jsonl", tmp_path / "killed.jsonl"
    run_batch(manifest, undisturbed)
    chance = random.Random(5)
    for _ in range(KILLS):
        process = processes.Process(target=batches.resume_batch, args=(str(manifest), str(output)))
        process.start()
        aim = chance.randrange(1, 12)
        before = lines_in(output)
        while process.is_alive() and lines_in(output) < min(SAMPLES, before + aim):
            time.sleep(0.0005)
        process.kill()
        process.join()
        assert process.exitcode in (-signal.SIGKILL, 0)
        found = [line.record["sample_id"] for line in read_results(output)]
        assert len(found) == len(set(found))
    summary = run_batch(manifest, output, resume=True)
    assert summary.done_earlier > 0
    assert [record["sample_id"] for record in records(output)] == [f"s{number}" for number in range(SAMPLES)]
    assert settled(output) == settled(undisturbed)
    assert sorted(path.name for path in tmp_path.glob("killed*")) == ["killed.jsonl"]


def test_worker_does_not_outlive_its_killed_runner_however_long_its_sample_takes(tmp_path):
    folder = tmp_path / "set"
    batches.make_pictures(folder, 1)
    row = {"sample_id": "slow", "image_path": "noisy0.png", "reference_path": "clean0.png"}
    manifest = write_jsonl(folder / "m.jsonl", [row])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    call = f"batches.run_faulty_batch({str(manifest)!r}, {str(tmp_path / 'r.jsonl')!r})"
    runner = subprocess.Popen(
        [sys.executable, "-c", f"from support import batches; {call}"],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "TMPDIR": str(temporary)},
    )
    while not (folder / "slow.seen").exists():
        assert runner.poll() is None
        time.sleep(0.05)
    assert list(temporary.glob("agenticiqa-worker-*"))
    runner.kill()
    # The worker holds the other end of this pipe: all of them are gone when it is read to its end.
    runner.communicate(timeout=30)
    assert list(temporary.glob("agenticiqa-worker-*")) == []


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@pytest.mark.parametrize("torn", [b'{"sample_id": "s1", "status": "ok", "im', b'{"sample_id": "s1"}', b"\0" * 90])
def test_torn_last_line_is_repaired(tmp_path, torn):
    manifest = make_manifest(tmp_path / "set", 3)
    whole, output = tmp_path / "whole.jsonl", tmp_path / "torn.jsonl"
    run_batch(manifest, whole)
    output.write_bytes(whole.read_bytes().splitlines(keepends=True)[0] + torn)
    assert run_batch(manifest, output, resume=True).done_earlier == 1
    assert settled(output) == settled(whole)


def test_file_that_is_no_results_file_is_left_alone(tmp_path):
    manifest = make_manifest(tmp_path / "set", 3)
    output = tmp_path / "notes.jsonl"
    output.write_text("my notes\nand more of them\n")
    with pytest.raises(OutputError, match="Line 1"):
        run_batch(manifest, output, resume=True)
    assert output.read_text() == "my notes\nand more of them\n"


def test_existing_results_are_not_overwritten_unasked(tmp_path):
    manifest = make_manifest(tmp_path / "set", 3)
    output = tmp_path / "results.jsonl"
    run_batch(manifest, output)
    before = output.read_bytes()
    with pytest.raises(OutputError, match="holds results already"):
        run_batch(manifest, output)
    assert output.read_bytes() == before
    assert run_batch(manifest, output, overwrite=True).done_earlier == 0


def test_results_of_another_manifest_or_other_settings_are_not_mixed(tmp_path):
    manifest = make_manifest(tmp_path / "set", 3)
    output = tmp_path / "results.jsonl"
    run_batch(manifest, output)
    with pytest.raises(OutputError, match="another question, or were made with another"):
        run_batch(manifest, output, job=batches.measuring_job(tools=("PSNR",)), resume=True)
    other = write_jsonl(tmp_path / "set" / "other.jsonl", [{"sample_id": "new", "image_path": "noisy0.png"}])
    with pytest.raises(OutputError, match="holds the sample 's0'"):
        run_batch(other, output, resume=True)


# --- a full disk ---


def limited_batch(manifest: str, output: str, size: int) -> None:
    """Files of this process may grow to ``size`` bytes: a full disk for those who cannot mount one."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        run_batch(Path(manifest), Path(output), resume=True)
    except OutputError as error:
        sys.exit(3 if "--resume" in str(error) else 4)


def test_full_disk_leaves_whole_lines_and_resumes(tmp_path):
    manifest = make_manifest(tmp_path / "set", 20)
    undisturbed, output = tmp_path / "undisturbed.jsonl", tmp_path / "full.jsonl"
    run_batch(manifest, undisturbed)
    size = undisturbed.stat().st_size
    for share in (0.35, 0.7):
        child = os.fork()
        if child == 0:
            code = 70
            try:
                limited_batch(str(manifest), str(output), int(size * share))
            except SystemExit as stop:
                code = int(stop.code or 0)
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
        assert output.read_bytes().endswith(b"\n")
        assert 0 < lines_in(output) < 20
    run_batch(manifest, output, resume=True)
    assert settled(output) == settled(undisturbed)


def test_write_that_fails_half_way_leaves_nothing_behind(tmp_path, monkeypatch):
    results = ResultsFile(tmp_path / "results.jsonl", fresh=True)
    results.append(b'{"sample_id": "a", "status": "ok"}\n')
    write = os.write

    def half(handle: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(handle, data[: len(data) // 2])

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(OutputError, match="No space left"):
        results.append(b'{"sample_id": "b", "status": "ok"}\n')
    monkeypatch.undo()
    results.append(b'{"sample_id": "c", "status": "ok"}\n')
    results.close()
    assert [record["sample_id"] for record in records(tmp_path / "results.jsonl")] == ["a", "c"]


def test_order_that_cannot_be_written_keeps_every_result(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    results = ResultsFile(path, fresh=True)
    lines = [json.dumps({"sample_id": name, "status": "ok"}).encode() + b"\n" for name in "ba"]
    starts = [results.append(line) for line in lines]
    before = path.read_bytes()
    spans = [(starts[1], len(lines[1])), (starts[0], len(lines[0]))]

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OutputError, match="could not be put in order"):
            results.put_in_order(lambda: spans)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.glob("results*")] == ["results.jsonl"]
    results.put_in_order(lambda: spans)
    results.close()
    assert [record["sample_id"] for record in records(path)] == ["a", "b"]


# --- two at once ---


def test_second_process_on_one_output_is_refused_and_the_lock_dies_with_its_owner(tmp_path):
    output = tmp_path / "results.jsonl"
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, time\nfrom pathlib import Path\nfrom agenticiqa.runtime.files import locked\n"
            "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n",
            str(output),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(OutputError, match="Another process is writing"), locked(output):
        pass
    holder.kill()
    holder.wait()
    with locked(output):
        pass
    assert list(tmp_path.glob("results*")) == []


def test_lock_is_never_held_twice_though_its_file_comes_and_goes(tmp_path):
    output = tmp_path / "results.jsonl"
    inside: list[int] = []
    most: list[int] = []

    def hold(number: int) -> None:
        for _ in range(60):
            with locked(output, wait_s=60):
                inside.append(number)
                time.sleep(0)  # lets the others have a try
                most.append(len(inside))
                inside.remove(number)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(hold, range(6)))
    assert (len(most), max(most)) == (360, 1)
    assert list(tmp_path.glob("results*")) == []


def test_lock_makes_no_folder(tmp_path):
    with pytest.raises(OutputError, match="There is no folder"), locked(tmp_path / "slip" / "results.jsonl"):
        pass
    assert not (tmp_path / "slip").exists()
