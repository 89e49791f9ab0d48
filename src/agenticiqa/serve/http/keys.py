"""API keys: made once, shown once, kept as hashes.

A key is 256 random bits, so one SHA-256 is enough to keep it: it cannot be guessed, and checking it is cheap.
The file is read again whenever it changes, so that a revoked key stops working at once.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter

from agenticiqa.errors import ConfigError
from agenticiqa.runtime.files import locked, make_private_folder, write_atomic
from agenticiqa.serve.http.problems import ServiceError

PREFIX = "aiqa"
WAIT_S = 10.0
MINUTE = 60.0
Role = Literal["assess", "batch", "admin"]
ROLES: tuple[Role, ...] = get_args(Role)
DEFAULT_ROLES: tuple[Role, ...] = ("assess", "batch")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
# Compared with when no key has the id, so that an unknown id takes as long as a wrong secret.
_UNKNOWN_KEY = hashlib.sha256(b"unknown").hexdigest()


@dataclass(frozen=True)
class KeyRecord:
    """What is kept of a key."""

    id: str
    name: str
    sha256: str
    created_at: str
    revoked_at: str | None = None
    roles: tuple[Role, ...] = ROLES
    """What it may do. Keys of version 0.1, which knew no roles, may do everything."""
    expires_at: str | None = None
    at_once: int | None = None
    """Runs it may have here at a time, waiting or running; None: its share of the queue."""
    per_minute: int | None = None
    """How often it may ask for work in a minute; None: as often as it likes."""

    @property
    def owner(self) -> str:
        return f"key:{self.id}" if self.id else self.name

    @property
    def deletes_of(self) -> str | None:
        """The owner whose runs it may delete; None: all owners."""
        return None if self.id and "admin" in self.roles else self.owner

    @property
    def is_active(self) -> bool:
        return self.revoked_at is None and not self.has_expired

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= _now()


LOCAL_USER = KeyRecord(id="", name="local", sha256="", created_at="")
"""The one user of a server without keys: may do everything, with its own runs."""
_FILE = TypeAdapter(dict[Literal["keys"], list[KeyRecord]])


class KeyFile:
    """Reads and writes one file of key records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._records: dict[str, KeyRecord] = {}

    def records(self) -> list[KeyRecord]:
        with self._lock:
            self._refresh()
            return list(self._records.values())

    def add(
        self,
        name: str,
        *,
        roles: Collection[str] = DEFAULT_ROLES,
        days: float | None = None,
        at_once: int | None = None,
        per_minute: int | None = None,
    ) -> str:
        """A new key; the only time it can be read. ``days`` from now on it opens nothing any more."""
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{name!r} is not a name for a key.", hint="Letters, digits, '.', '_' and '-', up to 64.")
        if unknown := sorted({*roles} - {*ROLES}):
            raise ConfigError(f"{unknown[0]!r} is not a role.", hint=f"Roles are {', '.join(ROLES)}.")
        key_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        key = f"{PREFIX}_{key_id}_{secret}"
        with self._changing() as records:
            if any(record.name == name and record.is_active for record in records):
                raise ConfigError(
                    f"There is a key {name!r} already.", hint=f"Revoke it first: serve keys revoke {name}."
                )
            expires_at = None if days is None else _now(timedelta(days=days))
            given = tuple(role for role in ROLES if role in roles)
            made = KeyRecord(key_id, name, _digest(key), _now(), None, given, expires_at, at_once, per_minute)
            records.append(made)
        return key

    def revoke(self, name: str) -> KeyRecord:
        """From now on the key opens nothing; what it made stays out of reach of later keys of the same name."""
        with self._changing() as records:
            for place, record in enumerate(records):
                if record.name == name and record.revoked_at is None:
                    records[place] = replace(record, revoked_at=_now())
                    return records[place]
            raise ConfigError(f"There is no active key {name!r}.", hint="`agenticiqa serve keys list` shows all.")

    def owner_of(self, key: str) -> KeyRecord | None:
        """The record that a presented key belongs to, or None where it is unknown, wrong, revoked or expired."""
        parts = key.split("_", 2)
        with self._lock:
            self._refresh()
            record = self._records.get(parts[1]) if len(parts) == 3 else None
        matches = hmac.compare_digest(_digest(key), record.sha256 if record else _UNKNOWN_KEY)
        return record if record and matches and record.is_active else None

    def name_of(self, owner: str) -> str:
        """What the key is called that runs belong to."""
        with self._lock:
            record = self._records.get(owner.removeprefix("key:"))
        return record.name if record else "unknown"

    def _refresh(self) -> None:
        try:
            facts = self.path.stat()
            seen = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if seen != self._seen:
                records = _FILE.validate_json(self.path.read_bytes())["keys"]
                self._seen, self._records = seen, {record.id: record for record in records}
        except FileNotFoundError:
            self._seen, self._records = None, {}
        except OSError as error:
            raise ConfigError(f"The key file {str(self.path)!r} cannot be read: {error.strerror}.") from error
        except (ValueError, KeyError) as error:
            raise ConfigError(
                f"The key file {str(self.path)!r} is damaged.", hint="Restore it, or delete it and make new keys."
            ) from error

    @contextmanager
    def _changing(self) -> Iterator[list[KeyRecord]]:
        """The records to change, written when the block ends; the file is locked meanwhile."""
        make_private_folder(self.path.parent)
        with locked(self.path, wait_s=WAIT_S):
            records = self.records()
            yield records
            write_atomic(self.path, _FILE.dump_json({"keys": records}, indent=2) + b"\n", private=True)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _now(later: timedelta = timedelta()) -> str:
    return (datetime.now(tz=timezone.utc) + later).isoformat(timespec="seconds")


