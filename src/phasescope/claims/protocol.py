"""Protocol: which preset is an experiment of the paper, and what of it the paper does not state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import PlanError


@dataclasses.dataclass(frozen=True)
class Protocol:
    """An experiment of the paper; see `protocol`."""

    figure: str
    arms: tuple[str, ...]
    stated: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    scanned: tuple[str, ...] = ()
    varied: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def covers(self, field: str, values: Iterable[Any]) -> bool:
        """Whether the experiment has a field at these values: the paper leaves it open, or varies it over them."""
        known = dict(self.varied)
        return field in self.guessed or (field in known and {*values} <= {*known[field]})

    @property
    def open_guesses(self) -> tuple[str, ...]:
        """What was guessed and not scanned."""
        return tuple(item for item in self.guessed if item not in self.scanned)


def protocol(
    figure: str,
    *,
    arms: Iterable[str],
    stated: Iterable[str] = (),
    guessed: Iterable[str] = (),
    scanned: Iterable[str] = (),
    varied: Mapping[str, Iterable[Any]] | None = None,
) -> Protocol:
    """Say that a preset is an experiment of the paper.

        >>> ps.protocol("Figure 2", arms=["descent"], stated=["eta"], guessed=["steps"]).open_guesses
        ('steps',)

    **Arguments:** `figure`: of the paper. `arms`: those that carry it out. `stated`: what the paper
    says of it. `guessed`: what it does not say. `scanned`: what of that was looked at over a range.
    `varied`: fields that the figure itself varies, each with its values.

    **Returns:** a `Protocol`, to be given to `ps.Study(protocols=...)` under the name of the preset.

    **Raises:** `PlanError` if something is scanned that was not guessed, or both stated and guessed.
    """
    made = Protocol(
        figure=figure,
        arms=tuple(arms),
        stated=tuple(stated),
        guessed=tuple(guessed),
        scanned=tuple(scanned),
        varied=tuple((name, tuple(values)) for name, values in (varied or {}).items()),
    )
    twice = sorted({*made.stated} & {*made.guessed})
    if twice:
        raise PlanError(f"{figure}: both stated and guessed: {', '.join(twice)}.")
    extra = sorted({*made.scanned} - {*made.guessed})
    if extra:
        raise PlanError(f"{figure}: scanned but not guessed: {', '.join(extra)}.")
    return made
