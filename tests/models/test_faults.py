"""From statuses, headers and exceptions to our errors."""

from __future__ import annotations

import socket
from datetime import datetime, timezone

import pytest

from agenticiqa.errors import (
    AuthenticationError,
    BackendServerError,
    BackendTimeoutError,
    RateLimitError,
    RequestRejectedError,
)
from agenticiqa.models import faults

NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, RequestRejectedError, False),
        (401, AuthenticationError, False),
        (403, AuthenticationError, False),
        (404, RequestRejectedError, False),
        (408, BackendTimeoutError, True),
        (413, RequestRejectedError, False),
        (422, RequestRejectedError, False),
        (429, RateLimitError, True),
        (500, BackendServerError, True),
        (503, BackendServerError, True),
        (529, BackendServerError, True),
    ],
)
def test_statuses(status, kind, retryable):
    error = faults.error_for_status("p", status, "words about sk-secret", secret="sk-secret")
    assert type(error) is kind
    assert error.retryable is retryable
    assert "sk-secret" not in str(error)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (None, None),
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_retry_after(headers, expected):
    assert faults.retry_after_seconds(headers, NOW) == expected


def chained(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


@pytest.mark.parametrize(
    ("inner", "retryable"),
    [
        (ConnectionRefusedError("refused"), False),
        (socket.gaierror(socket.EAI_NONAME, "unknown host"), False),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), True),
        (ConnectionResetError("reset"), True),
        (RuntimeError("peer closed connection"), True),
    ],
)
def test_a_server_that_is_not_there_is_not_asked_again(inner, retryable):
    error = faults.connection_error("p", chained(RuntimeError("Connection error."), inner))
    assert error.retryable is retryable
    assert str(inner) in error.message


def test_long_words_are_cut_and_put_on_one_line():
    text = faults.scrubbed("a\nb " * 1000, None)
    assert len(text) == faults.MAX_DETAIL + 1
    assert "\n" not in text


def test_a_connection_that_never_came_about_is_no_timeout():
    class ConnectTimeout(Exception):
        pass

    error = faults.timeout_or_unreachable("p", chained(RuntimeError("timed out"), ConnectTimeout()), 120)
    assert error.kind == "backend_connection"
    assert not error.retryable
    assert faults.timeout_or_unreachable("p", RuntimeError("timed out"), 120).kind == "backend_timeout"
