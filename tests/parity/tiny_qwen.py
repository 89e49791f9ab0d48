"""Builds a tiny random Qwen2.5-VL with transformers' real processor."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for c in m['content'] %}"
    "{% if c['type'] == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ c['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _make_torchvision_importable() -> None:
    """A torchvision built for CUDA misses two operators beside a CPU-only torch; declaring them is enough."""
    import torch

    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        for name in ("nms", "qnms"):
            torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def _tokenizer():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    core.train_from_iterator(["rate the quality of this picture: excellent good fair poor bad"] * 10, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=SPECIAL[1:],
        chat_template=TEMPLATE,
    )


def _config(tokenizer):
    from transformers import Qwen2_5_VLConfig

    ids = {name: tokenizer.convert_tokens_to_ids(name) for name in SPECIAL}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3]},
        "bos_token_id": ids["<|im_start|>"],
        "eos_token_id": ids["<|im_end|>"],
        "pad_token_id": ids["<|endoftext|>"],
        "tie_word_embeddings": False,
    }
    vision = {
        "depth": 2,
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_heads": 4,
        "out_hidden_size": 64,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [1],
    }
    return Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=False,
    )


def _teach_habits(model, tokenizer) -> None:
    """Short answers from a random model; see tests/contract/habits.py."""
    import torch

    sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))
    from habits import CHANNELS, add_habits

    language = model.model.language_model
    tokens = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    with torch.no_grad():
        for matrix in (language.embed_tokens.weight, model.lm_head.weight):
            matrix.normal_(std=0.2)
        add_habits(
            tokens,
            language.embed_tokens.weight.numpy(),
            model.lm_head.weight.numpy(),
            never=[*SPECIAL[:2], *SPECIAL[3:]],
        )
        for layer in language.layers:
            layer.self_attn.o_proj.weight[:CHANNELS] = 0
            layer.mlp.down_proj.weight[:CHANNELS] = 0


def build_tiny_qwen(folder: Path) -> Path:
    """A model folder as a user would name it in QWEN_MODEL."""
    _make_torchvision_importable()
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = _tokenizer()
    model = transformers.Qwen2_5_VLForConditionalGeneration(_config(tokenizer)).eval()
    _teach_habits(model, tokenizer)
    processor = transformers.Qwen2_5_VLProcessor(
        image_processor=transformers.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=28 * 28 * 256),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE,
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
