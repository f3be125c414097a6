"""Maps: a claim's own check at every cell, its zero line, and where its assumptions end."""

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from toys import Spec, loss_falls, quadratic, sampled, study
from typer.testing import CliRunner

import phasescope as ps
from phasescope.analysis.refine import zero_line
from phasescope.cli.app import app
from phasescope.verbs.map_axes import map_axis
from phasescope.verbs.map_rows import mappable

STEPS = 10
BOUND = 0.05
ASSUMED = ps.assume(lane={"small_step": lambda s: 0.3 / s.eta, "start": lambda s: s.start / 0.5})


def loss_at_end(eta, start, width=2):
    """Descent on half the squared length: w = (1 - eta)^t w_0."""
    return 0.5 * width * start**2 * (1 - eta) ** (2 * STEPS)


def toy_claim(check, *evidence, **more):
    evidence = evidence or (ps.runs(quadratic, steps=STEPS),)
    make = ps.claim("Lemma 2", ps.on("training", *evidence), kind="upper", tex="x", **more)
    return make(check)


def loss_is_small(run):
    """The loss at the end is small."""
    return ps.at_most(run.loss.isel(time=-1), ps.stated(BOUND, "Lemma 2"), "loss")


small = toy_claim(loss_is_small, assumes=ASSUMED)


def mapped(claim=small, **fields):
    return ps.map(study, claim, progress=False, **fields)


@pytest.fixture(scope="module")
def grid():
    return mapped(eta=np.linspace(0.05, 0.5, 7), start=np.linspace(0.2, 2.0, 5))


def test_a_map_is_what_the_check_finds_at_each_cell_by_itself(grid):
    for eta in grid.eta.values[::3]:
        for start in grid.start.values[::2]:
            run = ps.run(study, quadratic, steps=STEPS, eta=eta, start=start, store=False)
            study_with_it = ps.Study("toys", Spec(), (quadratic,), (small,), (), paper="x")
            row = next(iter(ps.check(study_with_it, claim="loss_is_small", evidence=run)))
            cell = grid.sel(eta=eta, start=start)
            assert cell.word.item() == row.word.value
            assert cell.margin.item() == pytest.approx(row.margin, rel=1e-12)


def test_its_margin_is_known_from_the_closed_form(grid):
    expected = 1 - loss_at_end(grid.eta, grid.start) / BOUND
    xr.testing.assert_allclose(grid.margin, expected.transpose("eta", "start"))
    assert ((grid.outcome == 1) == (expected >= 0)).all()


def test_all_cells_are_judged_at_once_and_each_is_one_lane(grid):
    assert grid.attrs["judged"] == "all cells at once"
    assert grid.attrs["lanes"] == grid.margin.size == 35


def test_coordinates_and_variables_say_what_they_are(grid):
    assert grid.eta.attrs["symbol"] == r"\eta"
    assert grid.outcome.attrs["flag_meanings"] == "fails undecided holds"
    assert grid.attrs["claim"] == "loss_is_small"
    assert grid.attrs["request"] == "quadratic steps=10"
    assert "versions" in json.loads(grid.attrs["provenance"])


def test_an_assumption_is_a_ratio_that_is_one_on_its_boundary(grid):
    xr.testing.assert_allclose(grid.assumption_small_step.isel(start=0, drop=True), 0.3 / grid.eta)
    assert (grid.assumption_start == grid.start / 0.5).all()


def test_where_it_fails_with_an_assumption_broken_it_does_not_speak(grid):
    broken = (grid.assumption_small_step < 1) | (grid.assumption_start < 1)
    fails = grid.outcome == -1
    assert set(grid.word.values[fails & broken]) <= {"outside"}
    assert set(grid.word.values[fails & ~broken]) == {"false"}
    assert set(grid.word.values[grid.outcome == 1]) == {"holds"}


