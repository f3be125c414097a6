"""The contract of a study, and a counter-example for every claim.

`phasescope.testing.ClaimContract` tries many more on every claim: zeros, constants, noise, the first
and last record only.
"""

from my_study import study
from my_study.claims import (
    a_plateau_and_then_a_fast_rise,
    escape_time_is_logarithmic,
    flow_follows_the_closed_form,
    noise_leaves_the_saddle_earlier,
)
from my_study.theory import closed_form
from my_study.training import descent, sgd

from phasescope import Outcome, run, sweep
from phasescope.testing import check_study, constant_like, noise_like


def test_the_study_keeps_the_contract():
    check_study(study)


def test_noise_does_not_follow_the_closed_form():
    truth = run(study, closed_form, store=False)
    assert flow_follows_the_closed_form(noise_like(truth), truth).outcome is Outcome.FAILS


def test_a_weight_that_never_moves_has_no_escape_time():
    runs = sweep(study, closed_form, start=[1e-2, 1e-3, 1e-4, 1e-5], store=False)
    assert escape_time_is_logarithmic(constant_like(runs, 0.1)).outcome is not Outcome.HOLDS


def test_without_noise_the_saddle_is_not_left_earlier():
    runs = sweep(study, sgd, noise=0.0, seeds=64, store=False)
    assert noise_leaves_the_saddle_earlier(runs).outcome is Outcome.FAILS


def test_a_steady_rise_has_no_plateau():
    trained = run(study, descent, preset="figure_1", store=False)
    steady = trained.assign(overlap=trained.time / trained.time[-1])
    assert a_plateau_and_then_a_fast_rise(steady).outcome is Outcome.FAILS
