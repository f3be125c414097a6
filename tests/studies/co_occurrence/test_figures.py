"""Every figure of `co_occurrence` says what it shows and draws it, here on stand-ins for its runs."""

import numpy as np
import pytest

from phasescope.studies.co_occurrence import study
from phasescope.studies.co_occurrence.claims import evidence
from phasescope.studies.co_occurrence.closed_forms import late_time
from phasescope.studies.co_occurrence.figures import maps

from ..contract import FigureContract, KeptEvidence, thinned
from .stand_ins import stand_in

FIGURES = {figure.id: figure for figure in study.figures}


@pytest.fixture(scope="module")
def drawn():
    """A figure, drawn once for all tests."""
    kept, known, canvases = KeptEvidence(study), {}, {}

    def draw(id):
        if id not in canvases:
            for request in FIGURES[id].evidence:
                if request in (maps.THRESHOLD, maps.RATIO, maps.RATIO_LONG):
                    known[request] = kept.get(thinned(request))[0]
                elif request not in known:
                    known[request] = stand_in(request, kept)
            canvases[id] = FIGURES[id].render(*(known[request] for request in FIGURES[id].evidence))
        return canvases[id]

    draw.known = known
    return draw


class TestFigures(FigureContract):
    study = study


def test_the_figure_of_the_paper_is_there_in_both_readings_and_ours_beside_it():
    ours = {"universal_first_phase", "late_laws", "sample_threshold", "where_attention_matters"}
    ours |= {"map_of_sample_sizes", "map_of_widths"}
    assert {"figure_1", "figure_1_literal"} | ours == FIGURES.keys()


@pytest.mark.parametrize("id", ["figure_1", "figure_1_literal"])
def test_epochs_are_on_a_logarithmic_axis_with_both_phases_shaded(id, drawn):
    for panel in drawn(id).axes:
        assert panel.get_xscale() == "log"
        assert panel.get_xlim() == (1, 30_000)
        assert {"phase 1", "phase 2"} <= {text.get_text() for text in panel.texts}


def test_the_scores_of_the_figure_split_in_the_predicted_directions(drawn):
    lines = {line.get_label(): line.get_ydata() for line in drawn("figure_1").axes[0].lines}
    assert all(lines[f"$S_{{{e}}}$"][-1] > lines[f"$S_{{{e}}}$"][0] for e in ("12", "21"))
    assert all(lines[f"$S_{{{e}}}$"][-1] < lines[f"$S_{{{e}}}$"][0] for e in ("31", "32"))


def test_measured_growth_lies_on_the_closed_form_of_the_threshold(drawn):
    markers = [
        line for line in drawn("sample_threshold").axes[1].lines if line.get_marker() in "os"
    ]
    for line, L in zip(markers, (5, 20), strict=True):
        expected = [-late_time(x * 3 * (L + 1), L).exponents[1] for x in line.get_xdata()]
        # Near the n where samples without targets cease to be support vectors the approach is slow: 5e-4 off at s = 80.
        assert np.allclose(line.get_ydata(), expected, atol=1e-3)


def test_the_levels_in_the_legend_are_those_that_the_claims_ask_for(drawn):
    runs = [drawn.known[request] for request in evidence.theory_runs if drawn("map_of_widths")]
    for label, _, claim in maps.LEVELS.values():
        said = float(label.rpartition("(")[2].rstrip(")"))
        [found] = [part for part in claim(*runs).elementary if part.check == "tends_to"]
        assert set(found.trace.upper) == {said}


def test_lines_cross_the_level_at_their_circles_and_stay_below(drawn):
    panel = drawn("map_of_widths").axes[0]
    lines = {line.get_color(): line for line in panel.lines if len(line.get_xdata()) > 2}
    circles = {line.get_color(): line for line in panel.lines if len(line.get_xdata()) == 1}
    assert lines.keys() == circles.keys() and len(lines) == 5
    for color, line in lines.items():
        width = float(circles[color].get_xdata()[0])
        if np.isfinite(width):
            later = line.get_xdata() > width
            assert (line.get_ydata()[later] < 1).all()
            assert line.get_ydata()[~later][-1] >= 1


@pytest.mark.parametrize(
    ("ratio", "width"),
    [
        ([8.0, 2.0, 0.5], 2**1.5),  # half way between 2 and 4 in the logarithm
        ([0.5, 2.0, 0.5], 2**1.5),  # the last crossing counts
        ([8.0, 4.0, 2.0], np.nan),  # never
        ([0.5, 0.4, 0.3], np.nan),  # before the first
    ],
)
def test_the_crossing_is_the_width_from_which_on_a_ratio_stays_below_one(ratio, width):
    found = maps.crossing_width(np.array([1.0, 2.0, 4.0]), np.array(ratio))
    assert found == pytest.approx(width, nan_ok=True)


def test_exponents_of_four_widths_are_those_of_the_law(drawn):
    """The stand-ins have m^-1.95, over which log^2 m is taken."""
    line = drawn("map_of_widths").axes[1].lines[0]
    m = 128 * 2.0 ** np.arange(4)
    expected = np.polyfit(np.log(m), np.log(m**-1.95 / np.log(m) ** 2), 1)[0]
    assert line.get_ydata()[0] == pytest.approx(expected, abs=1e-3)


def test_late_laws_show_the_limits_nine_and_seventeen(drawn):
    heights = {
        round(float(line.get_ydata()[0]), 2)
        for line in drawn("late_laws").axes[0].lines
        if line.get_ls() == "--" and len(line.get_xdata())
    }
    assert heights == {9.19, 17.0}
