"""What an operator sees of a server: a line for every request that was answered, and counters for Prometheus."""

from __future__ import annotations

import ctypes
import logging

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

from agenticiqa.runtime.logs import ACCESS_LOGGER
from agenticiqa.runtime.memory import MemoryBudget
from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.serve.http.settings import is_loopback
from agenticiqa.serve.http.store.job_record import JobOutcome
from agenticiqa.serve.http.work.jobs import JobQueue, ServiceJob

logger = logging.getLogger(ACCESS_LOGGER)

LONGEST = 200
"""Of what a client made up: its path, and what a proxy says of where it comes from."""


def log_request(scope: Scope, status: int, seconds: float) -> None:
    """A request that has ended; a client that left before its answer has status 499, as nginx writes it."""
    state = scope.get("state", {})
    fields = {
        "request": state.get("request_id"),
        "client": _client(scope),
        "key": state.get("key_name"),
        "method": scope["method"][:16],
        # Without the query: it may hold what somebody asked.
        "path": scope["path"][:LONGEST],
        "status": status or 499,
        "seconds": round(seconds, 4),
    }
    line = '%(client)s %(key)s "%(method)s %(path)s" %(status)d %(seconds).3f s %(request)s'
    logger.info(line, {**fields, "key": fields["key"] or "-"}, extra={"fields": fields})


def _client(scope: Scope) -> str:
    """Where a request comes from; behind a proxy on this machine, where that says it comes from."""
    client = (scope.get("client") or ("unknown",))[0]
    forwarded = dict(scope["headers"]).get(b"x-forwarded-for", b"").decode("latin-1")
    # The last entry is the one that our own proxy wrote; those before it are the client's words.
    nearest = forwarded.rpartition(",")[2].strip()[:LONGEST]
    return nearest if nearest and is_loopback(client) else client


_ARENA_MAX = -8
"""glibc's name for the option (``M_ARENA_MAX`` in malloc.h)."""
ARENAS = 2


def share_arenas() -> bool:
    """Let all threads share a few heaps; False where the C library has no such option.

    glibc gives threads heaps of their own, and what was freed in one is not used by another: under load a server with
    many short-lived threads would hold several hundred megabytes that nobody uses, and ever more of them.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        # Another C library (musl, macOS, Windows): their heaps are not ours to tune.
        return False
    return bool(mallopt(_ARENA_MAX, ARENAS))


SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class ServiceMetrics:
    """One set of counters for one server."""

    def __init__(self, queue: JobQueue, memory: MemoryBudget, keys: KeyFile | None) -> None:
        self._keys = keys
        registry = CollectorRegistry()
        self._registry = registry
        self._requests = Counter(
            "agenticiqa_http_requests", "Requests answered", ["method", "route", "status", "key"], registry=registry
        )
        self._latency = Histogram(
            "agenticiqa_http_request_seconds", "Time to answer", ["route"], buckets=SECONDS, registry=registry
        )
        self._jobs = Counter("agenticiqa_jobs", "Jobs ended, by how", ["kind", "status", "key"], registry=registry)
        self._job_seconds = Histogram(
            "agenticiqa_job_seconds",
            "Time a worker spent on a job",
            ["kind", "key"],
            buckets=SECONDS,
            registry=registry,
        )
        running = Gauge("agenticiqa_jobs_running", "Jobs in the hands of a worker", registry=registry)
        running.set_function(lambda: queue.running)
        accepted = Gauge("agenticiqa_jobs_accepted", "Jobs waiting or running", registry=registry)
        accepted.set_function(lambda: queue.taken)
        held = Gauge("agenticiqa_memory_held_bytes", "Memory that large runs hold", registry=registry)
        held.set_function(lambda: memory.taken)
        limit = Gauge("agenticiqa_memory_limit_bytes", "What all runs may take together (--memory)", registry=registry)
        limit.set(memory.total)

    def request_ended(self, scope: Scope, status: int, seconds: float) -> None:
        # The route's pattern, not the address: an attacker must not be able to make up labels.
        route = getattr(scope.get("route"), "path", "none")
        method = scope["method"] if scope["method"] in _METHODS else "other"
        # A key's name: the operator chose it. Requests without a valid key have none.
        key = scope.get("state", {}).get("key_name", "")
        self._requests.labels(method, route, str(status or "left"), key).inc()
        self._latency.labels(route).observe(seconds)

    def job_ended(self, job: ServiceJob, outcome: JobOutcome) -> None:
        key = self._keys.name_of(job.owner) if self._keys else job.owner
        self._jobs.labels(job.kind, outcome.status, key).inc()
        if outcome.seconds is not None:
            self._job_seconds.labels(job.kind, key).observe(outcome.seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
