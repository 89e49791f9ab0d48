"""The reader's network: a BERT encoder under the parameter names of transformers' BertModel, and heads on it.

Written out in plain torch, so that it trains, and goes to ONNX, with any version of transformers or none.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from labels import DIRECTIONS, FORMS, PROPERTIES
from safetensors.torch import load_file
from torch import nn

OUTPUTS = ["property", "also", "form", "direction", "spans", "amount"]


class Embeddings(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.word_embeddings = nn.Embedding(config["vocab_size"], width)
        self.position_embeddings = nn.Embedding(config["max_position_embeddings"], width)
        self.token_type_embeddings = nn.Embedding(config["type_vocab_size"], width)
        self.LayerNorm = nn.LayerNorm(width, eps=config["layer_norm_eps"])
        self.dropout = nn.Dropout(config["hidden_dropout_prob"])

    def forward(self, ids: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        places = torch.cumsum(torch.ones_like(ids), 1) - 1
        total = self.word_embeddings(ids) + self.token_type_embeddings(types) + self.position_embeddings(places)
        return self.dropout(self.LayerNorm(total))


class SelfAttention(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.each = width // self.heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dropout = nn.Dropout(config["attention_probs_dropout_prob"])

    def forward(self, states: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        count, length = states.shape[:2]
        query, key, value = (
            part(states).view(count, length, self.heads, self.each).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(self.each) + hidden
        mixed = self.dropout(torch.softmax(scores, -1)) @ value
        return mixed.transpose(1, 2).reshape(count, length, self.heads * self.each)


class Output(nn.Module):
    def __init__(self, width_in: int, config: dict[str, Any]) -> None:
        super().__init__()
        self.dense = nn.Linear(width_in, config["hidden_size"])
        self.LayerNorm = nn.LayerNorm(config["hidden_size"], eps=config["layer_norm_eps"])
        self.dropout = nn.Dropout(config["hidden_dropout_prob"])

    def forward(self, states: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        return self.LayerNorm(self.dropout(self.dense(states)) + before)


class Layer(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.attention = nn.ModuleDict({"self": SelfAttention(config), "output": Output(width, config)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = Output(inner, config)

    def forward(self, states: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        states = self.attention["output"](self.attention["self"](states, hidden), states)
        return self.output(nn.functional.gelu(self.intermediate["dense"](states)), states)


class Encoder(nn.Module):
    """Last states of all tokens; loads a state dict of BertModel(add_pooling_layer=False)."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))}
        )

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> torch.Tensor:
        states = self.embeddings(ids, types)
        hidden = (1.0 - mask[:, None, None, :].to(states.dtype)) * -1e4
        for layer in self.encoder["layer"]:
            states = layer(states, hidden)
        return states


class Pool(nn.Module):
    """A head with a look of its own at the tokens: their mean beside what it attends to."""

    def __init__(self, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.look = nn.Linear(width, 1)
        self.dense = nn.Linear(2 * width, width // 2)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(width // 2, classes)

    def forward(self, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        kept = mask[:, :, None].to(states.dtype)
        mean = (states * kept).sum(1) / kept.sum(1)
        weights = torch.softmax(self.look(states) + (kept - 1.0) * 1e4, 1)
        both = torch.cat([mean, (states * weights).sum(1)], 1)
        return self.out(self.dropout(torch.tanh(self.dense(self.dropout(both)))))


class Reader(nn.Module):
    """All heads. Spans: logits of (start, end, second start, second end) per token, token 0 meaning none.

    Amount: (how much, whether an amount is claimed) of the pair question and option, as logits; for a question
    without an option it says nothing.
    """

    def __init__(self, config: dict[str, Any], dropout: float = 0.2) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.bert = Encoder(config)
        self.property = Pool(width, len(PROPERTIES), dropout)
        self.also = Pool(width, len(PROPERTIES), dropout)
        self.form = Pool(width, len(FORMS), dropout)
        self.direction = Pool(width, len(DIRECTIONS), dropout)
        self.amount = Pool(width, 2, dropout)
        self.spans = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(width, width // 2), nn.Tanh(), nn.Linear(width // 2, 4)
        )

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, types: torch.Tensor) -> tuple[torch.Tensor, ...]:
        states = self.bert(ids, mask, types)
        spans = self.spans(states) + (mask[:, :, None].to(states.dtype) - 1.0) * 1e4
        heads = (head(states, mask) for head in (self.property, self.also, self.form, self.direction))
        return *heads, spans, self.amount(states, mask)


def load_reader(folder: Path) -> Reader:
    reader = Reader(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    reader.bert.load_state_dict(
        {name: tensor.float() for name, tensor in load_file(folder / "encoder.safetensors").items()}
    )
    return reader
