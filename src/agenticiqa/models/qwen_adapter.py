"""A fine-tuned adapter (LoRA, as peft writes it) for a local model: what it is, and how it gets into the model."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agenticiqa.errors import BackendUnavailableError

logger = logging.getLogger(__name__)

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@dataclass(frozen=True)
class Adapter:
    """Where it is, and what it holds: two adapters of one name are told apart by their weights."""

    folder: Path
    sha256: str

    @property
    def name(self) -> str:
        return f"{self.folder.name}@{self.sha256[:12]}"


def adapter_at(folder: str | Path) -> Adapter:
    """The adapter in a folder; raises where there is none that could be used."""
    path = Path(folder).expanduser()
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
        content = (path / WEIGHTS).read_bytes()
    except (OSError, ValueError) as error:
        raise BackendUnavailableError(
            f"{str(path)!r} holds no adapter: {error}.",
            hint=f"QWEN_ADAPTER names a folder with {CONFIG} and {WEIGHTS}, as peft saves them (docs/tuning.md).",
        ) from error
    if not isinstance(config, dict) or config.get("peft_type") != "LORA":
        raise BackendUnavailableError(f"The adapter in {str(path)!r} is no LoRA adapter.", hint="See docs/tuning.md.")
    return Adapter(path.resolve(), hashlib.sha256(content).hexdigest())


def with_adapter(model: Any, adapter: Adapter) -> Any:
    """The model with the adapter merged into its weights: as fast as without."""
    try:
        from peft import PeftModel
    except ImportError as error:
        raise BackendUnavailableError(
            "An adapter needs peft, which is not installed.", hint="pip install 'agenticiqa[qwen]'"
        ) from error
    logger.info("merging the adapter %s", adapter.name)
    try:
        return PeftModel.from_pretrained(model, str(adapter.folder)).merge_and_unload().eval()
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise BackendUnavailableError(
            f"The adapter {adapter.name} does not fit the model: {str(error).strip().partition(chr(10))[0]}",
            hint="Name the model that it was tuned on in QWEN_MODEL.",
        ) from error
