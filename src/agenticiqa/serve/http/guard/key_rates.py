"""How often each key has asked for work in the last minute."""

from __future__ import annotations

import math
import time
from collections import deque

from agenticiqa.serve.http.problems import ServiceError

MINUTE = 60.0


class KeyRates:
    """Moments of requests by owner; used on the event loop only."""

    def __init__(self) -> None:
        self._moments: dict[str, deque[float]] = {}

    def count(self, owner: str, per_minute: int) -> None:
        """Note a request, or refuse it."""
        now = time.monotonic()
        moments = self._moments.setdefault(owner, deque())
        while moments and moments[0] <= now - MINUTE:
            moments.popleft()
        if len(moments) >= per_minute:
            wait = max(1, math.ceil(moments[0] + MINUTE - now))
            raise ServiceError(
                429,
                "too_often",
                f"This key may ask {per_minute} times a minute. Try again in {wait} seconds.",
                headers={"Retry-After": str(wait)},
            )
        moments.append(now)
