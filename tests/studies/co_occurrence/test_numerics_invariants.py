import jax
import numpy as np
import pytest

import phasescope as ps
from phasescope.studies.co_occurrence import descent, grams, invariants, model
from phasescope.studies.co_occurrence.forces import forces

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
    state = grams.from_start(model.Start(weights, a))
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
