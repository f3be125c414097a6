"""A plot of what a check compared: the numbers measured, their bounds, the fitted law, the worst point.

It is SVG made of the trace that the verdict keeps; colours come from the style sheet of the page.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from ..analysis.trace import Trace
from ..ledger.markup import Markup, join, tag
from .axes import Axis, is_wide, linear, logarithmic, short

WIDE, HIGH = 460, 190
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 10, 26
GAUGE = 46
# A band of what is allowed that is thinner than this share of the plot is not seen.
THIN = 0.04
# A power law is shown over so many decades at least: a flat one looks flat.
LEAST = 0.5
# A tenth of a pixel more or less is not seen, nor twice that.
SEEN = 0.2
# Curves of so few points are shown with their points.
FEW = 40
# The curves of a plot, by what they are.
Lines = dict[str, np.ndarray]
_NAMES = {
    "reference": "held against",
    "lower": "lower bound",
    "upper": "upper bound",
    "fitted": "fitted power law",
    "measured": "measured",
}


def plot(trace: Trace | None) -> Markup | None:
    """The figure, or nothing if no number was kept."""
    if trace is None or not np.isfinite(trace.measured).any():
        return None
    if not trace.along or trace.x.size == 1:
        return _figure(trace, _gauge(trace), _number_caption(trace))
    shown = _deviation(trace)
    lines = {key: line for key in _NAMES if (line := getattr(shown, key)) is not None}
    across, up = _axes(shown, lines)
    return _figure(shown, _curves(shown, lines, across, up), _caption(shown, lines, up))


def _figure(trace: Trace, picture: Markup, caption: Markup) -> Markup:
    return tag("figure", picture, tag("figcaption", caption), class_="compared")


def _deviation(trace: Trace) -> Trace:
    """Where two curves are nearer to each other than can be seen, their difference and what is allowed of it."""
    if trace.reference is None or trace.upper is None or trace.is_power_law:
        return trace
    allowed = trace.upper - trace.reference
    both = np.concatenate([trace.measured, trace.reference])
    known = both[np.isfinite(both)]
    width = float(np.ptp(known)) if known.size else 0.0
    widest = np.nanmax(allowed, initial=0.0)
    if widest > THIN * width:
        return trace
    return dataclasses.replace(
        trace,
        name=f"| {trace.name} − what it is held against |",
        measured=np.abs(trace.measured - trace.reference),
        upper=allowed if (allowed > 0).any() else None,
        lower=None,
        reference=None,
    )


def _axes(trace: Trace, lines: Lines) -> tuple[Axis, Axis]:
    left, right = LEFT, WIDE - RIGHT
    if trace.words:
        across = Axis(-0.5, trace.x.max() + 0.5, left, right, words=trace.words)
        across = dataclasses.replace(across, low=trace.x.min() - 0.5)
        if trace.x.size != trace.x.max() - trace.x.min() + 1:
            across = dataclasses.replace(across, words=())
    elif _is_logarithmic(trace):
        across = logarithmic(trace.x, left, right, zero=bool((trace.x == 0).any()))
    else:
        across = linear(trace.x, left, right)
    values = np.concatenate(list(lines.values()))
    positive = values[values != 0] if "lower" in lines else values
    down = (HIGH - BOTTOM, TOP)
    if trace.is_power_law and (values[np.isfinite(values)] > 0).all():
        return across, logarithmic(values, *down, least=LEAST)
    known = positive[np.isfinite(positive)]
    if is_wide(known) and (lines["measured"][np.isfinite(lines["measured"])] > 0).all():
        return across, logarithmic(known, *down)
    if trace.name.startswith("|") and (known > 0).any() and is_wide(known[known > 0], 50.0):
        return across, logarithmic(known, *down, zero=bool((known == 0).any()))
    return across, linear(values, *down)


def _is_logarithmic(trace: Trace) -> bool:
    """The coordinates are spaced like powers: most of them are small against the last."""
    if trace.is_power_law:
        return bool((trace.x > 0).all()) and is_wide(trace.x, 1.5)
    if (trace.x < 0).any() or not is_wide(trace.x[trace.x > 0], 30.0):
        return False
    return float(np.median(trace.x)) < 0.2 * float(trace.x.max())


def _curves(trace: Trace, lines: Lines, across: Axis, up: Axis) -> Markup:
    x = across.place(trace.x)
    drawn = [_frame(across, up)]
    for key, line in lines.items():
        y = up.place(line)
        if key == "measured" and trace.x.size <= FEW:
            drawn.append(_dots(x, y))
        alone = trace.words or (trace.is_power_law and trace.x.size <= FEW)
        if key != "measured" or not alone:
            drawn.append(tag("path", d=path(x, y), class_=key))
    if trace.worst is not None:
        drawn += _worst(x[trace.worst], float(up.place(trace.measured)[trace.worst]))
    says = f"{trace.name} against {trace.along}; {', '.join(_NAMES[key] for key in lines)}"
    return _svg(HIGH, says, drawn)


def _svg(high: int, says: str, parts: list[Markup]) -> Markup:
    size = {"viewBox": f"0 0 {WIDE} {high}", "width": WIDE, "height": high}
    return tag("svg", *parts, **{"role": "img", "aria-label": says}, **size)


def _frame(across: Axis, up: Axis) -> Markup:
    """Ticks with their labels; lines across from those of the upright axis."""
    below = HIGH - BOTTOM
    ticks = across.ticks()
    levels = up.ticks()
    grid = "".join(f"M{LEFT} {place:.1f}H{WIDE - RIGHT}" for place, _ in levels)
    marks = "".join(f"M{place:.1f} {below}v4" for place, _ in ticks)
    names = [tag("text", label, x=LEFT - 6, y=f"{place + 3.5:.1f}") for place, label in levels]
    under = [tag("text", label, x=f"{place:.1f}", y=below + 17) for place, label in ticks]
    return join(
        [
            tag("path", d=grid, class_="grid"),
            tag("path", d=f"M{LEFT} {TOP}V{below}H{WIDE - RIGHT}{marks}", class_="frame"),
            tag("g", *names, class_="end"),
            tag("g", *under, class_="middle"),
        ]
    )


def path(x: np.ndarray, y: np.ndarray) -> str:
    """A line through points, to a tenth of a pixel, broken where a point has no place.

    Points that lie on the line between their neighbours, as far as one can see, are left out.
    """
    known = np.isfinite(x) & np.isfinite(y)
    edges = np.flatnonzero(np.diff(known.astype(int), prepend=0, append=0))
    pieces = zip(edges[::2], edges[1::2], strict=True)
    return "".join(_piece(x[a:b], y[a:b]) for a, b in pieces).replace(" -", "-")


def _piece(x: np.ndarray, y: np.ndarray) -> str:
    kept = _bends(x, y)
    places = np.round(np.stack([x[kept], y[kept]], axis=1) * 10).astype(int)
    begin = f"M{places[0, 0] / 10:g} {places[0, 1] / 10:g}"
    return begin + "".join(_step(a, b) for a, b in np.diff(places, axis=0).tolist() if a or b)


def _step(across: int, down: int) -> str:
    return f"l{across / 10:g} {down / 10:g}" if down else f"h{across / 10:g}"


def _bends(x: np.ndarray, y: np.ndarray) -> list[int]:
    """The points that a line needs to stay within `SEEN` of all of them (Ramer, Douglas and Peucker)."""
    kept = {0, x.size - 1}
    left = [(0, x.size - 1)]
    while left:
        a, b = left.pop()
        if b - a < 2:
            continue
        inside = slice(a + 1, b)
        across, down = x[b] - x[a], y[b] - y[a]
        length = float(np.hypot(across, down)) or 1.0
        off = np.abs((x[inside] - x[a]) * down - (y[inside] - y[a]) * across) / length
        far = int(np.argmax(off))
        if off[far] > SEEN:
            middle = a + 1 + far
            kept.add(middle)
            left += [(a, middle), (middle, b)]
    return sorted(kept)


def _dots(x: np.ndarray, y: np.ndarray) -> Markup:
    """Points as lines without length, which round ends make dots."""
    known = np.isfinite(x) & np.isfinite(y)
    places = zip(x[known], y[known], strict=True)
    return tag("path", d="".join(f"M{a:.1f} {b:.1f}h0" for a, b in places), class_="dots")


def _worst(x: float, y: float) -> list[Markup]:
    if not (np.isfinite(x) and np.isfinite(y)):
        return []
    return [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=5, class_="worst")]


def _gauge(trace: Trace) -> Markup:
    """One number on a line, and the interval that it may lie in."""
    value = float(trace.measured[0])
    lower, upper, reference = (
        None if line is None or not np.isfinite(line[0]) else float(line[0])
        for line in (trace.lower, trace.upper, trace.reference)
    )
    marks = [number for number in (value, lower, upper, reference) if number is not None]
    finite = np.array([mark for mark in marks if np.isfinite(mark)])
    sign_only = (lower == 0 or upper == 0) and finite.size > 1
    wide = is_wide(finite) and not sign_only
    across = (logarithmic if wide else linear)(finite, LEFT, WIDE - RIGHT)
    ends = [LEFT if lower is None else _spot(across, lower)]
    ends.append(WIDE - RIGHT if upper is None else _spot(across, upper))
    middle = 16
    parts = []
    if lower is not None or upper is not None:
        width = max(ends[1] - ends[0], 1.0)
        parts.append(
            tag("rect", x=f"{ends[0]:.1f}", y=6, width=f"{width:.1f}", height=20, class_="allowed")
        )
    parts.append(tag("path", d=f"M{LEFT} {middle}H{WIDE - RIGHT}", class_="frame"))
    for bound in (lower, upper):
        if bound is not None:
            parts.append(tag("path", d=f"M{_spot(across, bound):.1f} 6v20", class_="upper"))
    if reference is not None:
        parts.append(tag("path", d=f"M{_spot(across, reference):.1f} 6v20", class_="reference"))
    for place, label in across.ticks():
        parts.append(tag("text", label, x=f"{place:.1f}", y=42, class_="middle"))
    parts.append(tag("circle", cx=f"{_spot(across, value):.1f}", cy=middle, r=5, class_="worst"))
    return _svg(GAUGE, f"{trace.name} = {short(value)} and what is allowed", parts)


def _spot(across: Axis, value: float) -> float:
    return float(across.place(np.array([value]))[0])


def _number_caption(trace: Trace) -> Markup:
    said = f"{trace.name} = {short(float(trace.measured[0]))}"
    return join([_key("worst", said), _key("allowed", "what is allowed"), _at(trace)])


def _caption(trace: Trace, lines: Lines, up: Axis) -> Markup:
    """What the lines are, against what they are drawn, and on which line of the evidence."""
    parts = [tag("b", trace.name), Markup(" "), f"against {trace.along}"]
    if trace.where:
        parts.append(f", at {trace.where}")
    if trace.points > trace.x.size:
        parts.append(f"; {trace.x.size} of {trace.points} points")
    keys = [_key_of(key, line, up) for key, line in lines.items()]
    if trace.worst is not None and np.isfinite(trace.measured[trace.worst]):
        keys.append(_key("worst", "decides"))
    return join([*parts, tag("span", *reversed(keys), class_="keys")])


def _key_of(key: str, line: np.ndarray, up: Axis) -> Markup:
    """What a curve is; of one that has no place on the axis, where it is."""
    if np.isfinite(up.place(line)).any():
        return _key(key, _NAMES[key])
    at = short(float(np.nanmax(line)))
    return tag("span", f"{_NAMES[key]}: {at}, below the axis")


def _at(trace: Trace) -> Markup | None:
    return tag("span", f"at {trace.where}") if trace.where else None


def _key(name: str, word: str) -> Markup:
    return tag("span", tag("i", class_=f"key {name}"), word)
