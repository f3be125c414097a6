"""Drawn figures: what the contract finds wrong with them, phases and ranges of the common style, captions."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure as Canvas

import phasescope as ps
from phasescope.figures.phases import PHASES
from phasescope.testing import drawings


@pytest.fixture
def axes():
    return Canvas(figsize=(4, 3)).subplots()


def said(axes, check):
    return " ".join(check(axes.figure))


def test_a_dashed_line_without_words_is_found(axes):
    axes.plot([1, 2, 3], label="descent")
    axes.plot([1, 2, 4], "--", color="0.2")
    ps.legend(axes)
    assert "colour #333333, dashes '--'" in said(axes, drawings.unexplained_lines)


def test_a_line_may_be_explained_by_its_own_entry_or_by_one_for_its_dashes(axes):
    axes.plot([1, 2, 3], color="C0", label="C6")
    axes.plot([1, 2, 4], "--", color="C0")
    axes.plot([], [], "--", color="0.4", label="early")
    ps.legend(axes)
    assert said(axes, drawings.unexplained_lines) == ""


def test_a_line_may_have_its_name_beside_it(axes):
    ps.mark(axes, 2.0, "end of phase 1")
    assert said(axes, drawings.unexplained_lines) == ""


def test_a_full_straight_line_is_a_reference_and_needs_no_words(axes):
    axes.axhline(0, color="0.4")
    assert said(axes, drawings.unexplained_lines) == ""


def test_a_contour_needs_numbers_or_a_legend(axes):
    x = np.arange(4.0)
    axes.contour(x, x, np.add.outer(x, x), levels=[2.5], colors="w")
    assert "contour (colour #ffffff)" in said(axes, drawings.unexplained_lines)
    axes.plot([], [], color="w", label="one half")
    ps.legend(axes)
    assert said(axes, drawings.unexplained_lines) == ""


def test_a_band_of_an_accuracy_below_zero_is_found(axes):
    axes.fill_between([1, 2], [-0.1, 0.2], [0.3, 0.4])
    axes.set_ylabel("accuracy")
    assert "from -0.1 to 0.4" in said(axes, drawings.impossible_ranges)


def test_a_band_is_kept_within_what_is_possible(axes):
    ps.band(axes, [1, 2], [-0.1, 0.2], [0.3, 1.4], color="k", within=(0, 1))
    axes.set_ylabel("accuracy")
    assert said(axes, drawings.impossible_ranges) == ""


def test_a_phase_in_the_colour_of_another_is_found(axes):
    ps.shade(axes, 0.0, 1.0, "phase 2", PHASES[0])
    assert "names phase 2" in said(axes, drawings.strange_phase_colors)


@pytest.mark.parametrize("names", [(), ("I", "II", "III")])
def test_phases_have_the_colours_of_their_numbers(axes, names):
    axes.set_xlim(0, 9)
    ps.shade_phases(axes, [3.0, 6.0], names)
    assert said(axes, drawings.strange_phase_colors) == ""
    assert [text.get_position()[0] for text in axes.texts] == [1.5, 4.5, 7.5]


def test_a_phase_outside_of_the_axis_is_not_named(axes):
    axes.set_xlim(4, 9)
    ps.shade_phases(axes, [3.0, 6.0])
    assert [text.get_text() for text in axes.texts] == ["phase 2", "phase 3"]


def test_the_name_of_a_short_phase_stays_within_the_axes(axes):
    axes.set_xlim(0, 100)
    ps.shade_phases(axes, [1.0])
    first = axes.texts[0]
    assert (first.get_text(), first.get_ha(), first.get_position()[0]) == ("phase 1", "left", 0.0)


def toy(draw, panels=(1, 1)):
    table = ps.tables(lambda: xr.Dataset())
    return ps.figure("Figure 1", table, panels=panels)(draw)


@pytest.mark.parametrize(
    ("found", "said"),
    [(3.6e-5, "4e-5"), (2e15, "2e15"), (1e-12, "1e-12"), (20.0, "2e1"), (0.0, "0e0")],
)
def test_a_caption_writes_powers_of_ten_without_plus_and_zeros(found, said):
    @ps.figure("Figure 1", ps.tables(lambda: None))
    def small(table, axes):
        """It is {least:.0e}."""
        return {"least": found}

    assert small.render(None).get_label() == f"It is {said}."


def test_a_caption_has_the_numbers_that_the_drawing_found():
    def peak(table, axes):
        """The peak is {height:.2f}, and {x} is left alone."""
        return {"height": 0.123}

    figure = toy(peak)
    assert figure.caption == "The peak is ..., and {x} is left alone."
    canvas = figure.render(xr.Dataset())
    assert canvas.get_label() == "The peak is 0.12, and {x} is left alone."
    assert list(drawings.missing_numbers(canvas)) == []


def test_a_number_that_the_drawing_forgot_is_found():
    def peak(table, axes):
        """The peak is {height:.2f}."""

    found = list(drawings.missing_numbers(toy(peak).render(xr.Dataset())))
    assert found == ["the caption has {height:.2f}, and the drawing returns no height"]


def test_several_panels_are_lettered():
    def two(table, axes):
        """Nothing."""

    canvas = toy(two, (1, 2)).render(xr.Dataset())
    assert [axes.get_title(loc="left") for axes in canvas.axes] == ["(a)", "(b)"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("from 4.159 to 0.34 at t = 100", ["4.159", "0.34"]),
        ("from t = 958 on, at L = 38,500", ["958", "38,500"]),
        ("a factor 1.8e15 at N = 256, m = 4096", ["1.8e15"]),
        ("at eta = 0.1, N = 6, 10^4 updates, 100,000 samples", []),
        ("Theorem 4.1, Section 5.2 and {peak:.2f}, t_120", []),
    ],
)
def test_a_number_that_looks_measured_is_told_from_a_parameter(words, found):
    assert list(drawings.typed_numbers(words)) == found