class RefusedWork:
    """What each owner's refused requests have cost of late, in seconds of work. Whoever wastes much has to wait.

    A key may waste ``ALLOWED_S`` at once and ``REPAID`` of each second from then on: enough for a folder with broken
    pictures in it, and too little to be felt by other keys.
    """

    ALLOWED_S = 10.0
    REPAID = 0.02
    EACH_S = 0.02
    """Of a request that was refused, whatever was wrong with it; …"""
    BYTES_PER_S = 50e6
    """… and taking in what it sent."""
    ANSWER_S = 2.0
    """How long the refusal of such a key is held back; …"""
    MOST_WAITING = 50
    """… and of how many requests in the same moment."""

    def __init__(self) -> None:
        self._debts: dict[str, tuple[float, float]] = {}
        """By owner: seconds, and when they were counted."""
        self._lock = threading.Lock()
        self._waiting = 0

    def add(self, owner: str, seconds: float) -> None:
        with self._lock:
            self._debts[owner] = (self._debt(owner) + seconds, time.monotonic())

    async def check(self, owner: str) -> None:
        """Raise ServiceError, with when to retry and not at once, where the owner has wasted too much."""
        beyond = self._debt(owner) - self.ALLOWED_S
        if beyond > 0:
            # Most programs that do not wait as they are told do wait for their answer.
            if self._waiting < self.MOST_WAITING:
                self._waiting += 1
                try:
                    await asyncio.sleep(self.ANSWER_S)
                finally:
                    self._waiting -= 1
            wait = min(math.ceil(beyond / self.REPAID), MINUTE)
            message = "Too much of what came under this key had to be refused, after long work. Try again later."
            raise ServiceError(429, "too_much_refused", message, retry_s=int(wait), headers={"Connection": "close"})

    def _debt(self, owner: str) -> float:
        seconds, then = self._debts.get(owner, (0.0, 0.0))
        return max(0.0, seconds - self.REPAID * (time.monotonic() - then))


class KeyRates:
    """How often each owner has asked for work in the last minute; used on the event loop only."""

    def __init__(self) -> None:
        self._moments: dict[str, list[float]] = {}

    def count(self, owner: str, per_minute: int) -> None:
        now = time.monotonic()
        moments = [each for each in self._moments.get(owner, ()) if each > now - MINUTE]
        if len(moments) >= per_minute:
            wait = max(1, math.ceil(moments[0] + MINUTE - now))
            message = f"This key may ask {per_minute} times a minute. Try again in {wait} seconds."
            raise ServiceError(429, "too_often", message, retry_s=wait)
        self._moments[owner] = [*moments, now]
