"""Every figure says what it shows and draws it, here on flows by scipy and small sweeps."""

import numpy as np
import pytest

from phasescope.claims.requests import Maps, Sized, Sweeps
from phasescope.studies.lazy_to_rich import study
from phasescope.studies.lazy_to_rich.claims import claims, evidence
from phasescope.studies.lazy_to_rich.phases import phase_times

from ..contract import FigureContract, KeptEvidence, thinned
from .stand_ins import grid, stand_in

FIGURES = {figure.id: figure for figure in study.figures}


@pytest.fixture(scope="module")
def get():
    """A request's dataset, or a cheaper one; each is made once for all tests."""
    gathered = KeptEvidence(study)
    known = {}

    def found(request):
        if isinstance(request, Maps):
            return gathered.get(thinned(request))[0]
        if request not in known:
            diagram = isinstance(request, Sweeps) and request in (
                evidence.diagram_true,
                evidence.diagram_paper,
            )
            known[request] = grid(request, 3) if diagram else stand_in(request, gathered)
        return known[request]

    return found


@pytest.fixture(scope="module")
def canvas(get):
    """A figure, drawn once."""
    known = {}

    def draw(id):
        if id not in known:
            known[id] = FIGURES[id].render(*(get(request) for request in FIGURES[id].evidence))
        return known[id]

    return draw


def words(axes):
    legend = axes.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend else []


class TestFigures(FigureContract):
    study = study
    shared_labels = ("scaling",)
    typed = {"0.49": "w* of Figure 1", "0.0017": "SUDDEN, by the logistic law"}

    @pytest.fixture
    def drawn(self, canvas):
        return canvas


@pytest.mark.parametrize("id", ["figure_1", "figure_3"])
def test_a_figure_of_stage_two_shows_losses_and_parameters_with_the_flow_upon_each(id, canvas):
    panels = canvas(id).axes[:3]
    solid = [
        sum(line.get_linestyle() == "-" for line in axes.lines if len(line.get_xdata()))
        for axes in panels
    ]
    dashed = [
        sum(line.get_linestyle() == "--" for line in axes.lines if len(line.get_xdata()))
        for axes in panels
    ]
    assert solid == dashed == [1, 2, 4]


def test_the_four_phases_of_figure_1_are_shaded_where_the_flow_has_them(get, canvas):
    axes = canvas("figure_1").axes[1]
    edges = sorted(patch.get_x() for patch in axes.patches)
    times = phase_times(get(evidence.true))
    np.testing.assert_allclose(edges[1:], [float(times[name]) for name in ("T_I", "T_II", "T_III")])
    assert [text.get_text() for text in axes.texts] == ["I", "II", "III", "IV"]


def test_figure_1_draws_the_loss_that_was_measured(get, canvas):
    line = canvas("figure_1").axes[0].lines[0]
    np.testing.assert_array_equal(line.get_ydata(), get(evidence.figure_1).loss)


def test_figure_4_counts_updates(get, canvas):
    right = canvas("figure_4").axes[1]
    assert right.lines[1].get_xdata()[-1] == pytest.approx(100_000)


def test_five_descriptions_end_at_five_times(canvas):
    said = [
        word.rsplit(": ", 1)[1]
        for word in words(canvas("paper_against_truth").axes[1])
        if ": " in word
    ]
    assert said == ["1310", "1610", "2575", "3040", "3181"]


def test_exponents_are_written_with_their_intervals(canvas):
    panels = canvas("scaling").axes
    fitted = [[word for word in words(axes) if ": " in word] for axes in panels]
    assert all(len(found) == 2 for found in fitted)
    assert all(r"\pm" in word for k in (0, 1, 3) for word in fitted[k])


def test_figure_1_lies_above_the_line_below_which_emergence_is_sudden(canvas):
    left = canvas("phase_diagram").axes[0]
    star = next(line for line in left.lines if line.get_marker() == "*")
    law = next(line for line in left.lines if line.get_linestyle() == "--")
    assert star.get_ydata()[0] > np.interp(0.49, law.get_xdata(), law.get_ydata())


def test_boolean_tokens_are_compared_with_gaussian_ones(get, canvas):
    ratio = canvas("figure_3").axes[3].lines[0]
    boolean, gaussian = get(evidence.true_boolean), get(evidence.true)
    expected = (boolean.loss_g4 / gaussian.loss_g4)[10]
    assert ratio.get_ydata()[10] == pytest.approx(float(expected))


def test_the_phase_diagram_is_asked_for_on_a_fine_grid():
    assert (len(evidence.TARGET_GRID), len(evidence.SIGMA_GRID)) == (20, 32)


def test_figures_share_their_runs_with_the_claims():
    asked = {request for claim in claims for where in claim.regimes for request in where.evidence}
    fresh = {
        figure.id: [request for request in figure.evidence if request not in asked]
        for figure in study.figures
    }
    shared = ("figure_1", "figure_3", "figure_4", "paper_against_truth", "scaling")
    assert not any(fresh[id] for id in shared)


def test_the_long_runs_have_a_small_version():
    assert all(
        isinstance(request, Sized)
        for request in (evidence.figure_1, evidence.figure_3, evidence.matrix_gd)
    )
