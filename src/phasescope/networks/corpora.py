"""Corpora as arrays of tokens: WikiText-2, Tiny Shakespeare, any text file, and a small generated text for trying things.

A corpus is named `NAME@DIGEST`, with the first digits of the SHA-256 of its text: what a run was trained on is part of its
identity, and where the file lies is not. Files are looked for in the folder that PHASESCOPE_DATA names.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ..errors import CorpusError
from .generated import generated_text
from .sources import KNOWN, Known, place_of

LEVELS = ("word", "plain_word", "character")
DIGITS = 16  # of a digest in the name of a corpus
UNKNOWN = "<unk>"
END = "<eos>"
GENERATED = "generated"
TRAINING_SHARE = 0.9  # of a corpus that is one file
# What the basic English rule of torchtext does to a line of lower case.
SPLIT = {"'": " '  ", '"': "", ".": " . ", "<br />": " ", ",": " , ", "(": " ( "}
SPLIT |= {")": " ) ", "!": " ! ", "?": " ? ", ";": " ", ":": " "}
# Files that were named by their path, by canonical name: another process looks into the folder of the data.
_given: dict[str, Path] = {}


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Tokens of the training and validation text, and the types that they stand for, by number."""

    name: str
    training: np.ndarray
    validation: np.ndarray
    types: tuple[str, ...]

    def encode(self, words: Iterable[str]) -> np.ndarray:
        """The tokens of some words or characters; a type that the corpus has not is an error, or `<unk>` if there is one."""
        numbers = {word: i for i, word in enumerate(self.types)}
        return _encoded(words, numbers, self.name)


def canonical(corpus: str) -> str:
    """The name of a corpus with its digest.

    **Arguments:** `corpus`: a known name, the path of a text file, or a canonical name, which stays as it is.

    **Raises:** `CorpusError` for a file that is not there.
    """
    name, _, digest = corpus.partition("@")
    if digest:
        return corpus
    if name in KNOWN:
        return f"{name}@{KNOWN[name].training.digest[:DIGITS]}"
    if name == GENERATED:
        return f"{name}@{_digest(generated_text().encode())[:DIGITS]}"
    path = Path(corpus)
    if not path.is_file():
        raise CorpusError(
            f'there is no corpus and no file "{corpus}". Name a text file, or one of: {", ".join((*KNOWN, GENERATED))}.'
        )
    found = f"{path.name}@{_digest(_bytes(path))[:DIGITS]}"
    _given[found] = path.resolve()
    return found


@functools.lru_cache(maxsize=4)
def read_corpus(corpus: str, level: str = "word", types: int = 0) -> Corpus:
    """The tokens of a corpus.

    **Arguments:** `corpus`: a known name (`wikitext-2`, `tinyshakespeare`, `generated`), the path of a text file, or a
    canonical name. `level`: `word` splits at white space and ends every line with `<eos>`; `plain_word` is torchtext's
    basic English (lower case, punctuation apart, no `<eos>`); `character`. `types`: how many of the most frequent types
    are kept, the others become `<unk>`; 0 keeps all.

    **Returns:** a `Corpus`. A corpus of one file is cut 90 to 10.

    **Raises:** `CorpusError` if a file is missing, empty, no text, or not the published one.
    """
    name = canonical(corpus)
    training, validation = _texts(name)
    texts = [_split(training, level), _split(validation, level)]
    if validation == "":
        cut = int(TRAINING_SHARE * len(texts[0]))
        texts = [texts[0][:cut], texts[0][cut:]]
    if not texts[0] or not texts[1]:
        raise CorpusError(f"{name} is empty: {len(texts[0])} training tokens at the level {level}.")
    kept = _vocabulary(texts, level, types)
    numbers = {word: i for i, word in enumerate(kept)}
    arrays = [_encoded(words, numbers, name) for words in texts]
    return Corpus(name, arrays[0], arrays[1], tuple(kept))


def _texts(name: str) -> tuple[str, str]:
    """Training and validation text; the latter is empty if a corpus is one file."""
    short, _, digest = name.partition("@")
    if short == GENERATED:
        text = generated_text()
        _check(name, _digest(text.encode()), digest, "the code that makes it has changed")
        return text, ""
    if short in KNOWN:
        return _published(KNOWN[short])
    data = _bytes(_given.get(name) or place_of(short, name))
    _check(name, _digest(data), digest, "the file has changed since it was named")
    return _text(data, short), ""


def _published(known: Known) -> tuple[str, str]:
    files = (known.training, known.validation)
    texts = []
    for file in files:
        if file is None:
            texts.append("")
            continue
        data = _bytes(place_of(f"{known.name}/{file.name}", known.name))
        _check(
            f"{known.name}/{file.name}", _digest(data), file.digest, "it is not the published file"
        )
        texts.append(_text(data, file.name))
    return texts[0], texts[1]


def _check(name: str, found: str, wanted: str, why: str) -> None:
    if not wanted or not found.startswith(wanted):
        raise CorpusError(
            f"{name}: {why}: its SHA-256 begins with {found[:DIGITS]}, and {wanted[:DIGITS]} was asked for."
        )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise CorpusError(f"{path.name} cannot be read: {problem.strerror}.") from None


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise CorpusError(f"{name} is no text in UTF-8.") from None


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _split(text: str, level: str) -> Sequence[str]:
    if level == "character":
        return text
    if level == "word":
        return [word for line in text.splitlines() for word in (*line.split(), END)]
    return [word for line in text.splitlines() for word in plain_words(line)]


def plain_words(line: str) -> list[str]:
    """The words of a line in lower case, punctuation apart, as torchtext's rule for basic English has them."""
    line = line.lower()
    for mark, space in SPLIT.items():
        line = line.replace(mark, space)
    return line.split()


def _vocabulary(texts: Sequence[Sequence[str]], level: str, types: int) -> list[str]:
    """Characters in their order, words in that of their first appearance; of all, or of the most frequent."""
    counts: Counter[str] = Counter()
    for words in texts:
        counts.update(words)
    if level == "character":
        counts = Counter({word: counts[word] for word in sorted(counts)})
    if not types or types >= len(counts):
        return list(counts)
    kept = {word for word, _ in counts.most_common(types - 1)} - {UNKNOWN}
    return [UNKNOWN, *(word for word in counts if word in kept)]


def _encoded(words: Iterable[str], numbers: dict[str, int], name: str) -> np.ndarray:
    listed = list(words)
    unknown = numbers.get(UNKNOWN, -1)
    found = np.array([numbers.get(word, unknown) for word in listed], np.int32)
    if (found < 0).any():
        odd = listed[int((found < 0).argmax())]
        raise CorpusError(
            f"{name}: {odd!r} is not in its vocabulary of {len(numbers)} types, which has no {UNKNOWN}."
        )
    return found
