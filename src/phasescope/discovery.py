"""Which studies are installed: entry points by name. Nothing is imported here, so that listing stays cheap."""

from __future__ import annotations

import importlib.metadata
import warnings
from importlib.metadata import EntryPoint

GROUP = "phasescope.studies"


def installed() -> dict[str, EntryPoint]:
    """All installed studies. A built-in one cannot be shadowed by a foreign package: the foreign one is left out."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(
        importlib.metadata.entry_points(group=GROUP), key=lambda p: not is_built_in(p)
    ):
        if point.name not in found:
            found[point.name] = point
        elif found[point.name].value != point.value:
            warnings.warn(
                f'{owner(point)} offers a study "{point.name}", a name that {owner(found[point.name])} already has; '
                f"it is left out. Rename it in that package's entry points.",
                stacklevel=2,
            )
    return found


def is_built_in(point: EntryPoint) -> bool:
    """Whether phasescope itself brings the study."""
    return point.value.startswith("phasescope.studies.") and (
        point.dist is None or point.dist.name == "phasescope"
    )


def owner(point: EntryPoint) -> str:
    """The package that offers the study."""
    return point.dist.name if point.dist is not None else point.value
