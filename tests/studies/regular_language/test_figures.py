"""Every figure says what it shows and draws it, here on small or borrowed evidence."""

import io
import json

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.studies.regular_language import study
from phasescope.studies.regular_language.claims import claims, evidence
from phasescope.studies.regular_language.figures import regime
from phasescope.studies.regular_language.figures.late import margin_now
from phasescope.studies.regular_language.figures.panels import T_0, T_2
from phasescope.studies.regular_language.phases import onset, spec_of
from phasescope.studies.regular_language.spec import Spec
from phasescope.studies.regular_language.training import symmetric
from phasescope.testing import drawings

from ..contract import FigureContract, KeptEvidence, thinned

FIGURES = {figure.id: figure for figure in study.figures}
PAPER = {
    "figure_2": 576,
    "figure_3": 671,
    "figure_4": 3171,
    "figure_5": 5994,
    "figure_6": 597,
}  # with their t_2
SMALL_SWEEP = ps.sweeps(
    symmetric,
    switch=[1, 100],
    lam=[1.0, 4.0, 400.0],
    eta=0.1,
    steps=10_000,
    at=[0, 20, 100, 300, 1000, 3000, 10_000],
)


@pytest.fixture(scope="module")
def get():
    """A request's dataset; each is run once for all tests."""
    gathered = KeptEvidence(study)
    return lambda request: gathered.get(request)[0]


def as_flow(run):
    """Descent read as its gradient flow: tau for the time, and fewer records."""
    thin = run.isel(time=slice(None, None, 10))
    return thin.assign_coords(time=thin.time * spec_of(run).eta).assign_attrs(arm="log_flow")


def made_up(N, tau):
    """A run of size N in which all strings are right from tau on, and the loss is halved there."""
    times = np.array([0.0, 0.5, 1.0, 2.0]) * tau
    spec = Spec(max_length=N, eta=1.0, switch=100, steps=100)
    values = {
        "accuracy": ("time", [0.5, 0.5, 1.0, 1.0]),
        "loss": ("time", np.array([1, 0.9, 0.5, 0.1]) * (N - 1) * np.log(2)),
    }
    attrs = {"spec": json.dumps(spec.to_json()), "arm": "symmetric"}
    return xr.Dataset(values, {"time": times, "length": np.arange(1, N + 1)}, attrs)


@pytest.fixture(scope="module")
def drawn(get):
    """A figure, drawn from evidence that takes seconds: flows are borrowed from descent, large sizes are made up."""
    known = {}

    def evidence_of(id):
        if id in PAPER or id == "overview":
            run = get(getattr(evidence, "figure_2" if id == "overview" else id))
            return run, as_flow(run)
        even, parity = get(evidence.figure_2), get(evidence.figure_3)
        if id == "theorem_regime":
            return (
                *[get(evidence.theorem_6)] * len(regime.THEOREM),
                made_up(6, 60.0),
                made_up(12, 100.0),
            )
        return {
            "attention_scores": (even, as_flow(even), parity, as_flow(parity)),
            "figure_7": lambda: tuple(get(r) for r in FIGURES[id].evidence),
            "early_laws": lambda: (get(evidence.early_even_pairs),),
            "phase_diagram": lambda: (get(SMALL_SWEEP),),
            "late_time": (as_flow(even), as_flow(parity), as_flow(even)),
            "parity_stairs": (parity,) * 3,
            "chain_of_thought": (even, parity),
            "map_of_constants": lambda: tuple(get(thinned(r)) for r in FIGURES[id].evidence),
            "map_of_lengths": lambda: tuple(get(thinned(r)) for r in FIGURES[id].evidence),
        }[id]

    def draw(id):
        if id not in known:
            found = evidence_of(id)
            known[id] = FIGURES[id].render(*(found() if callable(found) else found))
        return known[id]

    return draw


def upright(axes):
    """Where the vertical lines are, by colour."""
    lines = [
        line for line in axes.lines if len(line.get_xdata()) == 2 and np.ptp(line.get_xdata()) == 0
    ]
    return {line.get_color(): float(line.get_xdata()[0]) for line in lines}


def words(axes):
    """The texts of a legend."""
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_the_figures_of_the_paper_and_ours_are_there():
    ours = {
        "overview",
        "theorem_regime",
        "phase_diagram",
        "late_time",
        "parity_stairs",
        "chain_of_thought",
    }
    assert PAPER.keys() | ours <= FIGURES.keys()


class TestFigures(FigureContract):
    study = study
    shared_labels = ("phase_diagram",)

    def test_every_number_of_the_caption_is_filled_in(self, figure, drawn):
        """The evidence of these tests has no run of size 256 or 1024."""
        missing = list(drawings.missing_numbers(drawn(figure.id)))
        large = [one for one in missing if one.endswith(("_256", "_1024"))]
        assert missing == (large if figure.id == "theorem_regime" else [])


@pytest.mark.parametrize("id", PAPER)
def test_a_figure_of_the_paper_has_its_three_panels_and_both_lines_in_each(id, drawn):
    panels = drawn(id).axes
    assert len(panels) == 3
    assert all(upright(axes) == {T_0: 100, T_2: PAPER[id]} for axes in panels)


def test_the_second_line_is_where_the_read_out_bends(get):
    assert {id: int(onset(get(getattr(evidence, id)))) for id in PAPER} == PAPER


