"""tied: fields of a sweep that move together, along one axis."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..errors import SpecError


@dataclasses.dataclass(frozen=True)
class Tied:
    """Values of some fields, point by point; the first field names the axis. Made by `tied`."""

    fields: tuple[tuple[str, tuple[Any, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The fields, that of the axis first."""
        return tuple(name for name, _ in self.fields)


def tied(**fields: Any) -> Tied:
    """Fields of a sweep that move together, in place of over their product.

        >>> together = ps.tied(modes=[2, 3], epsilon=[1e-2, 1e-3])
        >>> sw = ps.sweep("linear_modes", "logistic", together, store=False)
        >>> sw.loss.dims, sw.epsilon.dims, sw.epsilon.values.tolist()
        (('modes', 'time'), ('modes',), [0.01, 0.001])

    **Arguments:** `fields`: two or more fields of the Spec with their values, as many of each. The
    first names the axis of the dataset, so its values differ from each other; the others are
    coordinates along it.

    **Returns:** what `ps.sweep` and `ps.sweeps` take before their keywords. If all fields are floats,
    the points are lanes of one program, else each is a program of its own.

    **Raises:** `SpecError` for a single field, or for values that do not go together.
    """
    values = {name: _values(name, given) for name, given in fields.items()}
    if len(values) < 2:
        raise SpecError(
            f"ps.tied takes two or more fields that move together, got {', '.join(values) or 'none'}."
        )
    lengths = {name: len(given) for name, given in values.items()}
    if len(set(lengths.values())) > 1 or not min(lengths.values()):
        counts = ", ".join(f"{count} of {name}" for name, count in lengths.items())
        raise SpecError(f"ps.tied takes as many values of each field, one or more, got {counts}.")
    first, along = next(iter(values.items()))
    if len(set(along)) < len(along):
        raise SpecError(
            f"ps.tied: the first field, {first}, names the axis, so its values must differ from each "
            f"other, got {reprlib.repr(along)}. Put another field first."
        )
    return Tied(tuple(values.items()))


def _values(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | bytes) or np.ndim(given) != 1:
        raise SpecError(f"ps.tied takes lists of values, such as {name}=[1, 2], got {given!r}.")
    return tuple(x.item() if isinstance(x, np.generic) else x for x in given)


def untied(ties: Iterable[Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a sweep by name, tied ones first. A field that is given twice is an error."""
    found: dict[str, Any] = {}
    for tie in ties:
        if not isinstance(tie, Tied):
            raise SpecError(
                f"a sweep takes ps.tied(...) and fields by name, such as eta=[0.1, 0.2], got {tie!r}."
            )
        for name, values in tie.fields:
            if name in found or name in fields:
                raise SpecError(f"{name} is given twice: it is tied to other fields already.")
            found[name] = list(values)
    return found | dict(fields)
