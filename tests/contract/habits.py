"""Habits for a random language model, so that it finishes what it writes.

A wholly random model would fill every free string of a schema until the token limit. A few channels of the residual
stream, which no layer writes to, are kept for habits: close strings and lists soon, leave no string empty, prefer
null. Everything else, such as which letter is the answer, is up to the random part.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

# Each channel is on at every token, or on at the tokens named here.
ALWAYS, AFTER_QUOTE, AFTER_COLON, AFTER_BRACKET = range(4)
CHANNELS = 4
# Some grammars put a blank, spelt Ġ, between a colon and the value.
TRIGGERS = {AFTER_QUOTE: ('"',), AFTER_COLON: (":", "Ġ"), AFTER_BRACKET: ("[",)}
STRENGTH = 2.0
WISHES: dict[int, dict[str, float]] = {
    ALWAYS: {'"': 10.0, "]": 7.0, "}": 7.0, ",": 5.0},
    AFTER_QUOTE: {'"': -20.0, **dict.fromkeys("ABCDE", 6.0)},
    AFTER_COLON: {"n": 18.0, "t": 3.0, "f": 3.0},
    AFTER_BRACKET: {"]": 18.0},
}
UNWANTED = -12.0


def add_habits(tokens: Sequence[str], embedding: np.ndarray, output: np.ndarray, never: Collection[str]) -> None:
    """Write the habits into the embedding and output matrices (tokens × width), in place.

    ``never`` names control tokens that must not be written. The caller clears rows ``0..CHANNELS`` of every matrix
    that writes to the residual stream.
    """
    embedding[:, :CHANNELS] = 0
    output[:, :CHANNELS] = 0
    embedding[:, ALWAYS] = STRENGTH
    for channel, triggers in TRIGGERS.items():
        for token in triggers:
            embedding[tokens.index(token), channel] = STRENGTH
    for position, token in enumerate(tokens):
        # Byte-level tokens spell a blank as Ġ and bytes outside ASCII as letters beyond it.
        if not token.isascii() or token in never or token == "\\":
            output[position, ALWAYS] = UNWANTED
    for channel, wishes in WISHES.items():
        for token, weight in wishes.items():
            output[tokens.index(token), channel] = weight
