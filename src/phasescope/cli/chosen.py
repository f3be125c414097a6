"""What the words of a command choose: studies, the numbers of an arm, the formats of a drawing."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SpecError

if TYPE_CHECKING:
    from ..spec import Spec
    from ..study import Study


def studies_named(names: list[str] | None) -> list[Study]:
    """The studies of these names, or all installed ones; then a broken one is warned of and left out."""
    from ..discovery import installed
    from ..errors import StudyNotFound
    from ..study import find

    if names:
        return [find(name) for name in names]
    chosen = []
    for name in installed():
        try:
            chosen.append(find(name))
        except StudyNotFound as error:
            warnings.warn(f"{error} It is left out.", stacklevel=1)
    return chosen


def look_for_corpora_in(folder: Path | None) -> None:
    """Let this process, and those that it starts, look for corpora in a folder; nothing changes if none is named."""
    if folder is not None:
        from ..networks.sources import VARIABLE

        os.environ[VARIABLE] = str(folder.absolute())


def numbers_of(study: Study, arm: str, preset: str | None, fields: list[str] | None) -> Spec:
    """The numbers that words such as `eta=0.1` change; a field that the arm does not read is an error."""
    from ..verbs.validate import check_read

    chosen = study.arm(arm)
    named = [word.partition("=") for word in fields or []]
    check_read(study, chosen, [name for name, equals, _ in named if equals])
    return study.specify(preset, chosen)


def formats_in(words: str) -> tuple[str, ...]:
    """The formats in which to draw."""
    formats = tuple(words.split(","))
    for f in formats:
        if f not in ("png", "pdf", "svg"):
            raise SpecError(f"--format is png, pdf or svg, got {f}.")
    return formats
