"""Memory: every tool says what it needs, and no run takes more than it may."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agenticiqa import AgenticIQA
from agenticiqa.batch.engines.processes import KEPT_MEMORY
from agenticiqa.errors import ConfigError, MemoryLimitError
from agenticiqa.pictures.images import decode_image
from agenticiqa.pictures.inputs import given_picture
from agenticiqa.runtime.config import ROLES, ImageLimits, load_settings
from agenticiqa.runtime.memory import OWN_BYTES, MemoryBudget, available_bytes, given, parse_size
from agenticiqa.runtime.stopping import Cancelled, stoppable
from agenticiqa.tools.measuring import ToolJob, ToolRunner
from agenticiqa.tools.metrics import METRICS, Measurement, Metric, MetricSpec, Views
from agenticiqa.tools.metrics.filters import strips
from agenticiqa.tools.needs import PICTURE_BYTES, assessing_need, measuring_need
from agenticiqa.tools.registry import Tool, default_registry
from support.http_service import encoded
from support.scripted import ScriptedClient

pytestmark = pytest.mark.hard

GIGABYTE = 1024**3
COMMAND = Path(sys.executable).with_name("agenticiqa")
ROOT = Path(__file__).resolve().parents[2]


def flat(width: int, height: int) -> bytes:
    """A picture of many pixels in few bytes."""
    return encoded(np.full((height, width, 3), 90, np.uint8))


# --- what tools declare ---


def test_every_tool_declares_what_it_needs():
    undeclared = MetricSpec.__dataclass_fields__["bytes_per_pixel"].default
    assert [name for name, metric in METRICS.items() if metric.spec.bytes_per_pixel == undeclared] == []
    assert all(tool.spec.bytes_per_pixel != undeclared for tool in default_registry().all())


@pytest.mark.parametrize("name", ["VIF", "NLPD", "ringing"])
def test_the_hungry_ones_keep_to_what_they_declare(name):
    """Measured in a process of its own, beside an idle one that holds the same pictures."""
    program = ROOT / "benchmarks" / "speed" / "tool_memory.py"
    peaks = []
    for what in ("the pictures alone", name):
        command = [sys.executable, str(program), "--child", what, "--megapixels", "6", "0"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        peaks.append(float(done.stdout.split()[0]))
    assert peaks[1] - peaks[0] < METRICS[name].spec.bytes_per_pixel * 6e6 * 1.2


@pytest.mark.parametrize("kept", [{}, KEPT_MEMORY], ids=["alone", "as a worker"])
def test_a_network_gives_its_memory_back(kept):
    """Kept by its session, LPIPS of one 49-megapixel pair would hold 8 GB for ever."""
    environment = {name: value for name, value in os.environ.items() if name not in KEPT_MEMORY} | kept
    code = """
