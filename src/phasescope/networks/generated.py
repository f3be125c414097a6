"""A small text that is made and not read: words of a random grammar, in which every paragraph repeats its own names.

It is there to try things and for tests. A 2-gram predicts most of it; the names can be predicted only by looking back.
"""

from __future__ import annotations

import functools
import random

PARAGRAPHS = 120
SENTENCES = 6
WORDS = 90  # of the grammar
NAMES = 60
FOLLOWERS = 3
SEED = 1
SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "zo")


@functools.cache
def generated_text() -> str:
    """The text, always the same: about 5,400 words on 720 lines."""
    rng = random.Random(SEED)  # its `random()` is the same in all versions of Python
    words = _distinct(rng, WORDS, syllables=2)
    names = [name.capitalize() for name in _distinct(rng, NAMES, syllables=3)]
    followers = {word: [_pick(rng, words) for _ in range(FOLLOWERS)] for word in words}
    paragraphs = [_paragraph(rng, words, names, followers) for _ in range(PARAGRAPHS)]
    return "\n".join(paragraphs) + "\n"


def _paragraph(
    rng: random.Random, words: list[str], names: list[str], followers: dict[str, list[str]]
) -> str:
    """Sentences of words that follow one another, with a first and a second name that stay together."""
    pair = [_pick(rng, names), _pick(rng, names)]
    lines = []
    for _ in range(SENTENCES):
        word = _pick(rng, words)
        sentence = [word]
        while len(sentence) < 4 or rng.random() < 0.4:
            word = _pick(rng, followers[word])
            sentence.append(word)
        place = int(rng.random() * len(sentence))
        sentence[place:place] = pair
        lines.append(" ".join(sentence) + " .")
    return "\n".join(lines)


def _distinct(rng: random.Random, count: int, syllables: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(_pick(rng, list(SYLLABLES)) for _ in range(syllables))] = None
    return list(found)


def _pick(rng: random.Random, of: list[str]) -> str:
    """One of them, the first ones more often."""
    return of[int(len(of) * rng.random() ** 2)]
