"""What the rows of a study are called in its tests: claim, what it is held against, regime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from ..verbs.rows import ClaimInRegime


def row_name(row: ClaimInRegime) -> str:
    """`thm4-TII-population-theory`."""
    on = f"-{row.regime.on}".replace(" ", "_") if row.regime.on else ""
    return f"{row.claim.id}{on}-{row.regime.name}"


def named_rows(
    rows: Sequence[ClaimInRegime], marked: Mapping[str, pytest.MarkDecorator] | None = None
) -> list[Any]:
    """The rows as parameters of a test, some of them marked."""
    found = []
    for row in rows:
        marks = [mark for name, mark in (marked or {}).items() if name == row_name(row)]
        found.append(pytest.param(row.claim, row.regime, id=row_name(row), marks=marks))
    return found