def test_whole_numbers_are_programs_of_their_own():
    found = mapped(width=[1, 4], eta=[0.05, 0.1, 0.2])
    expected = 1 - loss_at_end(found.eta, 1.0, found.width) / BOUND
    np.testing.assert_allclose(found.margin, expected.transpose("width", "eta"))
    assert found.width.dtype.kind == "i"


def test_cells_that_are_programs_of_their_own_are_nobodys_fault(recwarn):
    found = mapped(width=[1, 2, 4])
    assert not [w for w in recwarn if "one cell after the other" in str(w.message)]
    assert found.attrs["why_judged_so"] == "each is a program of its own"
    np.testing.assert_allclose(found.margin, 1 - loss_at_end(0.1, 1.0, found.width) / BOUND)


def test_other_numbers_are_changed_at_all_cells():
    found = mapped(eta=[0.1, 0.2], start=2.0)
    np.testing.assert_allclose(found.margin, 1 - loss_at_end(found.eta, 2.0) / BOUND)
    assert json.loads(found.attrs["changes"]) == {"start": 2.0}


def test_a_check_that_was_written_for_one_run_decides_one_cell_after_the_other():
    def by_if(run):
        """The loss at the end is small."""
        return ps.at_most(float(run.loss[-1]), BOUND)

    with pytest.warns(UserWarning, match=r'"by_if" is checked one cell after the other.*: on all'):
        found = mapped(toy_claim(by_if), eta=[0.05, 0.1, 0.2])
    assert found.attrs["judged"] == "one cell after the other"
    assert "ends in TypeError" in found.attrs["why_judged_so"]
    np.testing.assert_allclose(found.margin, 1 - loss_at_end(found.eta, 1.0) / BOUND)


def test_a_check_that_looks_across_lanes_is_found_out():
    def by_the_largest(run):
        """The loss at the end is small against the largest."""
        return ps.at_most(run.loss.isel(time=-1) / run.loss.max(), BOUND)

    with pytest.warns(UserWarning, match="by itself cell 0 has another verdict than among all"):
        found = mapped(toy_claim(by_the_largest), start=[1.0, 2.0, 3.0])
    assert found.attrs["judged"] == "one cell after the other"
    assert np.ptp(found.margin.values) == pytest.approx(0, abs=1e-12)


def test_a_check_that_looks_across_lanes_in_one_cell_alone_is_found_out_among_half_of_them():
    def with_a_strange_median(run):
        """The loss at the end is small, but for the cell in the middle, which has the mean of all."""
        end = run.loss.isel(time=-1)
        return ps.at_most(end.where(end != end.median(), end.mean()), bound)

    starts = np.arange(1.0, 8.0)
    bound = 1.01 * float(loss_at_end(0.1, starts[0]))  # the first cell is the nearest to turning
    with pytest.warns(UserWarning, match="among half of the cells some have another verdict"):
        found = mapped(toy_claim(with_a_strange_median), start=starts)
    np.testing.assert_allclose(found.margin, 1 - loss_at_end(0.1, found.start) / bound)


def test_what_is_no_fault_of_a_checks_form_is_not_taken_for_one():
    def without_its_file(run):
        """It reads a file."""
        raise OSError("the table is not there")

    with pytest.raises(OSError, match="the table is not there"):
        mapped(toy_claim(without_its_file), eta=[0.1, 0.2])


def test_why_cells_were_judged_together_needs_no_words(grid):
    assert grid.attrs["why_judged_so"] == ""


def test_a_check_that_reads_the_spec_of_the_run_reads_that_of_the_cell():
    def by_spec(run):
        """The step is small."""
        return ps.at_most(run.loss.isel(time=0) * 0 + Spec.of(run).eta, 0.15)

    with pytest.warns(UserWarning, match="one cell after the other"):
        found = mapped(toy_claim(by_spec), eta=[0.1, 0.2])
    assert found.outcome.values.tolist() == [1, -1]


