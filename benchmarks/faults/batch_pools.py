"""What process pools of others do when a worker is killed: docs/many-pictures/batch.md says why batches have their own.

pip install pebble loky && python benchmarks/faults/batch_pools.py
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait

import loky
import pebble

PATIENCE_S = 15


def work(number: int, deadly: int) -> int:
    if number == deadly:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def show(name: str, futures: Sequence[Future[int]]) -> None:
    _, left = wait(futures, timeout=PATIENCE_S)
    ends = ["never" if each in left else type(each.exception()).__name__ for each in futures]
    print(f"{name}: {', '.join('ok' if end == 'NoneType' else end for end in ends)}", flush=True)


def main() -> None:
    context = multiprocessing.get_context("spawn")
    with pebble.ProcessPool(max_workers=1, context=context) as pool:
        show("pebble, worker dies at task 1", [pool.schedule(work, args=[number, 1]) for number in range(4)])
        pool.stop()
    pool = pebble.ProcessPool(max_workers=1, context=context)
    pool.schedule(work, args=[0, -1]).result()
    (waiting,) = multiprocessing.active_children()
    waiting.kill()
    time.sleep(0.5)
    try:
        show("pebble, waiting worker killed", [pool.schedule(work, args=[number, -1]) for number in range(4)])
    except RuntimeError as error:
        print(f"pebble, waiting worker killed: the pool takes no more tasks: {error}", flush=True)
    pool.stop()
    executor = loky.ProcessPoolExecutor(2, context=context)
    show("loky, worker dies at task 2", [executor.submit(work, number, 2) for number in range(8)])
    executor.shutdown(kill_workers=True)


if __name__ == "__main__":
    main()
