"""How a service is set up."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from agenticiqa.errors import ConfigError

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class ServiceSettings:
    """Everything about the service that is not about models or tools."""

    data_folder: Path
    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 2
    queue: int = 16
    """Accepted work that may wait for a worker; beyond it a request is answered 429."""
    timeout_s: float = 120.0
    """From acceptance to answer."""
    grace_s: float = 30.0
    """How long a stopping server lets accepted work finish before it is recorded as interrupted."""
    max_upload_bytes: int = 32 * MEGABYTE
    """The whole request body."""
    max_pixels: int = 50_000_000
    max_batch_upload_bytes: int = 512 * MEGABYTE
    max_batch_samples: int = 1000
    keep_uploads_hours: float = 24.0
    keep_runs_days: float = 90.0
    """How long questions and results are kept after a run has ended."""
    store_bytes: int = 2048 * MEGABYTE
    api_keys_file: Path | None = None
    allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    """Addresses whose ``X-Forwarded-For`` is believed."""
    allowed_roots: tuple[Path, ...] = ()
    allowed_backends: tuple[str, ...] = ()
    header_timeout_s: float = 10.0
    body_idle_s: float = 10.0
    """The longest silence inside a request body."""
    body_total_s: float = 120.0
    body_grace_s: float = 10.0
    """From then on a body must have come at …"""
    body_least_rate: int = 16 * 1024
    """… so many bytes a second on average, or it is cut off."""
    bodies_at_once: int = 8
    """All bodies that are being read may together hold as much as so many of the largest."""

    def check(self) -> None:
        """Refuse a combination that would be open to strangers."""
        if not is_loopback(self.host) and self.api_keys_file is None:
            raise ConfigError(
                f"Serving on {self.host} without API keys would be open to everyone.",
                hint="Make a key with `agenticiqa serve keys add NAME --api-keys-file FILE` and start with the same "
                "--api-keys-file, or serve on 127.0.0.1.",
            )
        for origin in self.allowed_origins:
            if origin == "*" or not origin.startswith(("http://", "https://")):
                raise ConfigError(
                    f"{origin!r} is not an origin.", hint="Write scheme and host, for example https://example.org."
                )
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_address(proxy)
            except ValueError:
                raise ConfigError(f"{proxy!r} is not an address.", hint="Write 127.0.0.1 or ::1.") from None
        for root in self.allowed_roots:
            if not root.is_dir():
                raise ConfigError(f"The allowed root {str(root)!r} is not a folder.")


def is_loopback(host: str) -> bool:
    """
    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
