"""Names that were typed, looked up in the catalogue: a typo is answered before anything heavy is imported.

The first command that meets a study, or an edited one, loads it and keeps its catalogue. Whatever the catalogue cannot
answer (a study in a plain file, a broken one) is left to the study itself, which gives the same sentences.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from ..discovery import installed
from ..errors import SpecError, StudyNotFound, nearest, unknown, unknown_to_all
from . import catalogue


def check_names(
    study: str, arm: str | None = None, preset: str | None = None, assignments: Iterable[str] = ()
) -> None:
    """Raise what `run` and `sweep` would raise for a study, an arm, a preset or a field that does not exist.

    `assignments` are words such as `eta=0.1`.
    """
    if _is_file(study):
        return
    known = _catalogue(study)
    if known is None:
        return
    if arm is not None and arm not in known["arms"]:
        raise unknown("arm", arm, known["arms"], study)
    if preset is not None and preset not in known["presets"]:
        raise unknown("preset", preset, known["presets"], study)
    fields = known.get("takes", {}).get(
        arm, known["fields"]
    )  # a catalogue that was kept may lack it
    for word in assignments:
        name, equals, text = word.partition("=")
        if equals and name not in known["fields"]:
            raise SpecError(f'{study}: there is no field "{name}". {nearest(name, fields)}')
        if equals:
            _check_numbers(name, text, known["fields"][name]["type"])


def _check_numbers(name: str, text: str, kind: str) -> None:
    """Refuse what is no number for a field that takes nothing else; ranges are left to the study."""
    words = {"float": "a number", "int": "an integer"}
    if kind not in words or ":" in text:
        return
    for value in text.split(","):
        try:
            float(value or 0)
        except ValueError:
            raise SpecError(f"{name} must be {words[kind]}, got {name}={value}.") from None


def check_ids(studies: Iterable[str], claim: str | None = None, figure: str | None = None) -> None:
    """Raise what `check` and `draw` would raise for a study, a claim or a figure that does not exist."""
    asked = list(studies) or list(installed())
    if any(map(_is_file, asked)):
        return
    found = {name: _catalogue(name) for name in asked}
    known = {name: entry for name, entry in found.items() if entry is not None}
    if len(known) < len(found):
        return
    claims = {
        word
        for entry in known.values()
        for c in entry["claims"]
        for word in (c["id"], c["name"], *c.get("aliases", ()))
    }
    figures = {
        word
        for entry in known.values()
        for id, f in entry["figures"].items()
        for word in (id, f["name"])
    }
    if claim is not None and claim not in claims:
        raise unknown_to_all("claim", claim, claims, known)
    if figure is not None and figure not in figures:
        raise unknown_to_all("figure", figure, figures, known)


def _is_file(study: str) -> bool:
    return study.endswith(".py") or "/" in study


def _catalogue(study: str) -> dict[str, Any] | None:
    points = installed()
    if study not in points:
        raise StudyNotFound(f'there is no study "{study}". {nearest(study, points)}')
    known = catalogue.kept(points[study])
    if known is not None:
        return known
    with contextlib.suppress(StudyNotFound):  # a broken one is named by whoever uses it
        return catalogue.make(points[study])
    return None