def test_the_evidence_may_be_several_runs_and_a_sweep_of_its_own():
    def shrinks(run, sweep):
        """The loss shrinks, also from other starts."""
        return ps.at_most(run.loss.isel(time=-1), BOUND) & ps.at_most(
            sweep.loss.isel(time=-1), BOUND
        )

    other = ps.sweeps(quadratic, start=[0.5, 3.0], steps=STEPS)
    claim = toy_claim(shrinks, ps.runs(quadratic, steps=STEPS), other, varies=("eta",))
    found = mapped(claim, eta=[0.1, 0.2])
    assert found.attrs["lanes"] == 2 + 4
    np.testing.assert_allclose(found.margin, 1 - loss_at_end(found.eta, 3.0) / BOUND)


def test_cells_of_several_seeds_are_judged_by_the_worst():
    def stays(run):
        """It stays near."""
        return ps.at_most(run.loss.isel(time=-1), 2.0)

    found = mapped(toy_claim(stays, ps.sweeps(sampled, seeds=3)), eta=[0.1, 0.2])
    sweep = ps.sweep(study, sampled, seeds=3, eta=[0.1, 0.2], store=False)
    worst = sweep.loss.isel(time=-1).max("seed")
    np.testing.assert_allclose(found.margin, 1 - worst / 2.0)


def test_a_line_beside_which_the_check_cannot_be_carried_out_leaves_the_map():
    def breaks_near_its_bound(run):
        """The loss at the end is small, and not near the bound."""
        end = float(run.loss[-1])
        if BOUND / 2 < end < 2 * BOUND:
            raise ValueError("too near to tell")
        return ps.at_most(end, BOUND)

    with pytest.warns(UserWarning, match="one cell after the other"):
        found = mapped(toy_claim(breaks_near_its_bound), refine=3, eta=[0.05, 0.5])
    assert found.outcome.values.tolist() == [-1, 1]
    assert found.sizes["crossing"] == 0


@pytest.fixture(scope="module")
def refined():
    return mapped(refine=5, eta="0.02:0.5", start="0.2:2")


def test_where_an_assumption_ends_is_drawn_into_a_map_of_a_quantity(grid):
    axes = Figure().subplots()
    ends = {"small step": grid.assumption_small_step, "never": grid.assumption_start * 0 + 2}
    ps.draw_map(grid.margin, axes, ends=ends)
    labels = [line.get_label() for line in axes.lines]
    assert labels == ["small step ends"]
    (line,) = [one for one in axes.collections if getattr(one, "levels", None) is not None]
    places = np.concatenate([path.vertices for path in line.get_paths() if len(path.vertices)])
    # between two values of eta, on straight lines of the logarithm of the ratio
    assert np.abs(places[:, 0] - 0.3).max() < 0.5 / 6 / 4


def test_where_an_assumption_ends_is_drawn_beside_a_cell_of_which_it_says_nothing(grid):
    axes = Figure().subplots()
    unknown = grid.assumption_small_step.where((grid.eta > 0.06) | (grid.start > 0.3))
    assert unknown.isnull().sum() == 1
    ps.draw_map(grid.assign(assumption_small_step=unknown), axes)
    assert "small step ends" in [line.get_label() for line in axes.lines]
    ps.draw_map(grid.assign(assumption_small_step=unknown * np.nan), Figure().subplots())