import numpy as np, sys
from agenticiqa.tools.registry import default_registry
from agenticiqa.tools.metrics import Views
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
lpips = default_registry().find("LPIPS").metric
small = np.zeros((64, 64, 3), np.uint8)
lpips.measure(Views(small, small))
before = resident()
large = np.random.default_rng(0).integers(0, 255, (2000, 2000, 3), np.uint8)
lpips.measure(Views(large, large))
print((resident() - before) / large.shape[0] / large.shape[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300, env=environment
    )
    assert float(done.stdout) < 90


# --- the budget ---


def test_sizes_are_read():
    assert parse_size("4G") == 4 * GIGABYTE
    assert load_settings(overrides={"pipeline.memory": "512M"}, environment={}).pipeline.memory == GIGABYTE // 2
    for wrong in ("", "many", "-4G", "0"):
        with pytest.raises(ConfigError):
            load_settings(overrides={"pipeline.memory": wrong}, environment={})


@pytest.mark.parametrize(
    ("groups", "files"),
    [
        ("0::/", {"memory.max": "268435456"}),
        ("0::/system.slice/agenticiqa.service", {"system.slice/agenticiqa.service/memory.max": "268435456"}),
        ("0::/a/b", {"a/memory.max": "268435456", "a/b/memory.max": "max"}),
        ("4:memory:/docker/x", {"memory/memory.limit_in_bytes": "268435456"}),
    ],
)
def test_a_container_counts_as_the_machine(tmp_path, groups, files):
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(f"{groups}\n1:name=systemd:/\n")
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert available_bytes(tmp_path) == 268435456


def test_without_a_limit_the_machine_counts(tmp_path):
    assert available_bytes(tmp_path) > 268435456


def test_what_never_fits_is_refused_and_says_how_much_it_is():
    budget = MemoryBudget(4 * GIGABYTE)
    with pytest.raises(MemoryLimitError, match=r"about 8\.0 GB") as caught, budget.hold(8 * GIGABYTE, "This picture"):
        raise AssertionError("it was let in")
    assert "--memory" in str(caught.value)


def test_large_work_waits_for_large_work():
    budget = MemoryBudget(OWN_BYTES + 3 * GIGABYTE)
    order: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with budget.hold(2 * GIGABYTE, "one"):
            inside.set()
            leave.wait(30)
            order.append("first")

    def second() -> None:
        with budget.hold(2 * GIGABYTE, "two"):
            order.append("second")

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert inside.wait(30)
    threads.append(threading.Thread(target=second))
    threads[1].start()
    time.sleep(0.3)
    assert order == []
    leave.set()
    for thread in threads:
        thread.join(30)
    assert order == ["first", "second"]
    assert budget.taken == 0


def test_work_that_waits_can_be_stopped():
    budget = MemoryBudget(OWN_BYTES + 3 * GIGABYTE)

    def stop() -> None:
        raise Cancelled

    with budget.hold(2 * GIGABYTE, "one"), pytest.raises(Cancelled), stoppable(stop), budget.hold(2 * GIGABYTE, "two"):
        raise AssertionError("it was let in")
    with budget.hold(3 * GIGABYTE, "all of it"):
        assert budget.taken == 3 * GIGABYTE


# --- tools on a picture ---


def registry_jobs(*names: str) -> list[ToolJob]:
    return [ToolJob(default_registry().find(name)) for name in names]


def test_a_tool_that_does_not_fit_is_refused_alone():
    picture = decode_image(flat(1000, 1000))
    memory = measuring_need([picture.size, picture.size], [default_registry().find("SSIM")]).least
    bench = ToolRunner(picture, picture, memory=memory)
    ssim, lpips = bench.run(registry_jobs("SSIM", "LPIPS"), max_workers=4, timeout_s=60)
    assert ssim.raw == 1.0
    assert "memory" in (lpips.error or "")
    assert lpips.raw is None


def test_tools_run_one_after_the_other_where_memory_is_short():
    at_once = most = 0
    lock = threading.Lock()

    def slow(views: Views) -> Measurement:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        time.sleep(0.05)
        with lock:
            at_once -= 1
        return Measurement(1.0)

    picture = decode_image(flat(1200, 1000))
    jobs = [ToolJob(Tool(Metric(toy(f"slow{number}", 50), slow))) for number in range(4)]
    for memory, expected in ((None, 4), (1_200_000 * (16 + 60), 1), (1_200_000 * (16 + 140), 2)):
        most = 0
        results = ToolRunner(picture, None, memory=memory).run(jobs, max_workers=4, timeout_s=60)
        assert all(result.raw == 1.0 for result in results)
        assert most == expected


def toy(name: str, bytes_per_pixel: float) -> MetricSpec:
    return MetricSpec(
        name=name, kind="NR", range=(0, 1), higher_is_better=True, variant="toy", paper="none", good_at=(),
        bytes_per_pixel=bytes_per_pixel,
    )  # fmt: skip


def test_measuring_stops_between_two_tiles():
    seen: list[int] = []
    stopped = threading.Event()

    def check() -> None:
        if stopped.is_set():
            raise Cancelled

    def by_tiles(views: Views) -> Measurement:
        for start, _ in strips(1000, 1 << 17):
            seen.append(start)
            if start == 3:
                stopped.set()
        return Measurement(1.0)

    picture = decode_image(flat(1200, 1000))
    jobs = [ToolJob(Tool(Metric(toy(f"tiles{number}", 1), by_tiles))) for number in range(3)]
    with pytest.raises(Cancelled), stoppable(check):
        ToolRunner(picture, None).run(jobs, max_workers=1, timeout_s=60)
    assert seen == [0, 1, 2, 3]


def test_a_tool_that_overran_ends_at_its_next_tile():
    ended = threading.Event()

    def endless(views: Views) -> Measurement:
        try:
            for _ in strips(100_000, 1 << 17):
                time.sleep(0.01)
        finally:
            ended.set()
        return Measurement(1.0)

    picture = decode_image(flat(1200, 1000))
    (result,) = ToolRunner(picture, None).run(
        [ToolJob(Tool(Metric(toy("endless", 1), endless)))], max_workers=1, timeout_s=0.2
    )
    assert result.error == "took longer than 0.2 s"
    assert ended.wait(10)


def test_a_network_can_be_stopped_while_it_runs():
    started = time.monotonic()

    def check() -> None:
        if time.monotonic() - started > 0.5:
            raise Cancelled

    pixels = np.random.default_rng(0).integers(0, 255, (2000, 3000, 3), np.uint8)
    picture = decode_image(encoded(pixels))
    with pytest.raises(Cancelled), stoppable(check):
        ToolRunner(picture, picture).run(registry_jobs("LPIPS"), max_workers=1, timeout_s=300)


# --- whole runs ---


def test_the_size_is_known_before_a_pixel_is_decoded(tmp_path):
    file = tmp_path / "wide.png"
    file.write_bytes(flat(640, 20))
    for source in (file, str(file), file.read_bytes(), Image.open(file), np.zeros((20, 640), np.uint8)):
        picture = given_picture(source)
        assert picture.peek is not None
        assert picture.peek(ImageLimits()) == (640, 20)


@pytest.mark.usefixtures("isolated")
def test_a_run_that_does_not_fit_is_refused_before_a_model_is_asked(tmp_path):
    model = ScriptedClient()
    with AgenticIQA(overrides={"pipeline.memory": "100M"}, clients=dict.fromkeys(ROLES, model), record=False) as own:
        result = own.assess(flat(3000, 2000))
        assert result.status == "error"
        assert "memory" in (result.error or "")
        assert result.metadata["error_kind"] == "memory_limit"
        assert model.script.counts == {}
        compared = own.compare(flat(3000, 2000), flat(3000, 2001))
        assert "memory" in (compared.error or "")
        # Whoever holds memory for its work already is not counted twice.
        with given(GIGABYTE):
            assert own.assess(flat(3000, 2000)).status != "error"


def test_the_command_line_says_what_to_do(tmp_path):
    file = tmp_path / "large.png"
    file.write_bytes(flat(3000, 2000))
    command = [str(COMMAND), "measure", str(file), "--tool", "ringing", "--memory", "300M"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 1
    assert "memory" in done.stdout
    done = subprocess.run([*command[:-1], "4G"], capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_tiny_picture_scaled_to_a_huge_reference_needs_what_it_grows_to():
    """Counted at the size that was sent, 49 megapixels more would be open than were admitted."""
    tools, tiny, huge = default_registry(), (32, 32), (7000, 7000)
    for resize in (False, True):
        need = measuring_need([tiny if resize else huge, huge], [tools.find("PSNR")], resize=resize)
        asking = assessing_need([tiny if resize else huge, huge], tools, 10**12, has_reference=True, resize=resize)
        assert need.least >= 2 * PICTURE_BYTES * 49_000_000
        assert asking >= 2 * PICTURE_BYTES * 49_000_000
