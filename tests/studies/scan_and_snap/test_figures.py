"""Every figure says what it shows and draws it, here on the cheap evidence of the claims' tests."""

import numpy as np
import pytest
import xarray as xr

from phasescope.studies.scan_and_snap import study
from phasescope.studies.scan_and_snap.claims import claims, evidence
from phasescope.studies.scan_and_snap.claims.released import FIGURE_6
from phasescope.studies.scan_and_snap.figures import maps
from phasescope.studies.scan_and_snap.figures.panels import BLUE, ORANGE

from ..contract import FigureContract, KeptEvidence, thinned
from .stand_ins import stand_in

FIGURES = {figure.id: figure for figure in study.figures}


def syn_small(times=range(101)) -> xr.Dataset:
    """A made-up run of Syn-Small: the distinct tokens of each class tilt, the common ones fade."""
    time = np.asarray(times, float)
    p = np.concatenate([np.ones(10), np.linspace(0.1, 1.0, 10)])
    z = (
        np.concatenate([np.full(10, -0.4), np.linspace(0.0, 1.1, 10)])
        * (1 - np.exp(-time / 15))[:, None]
    )
    c = p / p.sum() * np.exp(z)
    attention = np.zeros((time.size, 2, 30))
    attention[:, :, :10] = c[:, None, :10]
    attention[:, 0, 10:20] = attention[:, 1, 20:] = c[:, 10:]
    attention /= attention.sum(-1, keepdims=True)
    two = lambda x: np.stack([x, x], axis=1)
    values = {
        "loss": ("time", np.exp(-time)),
        "attn": (("time", "class", "token"), attention),
        "z_ct": (("time", "last", "common_token"), two(z[:, :10])),
        "z_dt": (("time", "class", "distinct_token"), two(z[:, 10:])),
        "c_ct": (("time", "class", "common_token"), attention[:, :, :10]),
        "c_dt": (("time", "class", "distinct_token"), two(attention[:, 0, 10:20])),
    }
    return xr.Dataset(values, {"time": time})


@pytest.fixture(scope="module")
def get():
    """A request's dataset or its stand-in; each is made once for all tests."""
    resolved = KeptEvidence(study)
    known = {}

    def get(request):
        if request == maps.SWEEP:
            return resolved.get(thinned(request))[0]
        if request not in known:
            single = request in (evidence.figure_4, evidence.figure_4_right)
            known[request] = syn_small() if single else stand_in(request, resolved)
        return known[request]

    return get


@pytest.fixture(scope="module")
def drawn(get):
    known = {}

    def draw(id):
        if id not in known:
            known[id] = FIGURES[id].render(*map(get, FIGURES[id].evidence))
        return known[id]

    return draw


class TestFigures(FigureContract):
    study = study
    shared_labels = ("figure_7",)


def curves(axes, style="-"):
    """The lines of a panel that are curves, by their style."""
    return [
        line for line in axes.lines if line.get_linestyle() == style and len(line.get_xdata()) > 2
    ]


def upright(axes):
    """Where the vertical lines are."""
    return [
        line.get_xdata()[0]
        for line in axes.lines
        if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0
    ]


def test_the_figures_of_the_paper_and_ours_are_there():
    paper = {f"figure_{n}" for n in range(2, 11)}
    assert (
        paper | {"four_levels", "ratio_and_time", "momentum", "map_of_freezing"} == FIGURES.keys()
    )


def test_figure_2_shows_the_frequencies_first_and_common_tokens_apart(drawn):
    bars = drawn("figure_2").axes[0].patches
    heights = np.array([bar.get_height() for bar in bars])
    assert heights.sum() == pytest.approx(1)
    assert heights[:10] == pytest.approx(np.full(10, 0.0645161))
    assert [bars[0].get_facecolor(), bars[-1].get_facecolor()] == [_rgba(ORANGE), _rgba(BLUE)]


def _rgba(color):
    from matplotlib.colors import to_rgba

    return to_rgba(color)


def test_figure_3_marks_the_transition_times(drawn):
    assert sorted(upright(drawn("figure_3").axes[0])) == pytest.approx(
        [18.2, 36.5, 91.2, 182.3, 364.7], abs=0.05
    )


def test_figure_4_has_a_row_for_each_update_and_a_column_for_each_token_of_the_class(drawn):
    maps = [axes.images[0].get_array() for axes in drawn("figure_4").axes if axes.images]
    assert [m.shape for m in maps] == [(101, 20)] * 4
    assert all(np.asarray(m).sum(axis=1) == pytest.approx(1) for m in maps)


