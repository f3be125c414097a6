import jax
import numpy as np
import pytest

import phasescope as ps
from phasescope.errors import PlanError
from phasescope.studies.co_occurrence import model, study
from phasescope.studies.co_occurrence.model import descent, invariants
from phasescope.studies.co_occurrence.model.forces import forces
from phasescope.studies.co_occurrence.reductions import gram_matrices

QUIET = {"store": False, "progress": False}


@pytest.fixture
def setting(repeated, begin):
    start, batch = begin(repeated)
    return repeated, start, batch


def test_flow_changes_none_of_the_three(setting):
    spec, (weights, a), batch = setting
    rate = descent.velocity(weights, a, batch, spec)
    change = jax.jvp(lambda w: invariants.invariants(w, a), (weights,), (rate,))[1]
    for matrix in change:
        np.testing.assert_allclose(matrix, 0.0, atol=1e-15)


def test_a_step_of_descent_changes_them_by_the_formula_and_the_last_not_at_all(setting):
    spec, (weights, a), batch = setting
    slope, eta = jax.grad(model.loss)(weights, a, batch), 0.7
    after = jax.tree.map(lambda x, g: x - eta * g, weights, slope)
    state = gram_matrices.from_start(model.Start(weights, a))
    c, M = forces(state.G, state.S, batch, spec.width)[:2]
    formula = invariants.violation(weights, a, c, M, eta)
    here, there = invariants.invariants(weights, a), invariants.invariants(after, a)
    for before, now, expected in zip(here, there, formula, strict=True):
        np.testing.assert_allclose(now - before, expected, atol=2e-15)
    assert np.abs(formula.attention).max() > 1e-6
    assert np.abs(formula.value).max() > 1e-4


def test_the_weights_of_a_flow_conserve_them():
    run = ps.run("co_occurrence", "weight_flow", preset="tiny", **QUIET)
    assert float(run.drift.max()) < 1e-9
    assert float(run.casimir.std("time").max()) < 1e-9


def test_the_records_of_descent_hold_what_a_step_violates():
    run = ps.run("co_occurrence", "weights", preset="tiny", **QUIET)
    assert float(run.violation_error.max()) < 1e-14
    assert (run.violation.isel(invariant=[0, 1]) > 0).all()
    assert float(run.drift.isel(invariant=2).max()) < 1e-14
    assert float(run.drift.isel(time=-1, invariant=1)) > 1e-4


CONSERVING = ("weight_flow", "six_families", "gram", "orthogonal", "population")


@pytest.fixture(scope="module")
def alike():
    """Runs of all arms from one orthogonal start, asked for the same times."""
    numbers = {"width": 48, "at": [0.0, 0.3, 0.6], **QUIET}
    start = {"init": "orthogonal", "words": "distinct"}
    runs = {}
    for arm in (*CONSERVING, "weights", "gram_descent"):
        given = (
            numbers if arm in ("orthogonal", "population") else numbers | start
        )  # theirs by definition
        runs[arm] = ps.run("co_occurrence", arm, preset="tiny", **given)
    return runs


def test_the_casimirs_at_an_orthogonal_start_are_known_sums_over_the_vocabulary(alike):
    tiny = study.presets["tiny"]
    here, beta = 48 * tiny.sigma_0**2, 48 * tiny.sigma_1**2
    known = [24 * here - beta, 24 * here**2 + beta**2, 0.0, 2 * 24 * here**2]
    for arm, run in alike.items():
        np.testing.assert_allclose(
            run.casimir.sel(time=0.0), known, rtol=1e-12, atol=1e-14, err_msg=arm
        )


@pytest.mark.parametrize("arm", CONSERVING)
def test_every_flow_conserves_the_same_casimirs(alike, arm):
    np.testing.assert_allclose(alike[arm].casimir, alike["gram"].casimir, rtol=1e-9, atol=1e-12)


def test_arms_asked_for_the_same_times_have_the_same_coordinates(alike):
    for arm, run in alike.items():
        assert run.time.values.tolist() == [0.0, 0.3, 0.6], arm


def test_a_gaussian_start_has_the_casimirs_of_its_vocabulary_in_every_arm_that_knows_its_weights():
    runs = [
        ps.run("co_occurrence", arm, preset="tiny", at=[0.0], **QUIET)
        for arm in ("weights", "gram", "gram_descent")
    ]
    for run in runs:
        np.testing.assert_allclose(run.casimir, runs[0].casimir, rtol=1e-10)


def test_a_sweep_that_moves_the_clock_names_the_clock_that_stays():
    with pytest.raises(
        PlanError, match=r'record times depend on `sigma_0`.*With clock="natural" they do not'
    ):
        ps.sweep("co_occurrence", "gram", preset="tiny", sigma_0=[0.1, 0.2], **QUIET)
