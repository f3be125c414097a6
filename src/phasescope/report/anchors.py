"""Where things stand in the page, and what points at them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..ledger.markup import Markup, safe_name, tag, visible

if TYPE_CHECKING:
    from ..ledger.ledger import Row


def anchor(row: Row) -> str:
    """The place of a row."""
    held_against = [row.on] if row.on else []
    return safe_name("row", row.study, row.claim, *held_against, row.regime)


def link(row: Row) -> Markup:
    """A link to a row, by the id of its claim."""
    return tag("a", tag("code", row.claim), href=f"#{anchor(row)}")


def command(row: Row) -> str:
    """What makes a row again."""
    return f"phasescope check {shlex.quote(visible(row.study))} --claim {shlex.quote(visible(row.claim))}"


def between(parts: Iterable[Markup]) -> Markup:
    """Parts with commas between them."""
    return Markup(", ".join(parts))


def scrolling(inner: Markup, label: str) -> Markup:
    """What may be wider than a screen, in a box that scrolls by itself and can be reached by keyboard."""
    return tag("div", inner, class_="scrolling", role="region", aria_label=label, tabindex=0)
