"""Fine-tune Qwen2.5-VL with LoRA on what ``training.qwen.tuning_data`` wrote.

    PYTHONPATH=src:. python -m training.qwen.tune --data DATA --model QWEN --out ADAPTER

``ADAPTER`` can then be named in QWEN_ADAPTER. Needs the extra `qwen` (torch, transformers, peft). One conversation is
trained on at a time, with gradients gathered over several; the loss counts the assistant's words alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForImageTextToText, AutoProcessor

from agenticiqa.pictures.images import load_image

IGNORED = -100
"""The label of tokens that do not count, as transformers wants it."""
# The language model's own layers: the eye stays as it is.
TARGETS = r".*language_model.*\.(q_proj|k_proj|v_proj|o_proj|gate_proj|up_proj|down_proj)"


@dataclass(frozen=True)
class Recipe:
    """How it is trained."""

    steps: int = 300
    gather: int = 8
    learning_rate: float = 1e-4
    warm_up: int = 10
    rank: int = 16
    alpha: int = 32
    dropout: float = 0.05
    seed: int = 0
    judge_every: int = 50


class Conversations:
    """The lines of a file, as the model reads them."""

    def __init__(self, file: Path, processor: Any, device: Any) -> None:
        self.lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        self._processor, self._device = processor, device

    def __len__(self) -> int:
        return len(self.lines)

    def inputs(self, position: int) -> dict[str, Any]:
        """One conversation with its labels: all tokens but the assistant's last words are ignored."""
        line = self.lines[position]
        # Opened as the product opens them: turned as the camera says, without transparency.
        pictures = [load_image(path).pil for path in line["images"]] or None
        whole = self._tokens(line["messages"], pictures, ask=False)
        asked = self._tokens(line["messages"][:-1], pictures, ask=True)["input_ids"].shape[1]
        labels = whole["input_ids"].clone()
        labels[:, :asked] = IGNORED
        return {**whole, "labels": labels}

    def _tokens(self, messages: list[dict[str, Any]], pictures: list[Any] | None, *, ask: bool) -> Any:
        text = self._processor.apply_chat_template(messages, add_generation_prompt=ask, tokenize=False)
        return self._processor(text=[text], images=pictures, return_tensors="pt").to(self._device)


def tune(data: Path, model_name: str, out: Path, recipe: Recipe, *, device: str = "auto") -> list[dict[str, float]]:
    """Train an adapter and write it with its history; returns the history."""
    place = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    torch.manual_seed(recipe.seed)
    processor = AutoProcessor.from_pretrained(model_name)
    dtype = torch.bfloat16 if place.type == "cuda" else torch.float32
    base = AutoModelForImageTextToText.from_pretrained(model_name, dtype=dtype).to(place)
    model = get_peft_model(base, _lora(recipe))
    train, held_out = (Conversations(data / name, processor, place) for name in ("train.jsonl", "held_out.jsonl"))
    history: list[dict[str, float]] = []
    for step, loss in _training(model, train, recipe):
        if step % recipe.judge_every == 0 or step in (0, recipe.steps):
            history.append({"step": step, "train_loss": loss, "held_out_loss": mean_loss(model, held_out)})
            print(json.dumps(history[-1]), flush=True)
    model.save_pretrained(out)
    facts = {
        "base": model_name,
        "recipe": asdict(recipe),
        "data": _hash(data / "train.jsonl"),
        "losses": history,
    }
    (out / "tuning.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    return history


def _lora(recipe: Recipe) -> LoraConfig:
    return LoraConfig(
        r=recipe.rank,
        lora_alpha=recipe.alpha,
        lora_dropout=recipe.dropout,
        target_modules=TARGETS,
        task_type="CAUSAL_LM",
    )


def _training(model: Any, train: Conversations, recipe: Recipe) -> Iterator[tuple[int, float]]:
    """After each step, and once before the first: its number and the mean loss of what it learnt from."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=recipe.learning_rate, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, recipe))
    order = _order(len(train), recipe.seed)
    yield 0, mean_loss(model, train, most=recipe.gather)
    for step in range(1, recipe.steps + 1):
        model.train()
        total = 0.0
        for _ in range(recipe.gather):
            loss = model(**train.inputs(next(order))).loss / recipe.gather
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        yield step, total


def _rate(step: int, recipe: Recipe) -> float:
    """Rising at first, then falling in a straight line to a tenth."""
    rising = min(1.0, (step + 1) / max(1, recipe.warm_up))
    return rising * (1 - 0.9 * step / max(1, recipe.steps))


def _order(count: int, seed: int) -> Iterator[int]:
    """Every conversation once, in a new order each time round."""
    shuffler = random.Random(seed)
    while True:
        yield from shuffler.sample(range(count), count)


def mean_loss(model: Any, conversations: Conversations, most: int | None = None) -> float:
    """Over all conversations, or the first ones; nan where there are none."""
    count = len(conversations) if most is None else min(most, len(conversations))
    model.eval()
    with torch.inference_mode():
        losses = [model(**conversations.inputs(position)).loss.item() for position in range(count)]
    return sum(losses) / count if count else float("nan")


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of `agenticiqa tuning-data`")
    parser.add_argument("--model", required=True, help="folder or hub id of a Qwen2.5-VL")
    parser.add_argument("--out", type=Path, required=True, help="folder for the adapter")
    parser.add_argument("--device", default="auto")
    for name, default in asdict(Recipe()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    given = vars(parser.parse_args())
    places = {name: given.pop(name) for name in ("data", "model", "out", "device")}
    tune(places["data"], places["model"], places["out"], Recipe(**given), device=places["device"])


if __name__ == "__main__":
    main()