def test_figure_2_draws_the_loss_that_was_measured(get, drawn):
    line = drawn("figure_2").axes[0].lines[0]
    np.testing.assert_array_equal(
        line.get_ydata(), get(evidence.figure_2).loss.sel(time=slice(0, 1000))
    )


def test_the_flow_is_drawn_at_tau_over_eta(drawn):
    descent, flow = drawn("figure_2").axes[0].lines[:2]
    np.testing.assert_allclose(
        flow.get_ydata(), np.interp(flow.get_xdata(), descent.get_xdata(), descent.get_ydata())
    )
    assert flow.get_linestyle() == "--"


def test_figure_3_shows_the_pivot_and_the_first_token_of_length_5(drawn):
    panel = drawn("figure_3").axes[2]
    assert (
        sum("varphi_2" in word for word in words(panel))
        == sum("varphi_1" in word for word in words(panel))
        == 2
    )
    assert panel.lines[0].get_ydata()[0] == pytest.approx(1 / 5)


@pytest.mark.parametrize("id", [*PAPER, "overview", "attention_scores"])
def test_the_names_of_the_two_lines_do_not_overlap(id, drawn):
    canvas = drawn(id)
    canvas.canvas.draw()
    t_0, t_2 = [text for text in canvas.axes[0].texts if "=" in text.get_text()]
    assert not t_0.get_window_extent().overlaps(t_2.get_window_extent())


def test_the_picture_of_the_readme_is_wide_and_light(drawn):
    image = io.BytesIO()
    drawn("overview").savefig(image, format="png", dpi=150)
    assert tuple(drawn("overview").get_size_inches() * 150) == (1200, 420)
    assert len(image.getvalue()) < 200_000


def test_closed_forms_start_where_descent_does(drawn):
    lines = drawn("overview").axes[1].lines
    descent = lines[0]
    formula = next(line for line in lines if line.get_linestyle() == ":")
    early = np.interp(5.0, formula.get_xdata(), formula.get_ydata())
    assert descent.get_ydata()[0] == pytest.approx(early, rel=0.05)


def test_exponents_of_the_duration_of_phase_1_are_fitted():
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    regime.draw_times([made_up(N, 3 * N**0.75) for N in (4, 16, 64)], axes)
    assert [word.partition("$")[2] for word in words(axes)] == [
        "N^{0.75}$",
        "N^{0.75}$",
        r"\tau_0 = 1/N$",
    ]


def test_the_line_of_the_theorems_is_one_over_n(drawn):
    panel = drawn("theorem_regime").axes[2]
    line = next(line for line in panel.lines if line.get_linestyle() == "--")
    np.testing.assert_allclose(line.get_ydata(), 1 / np.asarray(line.get_xdata()))


def test_in_the_theorems_regime_accuracy_is_at_chance_up_to_the_end(drawn):
    first = drawn("theorem_regime").axes[0].lines[0]
    np.testing.assert_allclose(first.get_ydata(), 0.5 + 1 / 12)


def test_the_window_of_theorem_4_4_is_empty_by_fifteen_orders(drawn):
    ratio = drawn("theorem_regime").axes[3].lines[0].get_ydata()[0]
    assert 1.7e15 < ratio < 1.9e15


def test_the_phase_diagram_crosses_the_theorems_lines(drawn):
    panel = drawn("phase_diagram").axes[0]
    flat = [
        float(line.get_ydata()[0])
        for line in panel.lines
        if len(line.get_xdata()) == 2 and np.ptp(line.get_ydata()) == 0
    ]
    assert list(upright(panel).values()) == [36]
    assert flat == pytest.approx([1 / 6])


def test_what_is_not_learned_is_left_blank_in_the_phase_diagram(drawn):
    learned = drawn("phase_diagram").axes[0].collections[0].get_array().reshape(2, 3)
    assert not np.ma.is_masked(learned[:, 0])
    assert np.ma.getmaskarray(learned)[:, 2].all()


def test_the_map_of_thought_is_the_accuracy(get, drawn):
    mesh = drawn("chain_of_thought").axes[0].collections[0].get_array()
    truth = (
        get(evidence.figure_2)
        .cot_accuracy.sel(time=slice(50, None))
        .transpose("input_length", "time")
    )
    np.testing.assert_array_equal(np.asarray(mesh).reshape(truth.shape), truth)


def test_uniform_attention_has_no_margin(get):
    start = get(evidence.figure_2).isel(time=[0, 500])
    found = margin_now(start).norm
    assert np.isnan(found[0])
    assert np.isfinite(found[1])


def test_figures_share_their_runs_with_the_claims():
    asked = {request for claim in claims for where in claim.regimes for request in where.evidence}
    fresh = {
        figure.id: [request for request in figure.evidence if request not in asked]
        for figure in study.figures
    }
    assert not any(
        fresh[id] for id in ("early_laws", "late_time", "parity_stairs", "chain_of_thought")
    )
    assert len(fresh["theorem_regime"]) == 3


def test_only_a_run_with_two_phases_has_them_shaded(drawn):
    named = {
        id: {text.get_text() for text in drawn(id).axes[0].texts} & {"phase 1", "phase 2"}
        for id in ("figure_2", "figure_6")
    }
    assert named == {"figure_2": {"phase 1", "phase 2"}, "figure_6": set()}
