"""Configuration files of others that the user has read and trusts, each by its place and its content.

A file that changes after it was trusted (a pull, a build) is no longer the one that the user read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import platformdirs

from agenticiqa.errors import ConfigError
from agenticiqa.runtime.files import write_atomic

RECORD = "trusted.json"


def user_config_folder() -> Path | None:
    """The user's own configuration; None for a user without a home."""
    return own_folder(platformdirs.user_config_dir)


def own_folder(find: Callable[..., str]) -> Path | None:
    """The folder that a function of platformdirs finds for this package; None for a user without a home."""
    try:
        folder = Path(find("agenticiqa", appauthor=False))
    except RuntimeError:
        return None
    # Some versions of platformdirs answer "~/.config" for such a user, which is below the working folder: what lies
    # there somebody else may have put there.
    return folder if folder.is_absolute() else None


def is_trusted(file: Path, content: bytes) -> bool:
    return _read().get(str(file.resolve())) == hashlib.sha256(content).hexdigest()


def trust(contents: Mapping[Path, bytes]) -> None:
    """Trust these files as long as they hold this."""
    trusted = {str(file.resolve()): hashlib.sha256(content).hexdigest() for file, content in contents.items()}
    _write({**_read(), **trusted})


def forget(files: Iterable[Path]) -> list[Path]:
    """Trust these files no longer; returns those that were trusted."""
    known = _read()
    forgotten = [file for file in files if known.pop(str(file.resolve()), None)]
    if forgotten:
        _write(known)
    return forgotten


def _read() -> dict[str, str]:
    folder = user_config_folder()
    if folder is None or not (folder / RECORD).exists():
        return {}
    found, why = None, "not a JSON object"
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = str(error)
    if not isinstance(found, dict):
        hint = "Remove it and trust your folders again."
        raise ConfigError(f"{folder / RECORD} cannot be read ({why}).", hint=hint)
    return found


def _write(known: Mapping[str, str]) -> None:
    folder = user_config_folder()
    if folder is None:
        raise ConfigError(
            "There is no folder of your own to remember this in.", hint="Set HOME, or name the folder with --config."
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_atomic(folder / RECORD, json.dumps(known, indent=2) + "\n", private=True)
