"""What an operator sees of a server: a line for every request that was answered, and counters for Prometheus."""

import ctypes
import logging
from collections.abc import Collection

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import Scope

from agenticiqa.runtime.logs import ACCESS_LOGGER
from agenticiqa.runtime.memory import MemoryBudget
from agenticiqa.serve.http.keys import KeyFile
from agenticiqa.serve.http.store.job_record import JobOutcome
from agenticiqa.serve.http.work.jobs import JobQueue, ServiceJob

logger = logging.getLogger(ACCESS_LOGGER)

_ARENA_MAX = -8
"""glibc's name for the option (``M_ARENA_MAX`` in malloc.h)."""
LONGEST = 200
"""Of what a client made up: its path, and what a proxy says of where it comes from."""
SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def log_request(scope: Scope, status: int, seconds: float, trusted_proxies: Collection[str] = ()) -> None:
    """A request that has ended; a client that left before its answer has status 499, as nginx writes it."""
    state = scope.get("state", {})
    client = (scope.get("client") or ("unknown",))[0]
    # Behind a proxy that the operator named, the last entry is the one that it wrote; others are the client's words.
    forwarded = dict(scope["headers"]).get(b"x-forwarded-for", b"").decode("latin-1")
    nearest = forwarded.rpartition(",")[2].strip()[:LONGEST]
    fields = {
        "request": state.get("request_id"),
        "client": nearest if nearest and client in trusted_proxies else client,
        "key": state.get("key_name"),
        "method": scope["method"][:16],
        # Without the query string: it may hold a user's question.
        "path": scope["path"][:LONGEST],
        "status": status or 499,
        "seconds": round(seconds, 4),
    }
    line = '%(client)s %(key)s "%(method)s %(path)s" %(status)d %(seconds).3f s %(request)s'
    logger.info(line, {**fields, "key": fields["key"] or "-"}, extra={"fields": fields})


def share_arenas() -> bool:
    """Let all threads share two heaps; False where the C library has no such option (musl, macOS, Windows).

    glibc gives threads heaps of their own, and what was freed in one is not used by another: under load a server with
    many short-lived threads would hold several hundred unused megabytes, and ever more of them.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_ARENA_MAX, 2))
    except (AttributeError, OSError, TypeError):
        return False


class ServiceMetrics:
    """One set of counters for one server."""

    def __init__(self, queue: JobQueue, memory: MemoryBudget, keys: KeyFile | None) -> None:
        self._keys = keys
        self._registry = registry = CollectorRegistry()

        def counter(name: str, about: str, *labels: str) -> Counter:
            return Counter(f"agenticiqa_{name}", about, labels, registry=registry)

        def histogram(name: str, about: str, *labels: str) -> Histogram:
            return Histogram(f"agenticiqa_{name}_seconds", about, labels, buckets=SECONDS, registry=registry)

        self._requests = counter("http_requests", "Requests answered", "method", "route", "status", "key")
        self._latency = histogram("http_request", "Time to answer", "route")
        self._jobs = counter("jobs", "Jobs ended, by how", "kind", "status", "key")
        self._job_seconds = histogram("job", "Time a worker spent on a job", "kind", "key")
        for name, about, value in (
            ("jobs_running", "Jobs in the hands of a worker", lambda: queue.running),
            ("jobs_accepted", "Jobs waiting or running", lambda: queue.taken),
            ("memory_held_bytes", "Memory that large runs hold", lambda: memory.taken),
            ("memory_limit_bytes", "What all runs may take together (--memory)", lambda: memory.total),
        ):
            Gauge(f"agenticiqa_{name}", about, registry=registry).set_function(value)

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
