"""The arms as they are run: each against the one below it, sweeps against single runs, and late times."""

from functools import cache

import jax.random as jr
import numpy as np

import phasescope as ps
from phasescope.engine.programs import advance_stage_jit
from phasescope.studies.co_occurrence import training
from phasescope.studies.co_occurrence.data import training_set
from phasescope.studies.co_occurrence.reductions import gram_matrices
from phasescope.studies.co_occurrence.spec import presets

QUIET = {"store": False, "progress": False}
TINY = {"preset": "tiny", **QUIET}
LATE = (0.1, 1.0, 10.0, 1e3, 1e5, 1e8)


@cache
def run(arm, **changes):
    """A run at the smallest size; equal ones are made once."""
    return ps.run("co_occurrence", arm, **TINY | changes)


def gap(one, other, names):
    return {name: float(abs(one[name] - other[name]).max()) for name in names}


def test_three_coordinates_of_the_flow_agree():
    flow, families, gram = (run(arm) for arm in ("weight_flow", "six_families", "gram"))
    shared = [name for name in gram.data_vars if name in families]
    assert (
        max(gap(families, gram, set(shared) - {"R", "R_g", "balance", "value_share"}).values())
        < 1e-8
    )
    assert max(gap(flow, gram, ("F", "G", "S", "A", "beta", "test_F", "p_dev")).values()) < 1e-8
    assert gap(flow, families, ("N_change",))["N_change"] < 1e-8


def test_two_coordinates_of_descent_agree():
    weights, gram = run("weights", words="shared"), run("gram_descent", words="shared")
    assert (
        max(
            gap(
                weights, gram, ("F", "G", "S", "A", "Q", "K", "beta", "test_F", "loss_type")
            ).values()
        )
        < 1e-12
    )


def test_the_gram_flow_is_what_scipy_finds(scipy_flow):
    spec = presets["tiny"]
    of_weights, of_words = jr.split(jr.fold_in(jr.key(0, impl="threefry2x32"), 0))
    state, batch = gram_matrices.random_start(spec, of_weights), training_set(spec, of_words)
    end = spec.kappa * spec.horizon
    there = scipy_flow(
        lambda g: gram_matrices.velocity(g, batch, spec), state, spec.kappa, [end / 2, end]
    )
    here = run("gram", at=(spec.horizon / 2, spec.horizon))
    for i, expected in enumerate(there):
        np.testing.assert_allclose(here.G.isel(time=i), expected.G[: spec.dim], atol=1e-8)
        np.testing.assert_allclose(here.S.isel(time=i), expected.S[:3, :3], atol=1e-10)


def test_descent_with_small_steps_is_the_flow():
    coarse, fine = (run("gram_descent", eta=eta, steps=round(0.4 / eta)) for eta in (2e-4, 1e-4))
    exact = run("gram", horizon=0.4, at=(0.4,))
    first, second = (abs(x.G.isel(time=-1) - exact.G.isel(time=-1)).max() for x in (coarse, fine))
    np.testing.assert_allclose(first / second, 2, rtol=0.01)


def test_time_is_eta_times_step_and_the_natural_clock_counts_kappa_times_that():
    spec, plain = presets["tiny"], run("weights", words="shared")
    natural = training.weights(spec.replace(clock="natural")).stages[0]
    np.testing.assert_allclose(plain.time[-1], spec.eta * spec.steps)
    np.testing.assert_allclose(plain.tau[-1], spec.kappa * spec.eta * spec.steps)
    np.testing.assert_allclose(plain.s, np.log1p(plain.tau))
    np.testing.assert_allclose(natural.unit * spec.steps, plain.tau[-1])


def test_frozen_attention_keeps_every_score():
    frozen = run("gram", attention=0.0)
    assert float(frozen.S_change.max()) == 0
    assert float(frozen.p_dev.max()) < 1e-16
    assert float(frozen.loss[-1]) < float(frozen.loss[0])


def test_widths_seeds_and_the_attention_are_lanes_whatever_their_neighbours():
    # With the horizon given by the natural clock the record times do not depend on the width.
    numbers = {"clock": "natural", "at": (0.1, 1.0, 5.0)}
    names = ("loss", "G", "S", "beta", "C_random")

    def lane(width, attention):
        swept = ps.sweep(
            "co_occurrence", "gram", seeds=2, width=width, attention=attention, **TINY, **numbers
        )
        return swept.sel(width=16, attention=1.0, seed=1)

    found = lane([10, 16], [0.0, 1.0])
    other_neighbours = lane([16, 12], [1.0, 0.5])
    assert max(gap(found, other_neighbours, names).values()) == 0
    # A run alone is another program, of width one: the flow's own error is 1e-10.
    alone = run("gram", width=16, attention=1.0, seed=1, **numbers)
    assert max(gap(found, alone, names).values()) < 1e-11


def test_other_sizes_compile_nothing():
    sizes = (
        {"samples": 60, "length": 5},
        {"samples": 10**7, "length": 20, "width": 10**6, "neurons": 17, "dim": 10**9},
    )
    ps.run("co_occurrence", "orthogonal", preset="orthogonal", at=LATE, **QUIET)
    before = advance_stage_jit._cached._cache_size()  # type: ignore[attr-defined]
    for changes in sizes:
        ps.run("co_occurrence", "orthogonal", preset="orthogonal", at=LATE, **changes, **QUIET)
    assert advance_stage_jit._cached._cache_size() == before  # type: ignore[attr-defined]


def test_many_lazy_samples_end_at_three_halves_and_seventeen():
    lazy = {
        "samples": 10**7,
        "width": 10**7,
        "neurons": 64,
        "output": 1.0,
        "sigma_0": 0.1 / (5e7) ** 0.5,
        "sigma_1": 1 / 8,
    }
    end = ps.run("co_occurrence", "orthogonal", preset="orthogonal", at=LATE, **lazy, **QUIET).isel(
        time=-1
    )
    np.testing.assert_allclose(end.R, 1.50006, atol=1e-4)
    np.testing.assert_allclose(end.loss * 1e8, 17, rtol=1e-4)


def test_the_end_of_a_run_holds_all_words():
    end = run("gram")
    spec = presets["tiny"]
    assert end.S_all.shape == (1, spec.dim + spec.length - 1, spec.dim + spec.length - 1)
    np.testing.assert_array_equal(end.S_all[0, :3, :3], end.S.isel(time=-1))
    np.testing.assert_array_equal(end.C_all[0, :3, :3], end.C.isel(time=-1))


def test_a_lane_of_descent_equals_the_run_by_itself():
    sweep = ps.sweep("co_occurrence", "weights", seeds=3, words="shared", **TINY)
    alone = run("weights", words="shared", seed=2)
    assert max(gap(sweep.sel(seed=2), alone, ("loss", "G", "S", "beta")).values()) < 1e-14
