"""What a plan derives on the host may fail for one run; its records are kept, and no neighbour is harmed."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
import toys

import phasescope as ps
from phasescope.errors import PlanError, RunDiverged
from phasescope.store import Store
from phasescope.verbs import execute as checkpoints

study = dataclasses.replace(toys.study, name="deriving")


def strict(ds):
    """The square root of the loss, for finite losses below 100 only."""
    if not (ds.loss < 100).all():
        raise ValueError("a loss is too large")
    return ds.assign(
        root=np.sqrt(ds.loss).assign_attrs(long_name="root of the loss"),
        small=ds.loss < 1,
        number=ds.loss.dims.index("time"),
    )


def picky(spec):
    """Descent, with a quantity that cannot be derived from a large loss."""
    return dataclasses.replace(toys.quadratic(spec), derive=strict)


def picky_squaring(spec):
    """w <- w^2, with a quantity that cannot be derived from a large loss."""
    return dataclasses.replace(toys.squaring(spec), derive=strict)


def sweep(arm, **fields):
    return ps.sweep(study, arm, store=False, **fields)


# --- sweeps ---------------------------------------------------------------------------------------------------------


def test_a_lane_from_which_nothing_can_be_derived_is_marked():
    with pytest.warns(
        UserWarning,
        match=r"deriving.picky: `derive` failed in 1 of 3 runs.*ValueError: a loss is too",
    ):
        ds = sweep(picky, start=[1.0, 20.0, 2.0])
    assert ds.underived.values.tolist() == [False, True, False]
    assert ds.attrs["underived_because"] == "ValueError: a loss is too large"


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_its_records_are_kept_and_what_is_derived_is_nan():
    lane = sweep(picky, start=[1.0, 20.0, 2.0]).sel(start=20.0)
    np.testing.assert_allclose(lane.loss, 400 * 0.9 ** (2 * lane.time), rtol=1e-12)
    assert np.isnan(lane.root).all()
    assert np.isnan(lane.small).all()


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_its_neighbours_keep_their_digits():
    ill = sweep(picky, start=[1.0, 20.0, 2.0]).sel(start=[1.0, 2.0]).drop_vars("underived")
    well = sweep(picky, start=[1.0, 3.0, 2.0]).sel(start=[1.0, 2.0])
    assert ill.root.values.tobytes() == well.root.values.tobytes()
    assert toys.same_bits(ill.drop_vars("small"), well.drop_vars("small"))
    assert ill.root.attrs == well.root.attrs


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_a_block_from_which_nothing_can_be_derived_does_not_sink_the_sweep():
    ds = sweep(picky, start=[1.0, 2.0, 20.0, 30.0], block=2)
    assert ds.underived.values.tolist() == [False, False, True, True]
    assert np.isnan(ds.root).all("time").values.tolist() == [False, False, True, True]
    assert np.isfinite(ds.loss).all()


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_the_first_block_may_be_the_one_that_fails():
    ds = sweep(picky, start=[20.0, 30.0, 1.0, 2.0], block=2)
    assert np.isnan(ds.root).all("time").values.tolist() == [True, True, False, False]


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_a_sweep_from_which_nothing_can_be_derived_has_its_records():
    ds = sweep(picky, start=[20.0, 30.0])
    assert "root" not in ds
    assert ds.underived.values.all()
    assert np.isfinite(ds.loss).all()


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_runs_of_their_own_are_marked_along_their_axis():
    ds = sweep(picky, width=[1, 300])
    assert ds.underived.values.tolist() == [False, True]
    assert np.isnan(ds.root).all("time").values.tolist() == [False, True]


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_marks_are_kept_along_every_axis():
    ds = sweep(picky, width=[1, 2], start=[1.0, 12.0])
    assert ds.underived.values.tolist() == [[False, False], [False, True]]


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_a_marked_sweep_is_the_same_from_the_store(store):
    fresh = ps.sweep(study, picky, start=[1.0, 20.0])
    found = ps.sweep(study, picky, start=[1.0, 20.0])
    assert toys.same_bits(fresh, found)
    assert found.underived.dtype == bool


@pytest.mark.filterwarnings("ignore:deriving.picky")
def test_a_lane_that_diverged_is_marked_for_both():
    ds = sweep(picky_squaring, start=[0.5, 2.0])
    assert ds.underived.values.tolist() == [False, True]
    np.testing.assert_array_equal(ds.diverged_at, [np.nan, 10.0])


def test_nothing_is_marked_where_all_is_derived():
    assert "underived" not in sweep(picky, start=[1.0, 2.0]).coords


# --- single runs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [None, False])
def test_a_single_run_names_the_failure_and_hands_out_its_records(store, place):
    with pytest.raises(
        PlanError, match=r"deriving.picky: .*`derive` raised ValueError: a loss is too large"
    ) as error:
        ps.run(study, picky, start=20.0, store=place)
    np.testing.assert_allclose(
        error.value.dataset.loss, 400 * 0.9 ** (2 * error.value.dataset.time), rtol=1e-12
    )


def test_a_single_run_that_cannot_be_derived_is_no_finished_run(store):
    with pytest.raises(PlanError):
        ps.run(study, picky, start=20.0)
    assert len(Store(store).entries()) == 0
    assert len(Store(store).unfinished()) == 1


def test_the_next_call_derives_again_without_running_again(store, monkeypatch):
    monkeypatch.setenv("MOOD", "not today")

    def moody(ds):
        """Fails as long as the environment says so."""
        if "MOOD" in os.environ:
            raise OSError(os.environ["MOOD"])
        return ds.assign(root=np.sqrt(ds.loss))

    def arm(spec):
        """Descent, with a quantity whose derivation depends on the day."""
        return dataclasses.replace(toys.quadratic(spec), derive=moody)

    with pytest.raises(PlanError, match="not today"):
        ps.run(study, arm)
    monkeypatch.delenv("MOOD")
    steps = []
    execute = checkpoints.execute
    monkeypatch.setattr(
        checkpoints, "execute", lambda *a: (steps.append(c.work) or c for c in execute(*a))
    )
    ds = ps.run(study, arm)
    assert sum(steps) == 0
    np.testing.assert_allclose(ds.root, 0.9**ds.time, rtol=1e-12)


def test_a_run_that_diverged_says_so_whatever_derive_does(store):
    for _ in range(2):  # executed, then found
        with pytest.raises(RunDiverged, match="step 10") as error:
            ps.run(study, picky_squaring, start=2.0)
        assert "loss" in error.value.dataset
    assert len(Store(store).entries()) == 1