class TestTheZeroLine:
    def test_it_is_located_to_a_thousandth_of_an_axis(self, refined):
        eta, start = refined.zero_line.values.T
        assert refined.zero_line_width.max() <= 1e-3
        exact = np.sqrt(BOUND) / (1 - eta) ** STEPS
        along_start = np.abs(start - exact) / (2 - 0.2)
        exact = 1 - (np.sqrt(BOUND) / start) ** (1 / STEPS)
        along_eta = np.abs(eta - exact) / (0.5 - 0.02)
        assert np.minimum(along_start, along_eta).max() <= 1e-3

    def test_it_takes_less_than_a_thousandth_of_the_lanes_of_the_full_grid(self, refined):
        assert refined.attrs["lanes"] == 25 * 25 + 5 * refined.sizes["crossing"]
        assert refined.attrs["lanes"] <= 0.001 * 1000 * 1000

    def test_its_segments_join_it_to_one_line(self, refined):
        ends = refined.zero_line_segments.values
        count = np.bincount(ends.ravel(), minlength=refined.sizes["crossing"])
        assert sorted(set(count.tolist())) == [1, 2]
        assert (count == 1).sum() == 2

    def test_it_may_be_one_point(self):
        found = mapped(refine=8, eta="0.02:0.5:9")
        exact = 1 - BOUND ** (1 / (2 * STEPS))
        assert found.zero_line.values == pytest.approx(np.array([[exact]]), abs=0.48 / 8 / 2**8)

    def test_a_whole_number_is_not_halved(self):
        found = mapped(refine=3, width=[1, 2, 8, 9], eta=[0.05, 0.1, 0.15])
        assert found.zero_line.dims == ("crossing", "axis")
        assert found.attrs["lanes"] > 12

    def test_there_may_be_none(self):
        found = mapped(refine=3, eta="0.3:0.5:3", start="0.2:0.3:3")
        assert found.sizes["crossing"] == 0
        assert found.attrs["lanes"] == 9


def test_edges_whose_middle_is_unknown_are_left_out():
    side = np.array([1, 1, -1])
    line = zero_line([np.arange(3.0)], side, lambda points: np.zeros(len(points)), 3)
    assert line.points.shape == (0, 1)
    assert line.evaluated == 1


def test_a_logarithmic_axis_is_halved_at_geometric_means():
    seen = []

    def ask(points):
        seen.extend(points[:, 0].tolist())
        return np.where(points[:, 0] < 3, 1, -1)

    line = zero_line([np.array([1.0, 100.0])], np.array([1, -1]), ask, 2, log=[True])
    assert seen == pytest.approx([10.0, 10**0.5])
    assert line.points[0, 0] == pytest.approx(10**0.25)


class TestAxes:
    def test_a_range_has_256_points_unless_it_says_otherwise(self):
        assert map_axis(Spec(), "eta", "0.1:1").values.size == 256
        assert map_axis(Spec(), "eta", "0.1:1:log").log
        assert map_axis(Spec(), "eta", "0.1:1:5:log").values.size == 5

    def test_whole_numbers_have_at_least_8_where_there_are_so_many(self):
        assert map_axis(Spec(), "width", "1:100").values.size == 8
        assert map_axis(Spec(), "width", "1:4").values.tolist() == [1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ("0.1", "not a range"),
            ("0:1:5:log", "above 0"),
            ("a:b", "not a range"),
            ([0.2, 0.1], "rising"),
            ([0.1], "two or more"),
            (["x", "y"], "varies numbers"),
        ],
    )
    def test_what_is_no_axis_is_one_clear_line(self, given, says):
        with pytest.raises(ps.SpecError, match=says) as caught:
            map_axis(Spec(), "eta", given)
        assert "\n" not in str(caught.value)


def test_cells_are_held_in_memory_by_the_bytes_that_they_record(monkeypatch):
    whole = mapped(eta=np.linspace(0.05, 0.5, 9))
    monkeypatch.setattr("phasescope.verbs.map_cells.MEMORY", 1)
    parts = mapped(eta=np.linspace(0.05, 0.5, 9))
    np.testing.assert_allclose(parts.margin, whole.margin, rtol=1e-13)
    assert parts.attrs["lanes"] == whole.attrs["lanes"] == 9


def test_fewer_records_may_be_asked_for():
    def at_every_record(run):
        """The loss is small at every record."""
        return ps.at_most(run.loss, BOUND)

    found = mapped(toy_claim(at_every_record), eta=[0.1, 0.3], at=[STEPS])
    np.testing.assert_allclose(found.margin, 1 - loss_at_end(found.eta, 1.0) / BOUND)


