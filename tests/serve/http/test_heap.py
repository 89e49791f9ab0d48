"""Threads of the server share few heaps: what many short-lived ones freed is not kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import ctypes, sys, threading
from pathlib import Path
from agenticiqa.serve.http.observing import share_arenas

if sys.argv[1] == "shared":
    assert share_arenas()
malloc, free = ctypes.CDLL(None).malloc, ctypes.CDLL(None).free
malloc.restype, free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
together = threading.Barrier(12)

def work():
    kept = [malloc(50_000) for _ in range(20)]
    together.wait()
    [free(each) for each in kept]

threads = [threading.Thread(target=work) for _ in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
# A heap of a thread's own is a mapping of 64 MB, most of it not accessible yet.
sizes = [[int(end, 16) for end in line.split()[0].split("-")] for line in Path("/proc/self/maps").open()]
rights = [line.split()[1] for line in Path("/proc/self/maps").open()]
print(sum(right == "---p" and 2**25 < stop - start < 2**26 for (start, stop), right in zip(sizes, rights)))
"""


@pytest.mark.hard
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc gives threads heaps of their own")
def test_sharing_makes_fewer_heaps():
    def heaps(how: str) -> int:
        done = subprocess.run([sys.executable, "-c", SCRIPT, how], capture_output=True, text=True, check=True)
        return int(done.stdout)

    assert heaps("shared") < heaps("own")