def test_the_maps_of_figure_4_have_one_scale(drawn):
    limits = {axes.images[0].get_clim() for axes in drawn("figure_4").axes if axes.images}
    assert len(limits) == 1


def test_figure_5_draws_the_favoured_token(get, drawn):
    line = drawn("figure_5").axes[0].lines[0]
    assert line.get_xdata()[-1] == 4
    assert (
        np.argmax(get(evidence.figure_5).c_dt.isel({"class": 0, "time": -1, "eta_Z": 0}).values)
        == 3
    )


def test_figure_6_has_a_panel_for_each_number_of_classes_and_the_released_means(drawn):
    panels = drawn("figure_6").axes
    crosses = [
        line
        for panel in panels
        for line in panel.lines
        if line.get_marker() == "X" and len(line.get_xdata()) == 4
    ]
    assert [panel.get_title() for panel in panels] == [f"$K = {K}$" for K in (2, 6, 10, 20)]
    means = [
        tuple(mean for mean, _ in cells)
        for by_rate in FIGURE_6.values()
        for cells in by_rate.values()
    ]
    assert sorted(tuple(line.get_ydata()) for line in crosses) == sorted(means)


def test_a_released_mean_has_the_colour_of_its_rate(drawn):
    panel = drawn("figure_6").axes[0]
    curves = [container.lines[0].get_color() for container in panel.containers]
    crosses = [line.get_color() for line in panel.lines if line.get_marker() == "X"]
    assert crosses == curves


def test_figure_6_draws_means_with_their_standard_errors(get, drawn):
    bars = drawn("figure_6").axes[0].containers[0]
    entropy = get(evidence.figure_6[2]).dt_entropy.isel({"time": -1, "class": 0}).sel(eta_Z=0.5)
    ends = np.array([segment[:, 1] for segment in bars.lines[2][0].get_segments()])
    np.testing.assert_allclose(bars.lines[0].get_ydata(), entropy.mean("seed"))
    np.testing.assert_allclose(
        np.diff(ends)[:, 0] / 2, entropy.std("seed", ddof=1) / np.sqrt(10), rtol=1e-6
    )


def test_the_flow_of_figure_8_lies_below_its_steps(drawn):
    panel = drawn("figure_8").axes[0]
    steps, flow = panel.lines[0].get_ydata(), panel.lines[1].get_ydata()
    assert (steps - flow).min() >= 0
    assert panel.lines[1].get_linestyle() == "--"


def test_all_dots_of_figure_9_are_at_one_height(drawn):
    lines = drawn("figure_9").axes[0].lines
    dots = [line for line in lines if line.get_marker() == "o" and len(line.get_xdata())]
    assert np.ravel([dot.get_ydata() for dot in dots]) == pytest.approx(
        np.full(4, 2.25599), abs=1e-5
    )


def test_the_curves_of_figure_9_coincide_in_units_of_the_rate(drawn):
    slow, fast = (curves(drawn("figure_9").axes[1])[i] for i in (0, -1))
    at = np.geomspace(20, 150, 20)
    np.testing.assert_allclose(
        *(np.interp(at, line.get_xdata(), line.get_ydata()) for line in (slow, fast)), rtol=5e-3
    )


def test_four_levels_end_apart(drawn):
    ends = [line.get_ydata()[-1] for line in drawn("four_levels").axes[0].lines]
    assert ends == pytest.approx([0.655, 0.845, 1.920, 1.728], abs=1e-3)


def test_minima_are_marked_in_training_only(drawn):
    left, middle, _ = drawn("ratio_and_time").axes
    marks = lambda axes: [
        line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())
    ]
    assert [float(mark.get_xdata()[0]) for mark in marks(left)] == [3, 3, 5, 10, 10]
    assert not marks(middle)


def test_momentum_is_compared_at_equal_effective_rates(drawn):
    with_it, without = drawn("momentum").axes[1].lines[:2]
    np.testing.assert_allclose(with_it.get_xdata(), without.get_xdata())
    assert with_it.get_ydata()[-1] == pytest.approx(1.8547, abs=1e-4)
    assert without.get_ydata()[-1] == pytest.approx(2.0532, abs=1e-4)


def test_figures_share_their_runs_with_the_claims():
    asked = {request for claim in claims for where in claim.regimes for request in where.evidence}
    assert {request for figure in study.figures for request in figure.evidence} - asked == {
        evidence.figure_4_right,
        evidence.one_memoryless,
        maps.SWEEP,
    }
