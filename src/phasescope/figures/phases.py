"""Phases behind an axis of time: faint bands with their names, and lines at the times a theory names.

The first phase has the same colour in every study, and so have the second, the third and so on.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..plan.observables import stage_names
from .style import BLUE, GREEN, ORANGE, PURPLE

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

PHASES = (BLUE, ORANGE, GREEN, PURPLE)  # phase 1, 2, 3, 4, and from the first again


def phase_color(number: int) -> str:
    """The colour of the phase with this number, counted from 1."""
    return PHASES[(number - 1) % len(PHASES)]


def shade_phases(axes: Axes, ends: Sequence[float], names: Sequence[str] = ()) -> None:
    """Faint bands behind a time axis for phases that follow one another, each named above its middle.

    They fill the axis: the first phase begins at its left end, the last one ends at its right end.
    Set the limits of the axis first.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> _ = axes.set(xlim=(0, 10))
        >>> ps.shade_phases(axes, [4.0])
        >>> [(text.get_text(), text.get_position()[0]) for text in axes.texts]
        [('phase 1', 2.0), ('phase 2', 7.0)]

    **Arguments:** `axes`: where. `ends`: when each phase but the last ends. `names`: of all phases;
    "phase 1", "phase 2" and so on if not given.
    """
    first, last = sorted(axes.get_xlim())
    spans = list(itertools.pairwise([first, *ends, last]))
    names = names or [f"phase {k}" for k in range(1, len(spans) + 1)]
    for number, ((start, end), name) in enumerate(zip(spans, names, strict=True), start=1):
        if end > first and start < last:
            shade(axes, start, end, name, phase_color(number))
    axes.set_xlim(first, last)


def shade_stages(ds: xr.Dataset, axes: Axes, *, label: bool = True) -> None:
    """Faint bands behind a time axis, one for each stage of the run.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ds = ps.run("linear_modes", "logistic", store=False)
        >>> ps.shade_stages(ds, axes)
        >>> [text.get_text() for text in axes.texts]
        ['training']

    **Arguments:** `ds`: a run. `axes`: where. `label`: whether the name of the stage stands above
    it.
    """
    stage = ds["stage"].values
    time = ds["time"].values
    for k, name in enumerate(stage_names(ds)):
        inside = time[stage == k]
        if not inside.size:
            continue
        start = time[stage < k].max() if (stage < k).any() else inside.min()
        words = name.replace("_", " ") if label else ""
        shade(axes, start, inside.max(), words, phase_color(k + 1))


def shade(axes: Axes, start: float, end: float, label: str = "", color: str = BLUE) -> None:
    """A faint band behind a time axis, with its name above the middle of the part that is seen.

    A name that would stand out of the axes is moved inwards.

    If the axis has limits, set them first.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ps.shade(axes, 1.0, 3.0, "phase 1")
        >>> axes.texts[0].get_text(), axes.texts[0].get_position()
        ('phase 1', (2.0, 1.0))

    **Arguments:** `axes`: where. `start`, `end`: on the axis of time. `label`: the name. `color`:
    of band and name.
    """
    axes.axvspan(start, end, color=color, alpha=0.08, lw=0, zorder=0)
    if label:
        first, last = sorted(axes.get_xlim())
        start = max(start, first)
        end = min(end, last)
        log = axes.get_xscale() == "log" and start > 0
        middle = (start * end) ** 0.5 if log else 0.5 * (start + end)
        _name(axes, float(middle), label, color)


NAME_SIZE = 7.5  # points
LETTER = 0.6  # the width of a letter over the size of its font, roughly


def _name(axes: Axes, middle: float, label: str, color: str) -> None:
    """A name above the axes at a time, moved inwards where it would stand out on the left or right."""
    width = axes.get_window_extent().width / axes.figure.dpi * 72
    half = 0.5 * LETTER * NAME_SIZE * len(label) / width
    place = axes.transAxes.inverted().transform(axes.transData.transform((middle, 0.5)))[0]
    first, last = sorted(float(x) for x in axes.get_xlim())
    if place < half:
        middle, side = first, "left"
    elif place > 1 - half:
        middle, side = last, "right"
    else:
        side = "center"
    axes.text(
        middle,
        1.0,
        label,
        transform=axes.get_xaxis_transform(),
        ha=side,
        va="bottom",
        fontsize=NAME_SIZE,
        color=color,
    )


def mark(axes: Axes, time: float, label: str, *, color: str = "0.35") -> None:
    """A dashed vertical line at a time that the theory names.

        >>> from matplotlib.figure import Figure
        >>> axes = Figure().subplots()
        >>> ps.mark(axes, 2.5, "end of phase 1")
        >>> axes.texts[0].get_text()
        'end of phase 1'

    **Arguments:** `axes`: where. `time`: on the axis of time. `label`: beside the line. `color`: of
    both.
    """
    axes.axvline(time, ls="--", lw=1, color=color)
    axes.annotate(
        label,
        (time, 0.98),
        xycoords=("data", "axes fraction"),
        rotation=90,
        ha="right",
        va="top",
        fontsize=7.5,
        color=color,
    )