class TestErrors:
    def test_a_table_has_no_map(self):
        table = ps.tables(lambda: xr.Dataset({"loss": ("time", [1.0])}))
        with pytest.raises(ps.PlanError, match="table of theory"):
            mapped(toy_claim(loss_is_small, table), eta=[0.1, 0.2])

    def test_recorded_evidence_has_no_map(self, tmp_path):
        kept = ps.recorded(ps.runs(quadratic), tmp_path / "x.zip")
        with pytest.raises(ps.PlanError, match="it is recorded"):
            mapped(toy_claim(loss_is_small, kept), eta=[0.1, 0.2])

    def test_a_map_has_an_axis(self):
        with pytest.raises(ps.SpecError, match="one or more axes"):
            mapped(start=1.0)

    def test_a_field_that_the_arm_does_not_read_is_refused(self):
        with pytest.raises(ps.SpecError, match='no field "lam"'):
            mapped(lam=[1.0, 2.0])

    def test_a_number_by_which_the_evidence_differs_cannot_be_varied(self):
        def both(*runs):
            """Both."""
            return ps.all_of(ps.at_most(run.loss.isel(time=-1), BOUND) for run in runs)

        claim = toy_claim(both, *(ps.runs(quadratic, steps=STEPS, eta=e) for e in (0.1, 0.2)))
        assert "eta" not in mappable(study, claim)
        with pytest.raises(ps.SpecError, match=r"cannot vary eta.*It can vary: .*start"):
            mapped(claim, eta=[0.1, 0.2])

    def test_a_number_that_the_claim_does_not_name_cannot_be_varied(self):
        with pytest.raises(ps.SpecError, match="It can vary: start"):
            mapped(toy_claim(loss_is_small, varies=("start",)), eta=[0.1, 0.2])

    def test_an_unknown_regime_is_named(self):
        with pytest.raises(ps.SpecError, match="no regime"):
            mapped(regime="theorie", eta=[0.1, 0.2])

    def test_a_row_that_is_not_there_is_named(self):
        with pytest.raises(ps.PlanError, match="no row in the regime published"):
            mapped(regime="published", eta=[0.1, 0.2])

    def test_a_check_that_fails_everywhere_is_an_error_with_its_reason(self):
        def broken(run):
            """It cannot be carried out."""
            raise KeyError("weights")

        with (
            pytest.warns(UserWarning, match="ends in KeyError"),
            pytest.raises(ps.PlanError, match="at no cell: KeyError: 'weights'"),
        ):
            mapped(toy_claim(broken), eta=[0.1, 0.2])

    def test_levels_are_a_whole_number(self):
        with pytest.raises(ps.SpecError, match="0 or more"):
            mapped(refine=-1, eta=[0.1, 0.2])


class TestDrawing:
    def drawn(self, values, **more):
        axes = Figure().subplots()
        ps.draw_map(values, axes, **more)
        return axes

    def test_margin_zero_line_and_assumptions_are_drawn(self, grid):
        axes = self.drawn(grid)
        legend = [text.get_text() for text in axes.get_legend().get_texts()]
        assert legend == ["margin 0", "small step ends", "start ends"]
        assert axes.get_xlabel() == r"$\eta$"

    def test_a_refined_line_is_drawn_as_it_was_found(self):
        found = mapped(refine=2, eta="0.02:0.5:5", start="0.2:2:5")
        lines = [c for c in self.drawn(found).collections if hasattr(c, "get_segments")]
        assert sum(len(c.get_segments()) for c in lines) >= found.sizes["segment"] > 0

    def test_a_logarithmic_axis_is_drawn_so(self):
        found = mapped(eta="0.01:0.5:6:log", start="0.2:2:4")
        axes = self.drawn(found)
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")

    def test_one_axis_is_a_curve(self):
        assert len(self.drawn(mapped(eta=[0.05, 0.1, 0.2])).lines) == 2

    def test_any_quantity_over_two_numbers_can_be_drawn(self, grid):
        loss = loss_at_end(grid.eta, grid.start).transpose("eta", "start").rename("loss")
        assert self.drawn(loss, levels=[BOUND]).get_ylabel() == grid.start.attrs["long_name"]

    def test_more_than_two_axes_are_refused(self, grid):
        with pytest.raises(ValueError, match="one or two"):
            self.drawn(grid.margin.expand_dims("seed"))


