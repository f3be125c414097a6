"""What can be said of any drawn figure: each line is explained, no range leaves what is possible, phases have their
colours, and the caption has its numbers. Each function gives sentences that name what is wrong, or none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..figures.figure import NUMBER
from ..figures.phases import phase_color

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

# "phase 2", and the Roman numbers alone, as names of phases.
PHASE = re.compile(r"(?:phase )?([1-9]|I{1,3}|IV|VI{0,3}|IX)")
ROMAN = {"I": 1, "II": 2, "III": 3, "IV": 4, "V": 5, "VI": 6, "VII": 7, "VIII": 8, "IX": 9}
TYPED = re.compile(
    r"(?P<cited>(?:Theorem|Lemma|Section|Equation|Figure)s? )?"
    r"(?<![\w^.{])(?P<number>\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?)(?![\w}])"
)
SHARES = ("accuracy", "probability")  # words of an axis whose values are between 0 and 1
CAPS = ("_", "|")  # markers at the ends of error bars
Style = tuple[str, str]  # of a line: its dashes and its marker


def faults(canvas: Canvas) -> Iterator[str]:
    """Everything that is wrong with a drawn figure, in sentences."""
    yield from unexplained_lines(canvas)
    yield from impossible_ranges(canvas)
    yield from strange_phase_colors(canvas)
    yield from missing_numbers(canvas)


def unexplained_lines(canvas: Canvas) -> Iterator[str]:
    """Lines that neither a legend of the figure nor a text of their colour explains.

    A legend may say by one entry what a colour means and by another what dashes or a marker mean. Straight full lines
    are references, whose value the axis tells, and need no words; nor does a full line that is alone in its panel, which
    the label of the axis names.
    """
    from matplotlib.contour import ContourSet

    entries = [handle for legend in _legends(canvas) for handle in legend.legend_handles]
    colors = {_hex(color) for handle in entries for color in _colors(handle)}
    styles = {_style(handle) for handle in entries}
    said = {text.get_text() for legend in _legends(canvas) for text in legend.get_texts()}
    elsewhere = {_hex(text.get_color()) for axes in canvas.axes for text in _labels(axes)}
    for number, axes in enumerate(canvas.axes, start=1):
        beside = {_hex(text.get_color()) for text in _labels(axes)}
        named = beside | (elsewhere - {"#000000"})
        shown = [line for line in axes.lines if _is_drawn(line) and not _is_reference(line)]
        if len(shown) == 1 and _style(shown[0])[0] == "-":
            continue
        for line in shown:
            if line.get_label() in said:
                continue
            color = _hex(line.get_color())
            style = _style(line)
            by_legend = color in colors and _explained(style, styles)
            if not by_legend and color not in named:
                what = f"colour {color}, dashes {style[0]!r}, marker {style[1]!r}"
                yield (
                    f"panel {number} has a line ({what}) that no legend and no text of its colour "
                    "explains"
                )
        for lines in axes.collections:
            if isinstance(lines, ContourSet) and not lines.filled and not lines.labelTexts:
                edges = [_hex(x) for x in np.atleast_2d(lines.get_edgecolor())]
                unknown = [x for x in edges if x not in colors]
                if unknown:
                    what = f"colour {unknown[0]}"
                    yield f"panel {number} has a contour ({what}) without numbers or legend"


def _explained(style: Style, styles: set[Style]) -> bool:
    """Whether the dashes and the marker of a line are found in a legend, together or each by itself."""
    dashes, marker = style
    if style in styles:
        return True
    known_dashes = {entry[0] for entry in styles} | {"-", "None"}
    known_markers = {entry[1] for entry in styles} | {"None"}
    return dashes in known_dashes and marker in known_markers


def impossible_ranges(canvas: Canvas) -> Iterator[str]:
    """Ranges around a curve below 0 or above 1 where the axis says that it shows a share of something."""
    from matplotlib.collections import PolyCollection

    for number, axes in enumerate(canvas.axes, start=1):
        label = axes.get_ylabel().lower()
        if not any(word in label for word in SHARES):
            continue
        for band in axes.collections:
            if isinstance(band, PolyCollection):
                heights = _heights(band)
                if heights.size and (heights.min() < -1e-9 or heights.max() > 1 + 1e-9):
                    low, high = heights.min(), heights.max()
                    yield (
                        f"panel {number} ({label}) has a band from {low:.2g} to {high:.2g}: "
                        "`ps.band(..., within=(0, 1))` keeps it where values are possible"
                    )


def strange_phase_colors(canvas: Canvas) -> Iterator[str]:
    """Names of phases above an axis of time in another colour than that of their number."""
    for number, axes in enumerate(canvas.axes, start=1):
        for text in axes.texts:
            found = PHASE.fullmatch(text.get_text())
            above = text.get_transform() == axes.get_xaxis_transform()
            if found is None or not above:
                continue
            name = found.group(1)
            phase = ROMAN.get(name) or int(name)
            if _hex(text.get_color()) != _hex(phase_color(phase)):
                yield (
                    f"panel {number} names {text.get_text()} in {text.get_color()}, and it is {phase_color(phase)} "
                    "in all studies: `ps.shade_phases` knows"
                )


def missing_numbers(canvas: Canvas) -> Iterator[str]:
    """Numbers of the caption that the drawing was to return and did not."""
    for found in NUMBER.finditer(str(canvas.get_label())):
        yield f"the caption has {found.group()}, and the drawing returns no {found.group(1)}"


def typed_numbers(words: str) -> Iterator[str]:
    """Numbers in the words of a caption that look measured and would not follow the data: decimals of two digits or
    more, whole numbers of three or more that are no power of two. Numbers of theorems and sections are none.
    """
    for found in TYPED.finditer(words):
        digits = found["number"].partition("e")[0].replace(",", "")
        significant = digits.replace(".", "").lstrip("0")
        if "." in digits:
            looks_measured = len(significant) >= 2
        else:
            looks_measured = len(significant.rstrip("0")) >= 3 and int(digits).bit_count() > 1
        if looks_measured and not found["cited"]:
            yield found["number"]


def _heights(band: Any) -> np.ndarray:
    """The ordinates of the corners of a band."""
    corners = [np.asarray(path.vertices)[:, 1] for path in band.get_paths()]
    return np.concatenate(corners) if corners else np.empty(0)


def _legends(canvas: Canvas) -> list[Any]:
    own = [axes.get_legend() for axes in canvas.axes]
    return [legend for legend in [*own, *canvas.legends] if legend is not None]


def _labels(axes: Axes) -> list[Text]:
    """Texts and annotations with words in them."""
    return [text for text in axes.texts if text.get_text().strip()]


def _is_drawn(line: Line2D) -> bool:
    some = len(np.atleast_1d(line.get_xdata())) > 0
    return line.get_visible() and some and line.get_marker() not in CAPS


def _is_reference(line: Line2D) -> bool:
    """A straight full line along one of the axes."""
    x = np.asarray(line.get_xdata(), float)
    y = np.asarray(line.get_ydata(), float)
    straight = x.size == 2 and bool(x[0] == x[1] or y[0] == y[1])
    return straight and _style(line) == ("-", "None")


def _style(handle: Any) -> Style:
    dashes = handle.get_linestyle() if hasattr(handle, "get_marker") else "-"
    marker = handle.get_marker() if hasattr(handle, "get_marker") else "None"
    plain = {"": "None", " ": "None", "none": "None"}
    return plain.get(str(dashes), str(dashes)), plain.get(str(marker), str(marker))


def _colors(handle: Any) -> list[Any]:
    """The colour of a legend's entry, whatever it is made of."""
    for name in ("get_color", "get_facecolor"):
        if hasattr(handle, name):
            color = getattr(handle, name)()
            if not isinstance(color, str) and np.ndim(color) == 2:
                return list(color)
            return [color]
    return []


def _hex(color: Any) -> str:
    """A colour without its transparency, such that equal ones are equal strings."""
    from matplotlib.colors import to_hex

    return to_hex(color)
