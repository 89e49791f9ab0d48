"""Tools on a bench: side by side, in order, within their time, each able to fail alone."""

from __future__ import annotations

import io
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from agenticiqa.pictures.images import LoadedImage, decode_image
from agenticiqa.tools.catalogue import load_catalogue
from agenticiqa.tools.measuring import AMPLE_S, SMALL_PIXELS, TINY_PIXELS, ToolJob, ToolRunner
from agenticiqa.tools.metrics import Measurement, Metric, MetricSpec
from agenticiqa.tools.registry import Tool, default_registry


def picture(width: int = 48, height: int = 40) -> LoadedImage:
    pixels = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return decode_image(file.getvalue())


def tool(name: str, measure, *, own: bool = False) -> Tool:
    spec = MetricSpec(name, "NR", (0.0, 1.0), True, "toy", "nobody", ("Blurs",))
    return Tool(Metric(spec, measure), entry=load_catalogue()["NIQE"] if own else None)


def giving(value: float):
    return lambda _: Measurement(value)


def sleeping(seconds: float):
    def measure(_) -> Measurement:
        time.sleep(seconds)
        return Measurement(0.5)

    return measure


@pytest.mark.parametrize("threads", [1, 2, 9])
def test_results_come_in_the_order_of_the_jobs(threads):
    jobs = [ToolJob(tool(f"t{number}", giving(number / 10))) for number in range(7)]
    results = ToolRunner(picture(), None).run(jobs, max_workers=threads, timeout_s=30)
    assert [(result.job, result.raw) for result in results] == [(job, n / 10) for n, job in enumerate(jobs)]


def test_jobs_really_run_side_by_side():
    meeting = threading.Barrier(3, timeout=20)

    def meet(_) -> Measurement:
        meeting.wait()
        return Measurement(1.0)

    results = ToolRunner(picture(), None).run(
        [ToolJob(tool(name, meet)) for name in "abc"], max_workers=3, timeout_s=30
    )
    assert [result.error for result in results] == [None, None, None]


def test_one_that_overruns_keeps_nothing_from_those_before_it():
    jobs = [
        ToolJob(tool("quick", giving(0.25))),
        ToolJob(tool("slow", sleeping(3))),
        ToolJob(tool("behind", giving(0.75))),
    ]
    bench = ToolRunner(picture(), None)
    quick, slow, behind = bench.run(jobs, max_workers=1, timeout_s=0.3)
    assert (quick.raw, slow.raw, behind.raw) == (0.25, None, None)
    assert slow.error == behind.error == "took longer than 0.3 s"
    # The thread that is still busy is not waited for.
    assert [result.raw for result in bench.run([jobs[0], jobs[2]], max_workers=1, timeout_s=1)] == [0.25, 0.75]


def test_one_that_fails_fails_alone():
    def fail(_) -> Measurement:
        raise IndexError("no such pixel")

    failed, fine = ToolRunner(picture(), None).run(
        [ToolJob(tool("bad", fail)), ToolJob(tool("good", giving(1.0)))], max_workers=1, timeout_s=30
    )
    assert (failed.error, fine.raw) == ("no such pixel", 1.0)


SIZES = ((TINY_PIXELS, 0), (SMALL_PIXELS, 0), (SMALL_PIXELS, 1))


def where_it_runs(test: LoadedImage, *, own: bool, threads: int = 1, timeout_s: float = AMPLE_S) -> int:
    seen: list[int] = []

    def measure(_) -> Measurement:
        seen.append(threading.get_ident())
        return Measurement(1.0)

    jobs = [ToolJob(tool(f"t{number}", measure, own=own)) for number in range(threads)]
    ToolRunner(test, None).run(jobs, max_workers=threads, timeout_s=timeout_s)
    return seen[0]


def test_only_what_is_sure_to_end_in_time_runs_in_the_calling_thread():
    here = threading.get_ident()
    tiny, small, large = (picture(pixels // 64 + more, 64) for pixels, more in SIZES)
    assert where_it_runs(tiny, own=True, threads=2) == where_it_runs(small, own=True) == here
    assert where_it_runs(tiny, own=False) != here
    assert where_it_runs(tiny, own=True, timeout_s=AMPLE_S - 0.1) != here
    assert where_it_runs(small, own=True, threads=2) != here
    assert where_it_runs(large, own=True) != here


def test_calling_thread_and_pool_agree():
    tools = [each for each in default_registry().all() if not each.needs_reference and each.is_predictable]
    test = picture(160, 128)
    alone, pooled = (
        ToolRunner(test, None).run([ToolJob(each) for each in tools], max_workers=n, timeout_s=60) for n in (1, 2)
    )
    assert [replace(result, seconds=0.0) for result in alone] == [replace(result, seconds=0.0) for result in pooled]