def test_a_figure_may_ask_for_a_map(tmp_path):
    @ps.figure("Lemma 2", ps.maps(small, eta="0.05:0.5:5", start="0.2:2:4"))
    def where_it_ends(found, axes):
        """Where it ends."""
        ps.draw_map(found, axes)

    own = ps.Study("toys", Spec(), (quadratic,), (loss_falls, small), (where_it_ends,), paper="x")
    (file,) = ps.draw(own, out=tmp_path, store=tmp_path / "store", progress=False)
    assert file.stat().st_size > 1000


def run_cli(*words):
    return CliRunner().invoke(app, ["map", *words])


@pytest.mark.filterwarnings("ignore:claim .* is checked one cell after the other")
class TestCommand:
    STUDY = "linear_modes"
    CLAIM = "stronger_modes_are_learnt_first"

    def test_it_draws_and_counts(self, tmp_path):
        out = str(tmp_path)
        words = ("epsilon=1e-4:2:6:log", "--out", out, "--json", "--data", f"{out}/m.nc")
        done = run_cli(self.STUDY, self.CLAIM, *words)
        assert done.exit_code == 0, done.output
        said = json.loads(done.stdout)
        assert said["words"] == {"holds": 5, "undecided": 1}
        assert (tmp_path / f"{self.STUDY}-map-{self.CLAIM}.png").exists()
        with xr.open_dataset(tmp_path / "m.nc") as kept:
            assert kept.word.values.tolist()[-1] == "undecided"

    def test_it_says_what_it_would_run(self):
        done = run_cli(self.STUDY, self.CLAIM, "epsilon=1e-4:1:log", "--dry-run", "--json")
        assert json.loads(done.stdout)["lanes"] == 256

    def test_it_says_in_words_what_it_would_run(self):
        done = run_cli(self.STUDY, self.CLAIM, "epsilon=1e-4:1:16:log", "--dry-run")
        assert done.output.endswith(": 16 runs in 1 block before refinement\n")

    def test_more_than_two_axes_are_refused_before_anything_runs(self, monkeypatch):
        words = ("regular_language", "lemB.2-first-update")
        axes = ("lam=1:10:2", "eta=0.1:1:2", "max_length=4,6")
        monkeypatch.setattr("phasescope.verbs.map.map", None)  # whoever runs would fail
        done = run_cli(*words, *axes)
        assert done.exit_code
        assert "over 3 axes (lam, eta, max_length) has no drawing" in str(done.exception)
        assert "--data FILE.nc" in str(done.exception)

    def test_more_than_two_axes_are_written_where_their_numbers_are_asked_for(self, tmp_path):
        words = ("regular_language", "lemB.2-first-update", "--data", str(tmp_path / "m.nc"))
        axes = ("lam=1:10:2", "eta=0.1:1:2", "max_length=4,6")
        done = run_cli(*words, *axes, "--out", str(tmp_path), "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["files"] == [str(tmp_path / "m.nc")]
        with xr.open_dataset(tmp_path / "m.nc") as kept:
            assert dict(kept.margin.sizes) == {"lam": 2, "eta": 2, "max_length": 2}

    def test_it_says_in_words_what_it_found(self, tmp_path):
        done = run_cli(self.STUDY, self.CLAIM, "epsilon=1e-3,1e-2", "--out", str(tmp_path))
        assert "2 epsilon: 2 holds (2 runs" in done.output

    def test_claims_are_listed_with_what_a_map_may_vary(self):
        done = CliRunner().invoke(app, ["list", self.STUDY, "--claims", "--json"])
        (entry,) = json.loads(done.stdout)["studies"].values()
        over = {claim["id"]: claim["maps_over"] for claim in entry["claims"]}
        assert over[self.CLAIM] == ["modes", "epsilon"]
        assert "epsilon" not in over["waiting_time_is_logarithmic"]
