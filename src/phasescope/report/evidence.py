"""What a row rests on, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..claims.requests import Recorded, Runs, Sweeps, Tables

if TYPE_CHECKING:
    from ..verbs.evidence import Plain


def describe(request: Plain) -> str:
    """A request for evidence in one line: `symmetric, lam = 10, figure_2, seed 0`."""
    if isinstance(request, Recorded):
        return f"recorded {describe(request.request)}"
    if isinstance(request, Tables):
        return ", ".join(
            [
                f"table {request.function.__name__}",
                *(f"{k} = {_short(v)}" for k, v in request.arguments),
            ]
        )
    words = [f"preset {request.preset}"] if request.preset else []
    words += [f"{k} = {_short(v)}" for k, v in request.changes]
    if isinstance(request, Runs):
        words = [f"run of {request.arm.__name__}", *words, f"seed {request.seed}"]
    else:
        axes = " and ".join(_axes(request))
        words = [f"sweep of {request.arm.__name__} over {axes or 'seeds'}", *words]
        if request.seeds > 1:
            words.append(f"{request.seeds} seeds")
    if request.at:
        words.append(f"at {_short(request.at)}")
    return ", ".join(words)


def _axes(request: Sweeps) -> list[str]:
    """The axes of a sweep in words; fields that move together are one axis."""
    values = {name: f"{name} = {_short(given)}" for name, given in request.axes}
    tied = [" with ".join(values.pop(name) for name in names) for names in request.ties]
    return [*tied, *values.values()]


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        words = [_short(v) for v in value]
        if len(words) > 6:
            words = [*words[:3], "...", words[-1]]
        return ", ".join(words)
    return f"{value:g}" if isinstance(value, float) else str(value)
