"""Typing errors: a word nobody knows is read as the known word one or two typing errors away, if there is only one."""

from __future__ import annotations

from functools import lru_cache

from agenticiqa.models.offline.language.lexicon import correctable_words, known_words
from agenticiqa.models.offline.language.tokens import singular_forms
from agenticiqa.models.offline.language.word_lists import word_list

# Too short for counting typing errors.
_SHORT = {"teh": "the", "hte": "the", "adn": "and", "si": "is", "iamge": "image", "imgae": "image", "waht": "what"}
_LONGEST = 20
# Everyday words that only look like typing errors.
_FALSE_FRIENDS = word_list("false_friends", "words")


@lru_cache(maxsize=4096)
def corrected(word: str) -> str:
    """The word meant. Words of everyday English that only resemble ours stay what they are.

    >>> [corrected(w) for w in ("blury", "nosie", "backgroud", "teh")]
    ['blurry', 'noise', 'background', 'the']
    >>> [corrected(w) for w in ("nose", "bury", "furry", "contract", "shark")]
    ['nose', 'bury', 'furry', 'contract', 'shark']
    """
    if word in _SHORT:
        return _SHORT[word]
    if not 4 <= len(word) <= _LONGEST or not word.isascii() or not word.isalpha():
        return word
    if any(form in known_words() or form in _FALSE_FRIENDS for form in singular_forms(word)):
        return word
    return _nearest(word)


def _nearest(word: str) -> str:
    limit = typing_errors_allowed(word)
    found: dict[str, int] = {}
    for target in correctable_words():
        if abs(len(target) - len(word)) <= limit and _starts_alike(word, target):
            distance = typing_errors(word, target, limit)
            if distance <= limit:
                found[target] = distance
    if not found:
        return word
    best = min(found.values())
    # A typing error rarely drops the last letter either: "blury" is "blurry" before it is "blur".
    nearest = sorted(
        (target for target, distance in found.items() if distance == best),
        key=lambda target: (target[-1] != word[-1], len(target), target),
    )
    # Several forms of one word ("blur", "blurs") agree; different words do not, and then nothing is changed.
    agree = all(target.startswith(nearest[0][:4]) for target in nearest)
    return nearest[0] if agree else word


def typing_errors_allowed(word: str) -> int:
    return 1 if len(word) < 8 else 2


def _starts_alike(word: str, target: str) -> bool:
    """People rarely miss the first letter, and unrelated words often differ in nothing else."""
    return word[0] == target[0] or (word[0] == target[1] and word[1] == target[0])


def typing_errors(word: str, target: str, limit: int) -> int:
    """Letters left out, added, exchanged or swapped between two words; more than ``limit`` counts as limit + 1.

    In short words an exchanged letter makes another word ("dart", "dark") and is no typing error.

    >>> typing_errors("nosiy", "noisy", 1), typing_errors("dart", "dark", 1)
    (1, 2)
    >>> typing_errors("compresion", "compression", 2)
    1
    """
    exchange = 1 if len(word) >= 6 else limit + 1
    before: list[int] = []
    row = list(range(len(target) + 1))
    for i, a in enumerate(word, 1):
        current = [i]
        for j, b in enumerate(target, 1):
            swap = 0 if a == b else 1 if {a, b} == {"s", "z"} else exchange
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + swap)
            if i > 1 and j > 1 and a == target[j - 2] and word[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, row = row, current
    return min(row[-1], limit + 1)
