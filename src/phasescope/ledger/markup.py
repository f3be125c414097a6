"""HTML that is safe by construction: `tag` escapes every string that it did not make itself."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable

# Terminal escapes, other control characters, marks that turn the direction of writing, halves of
# surrogate pairs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
VOID = {"br", "img", "input", "meta"}


class Markup(str):
    """Text that is HTML already. What is added to it is escaped."""

    def __add__(self, other: str) -> Markup:
        return Markup(f"{self}{escape(other)}")


def tag(name: str, *children: str | None, **attributes: str | float | bool | None) -> Markup:
    """`tag("td", "a < b", class_="where")`. Attributes that are None or False are left out."""
    given = "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def _attribute(key: str, value: str | float | bool) -> str:
    """` class="where"` for `class_="where"`; one that is True has no value."""
    name = key.strip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(str(value))}"'


def join(parts: Iterable[str | None]) -> Markup:
    """Parts side by side, each escaped if it needs to be."""
    return Markup("".join(escape(part) for part in parts if part is not None))


def escape(text: str) -> Markup:
    """Text as HTML; what is HTML already stays as it is."""
    return text if isinstance(text, Markup) else Markup(html.escape(visible(text)))


def visible(text: str) -> str:
    """Text whose unprintable characters are spelled out, so that they can command neither a
    terminal nor a page.
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def safe_name(*parts: str) -> str:
    """Words as the name of a file or an anchor. Two different lists of words never share one."""
    text = "-".join(parts)
    shapes = [r"[A-Za-z0-9_][A-Za-z0-9_.]{0,99}"] * (len(parts) - 1) + [
        r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}"
    ]
    if all(re.fullmatch(shape, part) for shape, part in zip(shapes, parts, strict=True)):
        return text
    digest = hashlib.sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()[:8]
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '_', text)[:80].strip('_-') or 'unnamed'}-{digest}"
