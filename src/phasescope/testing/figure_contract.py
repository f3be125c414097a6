"""The tests of a study's figures: they say what they show and draw it. They need pytest."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import ClassVar

import pytest

from ..figures.figure import Figure
from ..study import Study
from . import drawings


class FigureContract:
    """Every figure says what it shows and draws it, labelled and explained, at the width of a page.

    A subclass has a class-scoped fixture `drawn`: from a figure's id to the matplotlib figure.
    """

    study: ClassVar[Study]
    # Figures with panels in rows that share one label of the y axis.
    shared_labels: ClassVar[Sequence[str]] = ()
    # Numbers that are typed into captions since no drawing could find another: each with what it is.
    typed: ClassVar[Mapping[str, str]] = {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "figure" in metafunc.fixturenames:
            metafunc.parametrize("figure", self.study.figures, ids=lambda figure: figure.id)

    def test_a_drawing_takes_the_evidence_that_its_figure_asks_for(self, figure: Figure):
        inspect.signature(figure.draw).bind(*figure.evidence, "axes")

    def test_a_caption_says_what_to_see_and_gives_numbers(self, figure: Figure):
        assert len(figure.caption) > 100, f"{len(figure.caption)} characters"
        given = [sign for sign in figure.caption if sign.isdigit()]
        assert given or "..." in figure.caption, "no number, and none that the drawing finds"

    def test_every_panel_is_labelled(self, figure: Figure, drawn):
        panels = [axes for axes in drawn(figure.id).axes if axes.get_label() != "<colorbar>"]
        with_y = panels[:1] if figure.id in self.shared_labels else panels
        assert all(axes.get_xlabel() for axes in panels), "a panel without a label of x"
        assert all(axes.get_ylabel() for axes in with_y), "a panel without a label of y"

    def test_it_fits_the_width_of_a_page(self, figure: Figure, drawn):
        width = drawn(figure.id).get_size_inches()[0]
        assert width <= 8.5, f"{width} inches"

    def test_every_line_has_a_legend_or_a_name_beside_it(self, figure: Figure, drawn):
        assert list(drawings.unexplained_lines(drawn(figure.id))) == []

    def test_no_range_of_an_accuracy_leaves_what_is_possible(self, figure: Figure, drawn):
        assert list(drawings.impossible_ranges(drawn(figure.id))) == []

    def test_every_phase_has_the_colour_of_its_number(self, figure: Figure, drawn):
        assert list(drawings.strange_phase_colors(drawn(figure.id))) == []

    def test_every_number_of_the_caption_is_filled_in(self, figure: Figure, drawn):
        assert list(drawings.missing_numbers(drawn(figure.id))) == []

    def test_no_number_that_looks_measured_is_typed_into_a_caption(self, figure: Figure):
        typed = set(drawings.typed_numbers(figure.caption)) - set(self.typed)
        assert typed == set(), "write {name:.2f}, and return it from the drawing"

    def test_several_panels_have_letters(self, figure: Figure, drawn):
        rows, columns = figure.panels
        letters = [axes.get_title(loc="left") for axes in drawn(figure.id).axes]
        expected = [f"({name})" for name in "abcdefghijkl"[: rows * columns]]
        assert [x for x in letters if x] == (expected if rows * columns > 1 else [])
