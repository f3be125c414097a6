"""Texts and digests of which no two different things have the same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def joined(*parts: str) -> str:
    """Parts joined so that no two lists of parts give one text."""
    text = "".join(f"{len(p)}:{p}" for p in parts)
    if len(text) < 256:
        return text
    return f"{parts[0][:40]}#{sha256([text])}"


def sha256(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(data)}:".encode() + data)
    return digest.hexdigest()
