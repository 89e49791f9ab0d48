"""One way to try again: whoever sends requests says when to stop and how long to wait."""

from __future__ import annotations

from collections.abc import Callable

from tenacity import RetryCallState, Retrying, retry_if_exception

from agenticiqa.errors import BackendError


def failure_of(state: RetryCallState) -> BaseException | None:
    """What the last attempt ended with."""
    return state.outcome.exception() if state.outcome else None


def attempts(
    *,
    stop: Callable[[RetryCallState], bool],
    wait: Callable[[RetryCallState], float],
    sleep: Callable[[float], None],
    before_sleep: Callable[[RetryCallState], None],
) -> Retrying:
    """Repeats a call whose failure may pass; the last failure is raised as it is."""
    return Retrying(
        retry=retry_if_exception(lambda error: isinstance(error, BackendError) and error.retryable),
        stop=stop,
        wait=wait,
        sleep=sleep,
        before_sleep=before_sleep,
        reraise=True,
    )
