"""A random language model with a vision projector, about 1 MB: enough for a real llama.cpp server to run on.

Its answers mean nothing; its wire format, its grammar and its token probabilities are the real thing.
Habits keep its answers short.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from habits import CHANNELS, add_habits

CONTEXT = 8192
WIDTH, HIDDEN, LAYERS, HEADS, KEY_HEADS = 64, 128, 2, 4, 2
PATCH, SIDE = 14, 56
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class _Random:
    def __init__(self, seed: int, scale: float) -> None:
        self._generator = np.random.default_rng(seed)
        self._scale = scale

    def __call__(self, *shape: int) -> np.ndarray:
        return (self._generator.standard_normal(shape) * self._scale).astype(np.float32)


@dataclass(frozen=True)
class _Vocabulary:
    tokens: list[str]
    merges: list[str]


def _vocabulary() -> _Vocabulary:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(["rate the quality of this picture: excellent good fair poor bad"] * 10, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return _Vocabulary(tokens, [m if isinstance(m, str) else " ".join(m) for m in model["merges"]])


def write_language_model(path: Path) -> None:
    import gguf

    vocabulary = _vocabulary()
    writer = gguf.GGUFWriter(str(path), "llama")
    _describe_language_model(writer, vocabulary)
    size, random, ones = len(vocabulary.tokens), _Random(0, 0.2), np.ones(WIDTH, np.float32)
    embedding, output = random(size, WIDTH), random(size, WIDTH)
    add_habits(vocabulary.tokens, embedding, output, never=SPECIAL[:2])
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    narrow = WIDTH // HEADS * KEY_HEADS
    shapes = {"attn_q": (WIDTH, WIDTH), "attn_k": (narrow, WIDTH), "attn_v": (narrow, WIDTH)}
    shapes |= {"attn_output": (WIDTH, WIDTH), "ffn_gate": (HIDDEN, WIDTH)}
    shapes |= {"ffn_up": (HIDDEN, WIDTH), "ffn_down": (WIDTH, HIDDEN)}
    for layer in range(LAYERS):
        writer.add_tensor(f"blk.{layer}.attn_norm.weight", ones)
        writer.add_tensor(f"blk.{layer}.ffn_norm.weight", ones)
        for name, shape in shapes.items():
            weights = random(*shape)
            if name in ("attn_output", "ffn_down"):
                weights[:CHANNELS] = 0
            writer.add_tensor(f"blk.{layer}.{name}.weight", weights)
    _finish(writer)


def _describe_language_model(writer: Any, vocabulary: _Vocabulary) -> None:
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_file_type(0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    control, normal = 3, 1
    writer.add_token_types([control if token in SPECIAL else normal for token in vocabulary.tokens])
    writer.add_token_merges(vocabulary.merges)
    writer.add_pad_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def write_projector(path: Path) -> None:
    import gguf

    writer = gguf.GGUFWriter(str(path), "clip")
    _describe_projector(writer)
    random, ones, zeros = _Random(1, 0.1), np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    writer.add_tensor("v.class_embd", random(WIDTH))
    writer.add_tensor("v.patch_embd.weight", random(WIDTH, 3, PATCH, PATCH))
    writer.add_tensor("v.position_embd.weight", random((SIDE // PATCH) ** 2 + 1, WIDTH))
    norms = ["v.pre_ln", "v.post_ln"]
    square = ["mm.0", "mm.2"]
    for layer in range(LAYERS):
        norms += [f"v.blk.{layer}.ln1", f"v.blk.{layer}.ln2"]
        square += [f"v.blk.{layer}.{name}" for name in ("attn_q", "attn_k", "attn_v", "attn_out")]
        writer.add_tensor(f"v.blk.{layer}.ffn_up.weight", random(HIDDEN, WIDTH))
        writer.add_tensor(f"v.blk.{layer}.ffn_up.bias", np.zeros(HIDDEN, np.float32))
        writer.add_tensor(f"v.blk.{layer}.ffn_down.weight", random(WIDTH, HIDDEN))
        writer.add_tensor(f"v.blk.{layer}.ffn_down.bias", zeros)
    for name in norms:
        writer.add_tensor(f"{name}.weight", ones)
        writer.add_tensor(f"{name}.bias", zeros)
    for name in square:
        writer.add_tensor(f"{name}.weight", random(WIDTH, WIDTH))
        writer.add_tensor(f"{name}.bias", zeros)
    _finish(writer)


def _describe_projector(writer: Any) -> None:
    writer.add_string("general.type", "mmproj")
    writer.add_file_type(0)
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "mlp")
    writer.add_bool("clip.use_gelu", True)
    numbers = {
        "image_size": SIDE,
        "patch_size": PATCH,
        "embedding_length": WIDTH,
        "feed_forward_length": HIDDEN,
        "projection_dim": WIDTH,
        "block_count": LAYERS,
        "attention.head_count": HEADS,
    }
    for name, value in numbers.items():
        writer.add_uint32(f"clip.vision.{name}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_array("clip.vision.image_mean", [0.48, 0.46, 0.41])
    writer.add_array("clip.vision.image_std", [0.27, 0.26, 0.28])


def _finish(writer: Any) -> None:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
