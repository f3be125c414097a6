"""The certificate behind "nothing is learned by T": a bound on the margin, held against descent on many settings.

Accuracies come from an independent implementation of the full model over all strings (N = 6, eta = 1/6).
"""

import numpy as np
import pytest

from phasescope.studies.regular_language import closed_forms, data
from phasescope.studies.regular_language.margin import max_margin_of_scores
from phasescope.studies.regular_language.reductions import symmetry

SETTINGS = [
    # N, c_lam, c_0, c_T
    (4, 1.0, 1.0, 1.0),
    (4, 1.0, 3.0, 10.0),
    (4, 100.0, 1.0, 1.0),
    (6, 1.0, 1.0, 1.0),
    (6, 1.0, 6.0, 1.0),
    (6, 10.0, 1.0, 10.0),
    (6, 1000.0, 3.0, 1.0),
    (8, 1.0, 1.0, 1.0),
    (8, 3.0, 8.0, 3.0),
    (12, 1.0, 1.0, 1.0),
    (16, 1.0, 2.0, 1.0),
]


def to_T(train, pivots, c_lam, c_0, c_T, per_unit=32):
    """The states at t_0 and at T, and the numbers; `per_unit` steps are 1 / (eta N)."""
    N = len(pivots)
    lam = c_lam * N**2
    eta = 1 / (per_unit * N)
    switch = round(c_0 * per_unit)
    last = int(c_T * (lam / 2) ** (2 / 3) * per_unit)
    numbers = {"lam": lam, "eta": eta, "switch": switch}
    at_switch = train(pivots, switch, **numbers)
    return at_switch, train(pivots, max(last, switch), **numbers), numbers | {"last": last}


def margin_norm(state, pivots, lam):
    """|u*| at the attention of a state, with as many digits as it takes."""
    others = np.asarray(state.M)
    scores = np.stack([np.asarray(state.p), np.asarray(state.q)])
    found = max_margin_of_scores(scores, others, pivots, lam)
    assert found.reliable
    return found.norm


def accuracy(state, pivots, lam):
    outputs = symmetry.outputs(state, pivots, lam)
    return float(np.mean(symmetry.accuracy_by_length(outputs, pivots)))


@pytest.mark.parametrize(("N", "c_lam", "c_0", "c_T"), SETTINGS)
def test_no_read_out_reached_by_T_has_a_larger_margin_than_the_certificate(
    N, c_lam, c_0, c_T, train
):
    pivots = data.even_pairs_pivots(N)
    start, end, numbers = to_T(train, pivots, c_lam, c_0, c_T)
    norm = margin_norm(start, pivots, numbers["lam"])
    reached = float(symmetry.u_norm(end))
    assert norm >= 128 * numbers["lam"] * N**4 / c_0**2
    assert reached <= numbers["eta"] * N * max(numbers["last"], numbers["switch"])
    assert reached / norm <= closed_forms.margin_certificate(N, numbers["lam"], c_0, c_T)


@pytest.mark.parametrize("base", [3, 4, 5])
def test_parity_has_its_certificate_from_the_strings_up_to_its_base_length(base, train):
    pivots = data.parity_pivots(base)
    start, end, numbers = to_T(train, pivots, 1.0, 1.0, 1.0)
    norm = margin_norm(start, pivots, numbers["lam"])
    bound = closed_forms.parity_certificate(base, numbers["lam"])
    assert float(symmetry.u_norm(end)) / norm <= bound


def test_the_certificate_is_a_millionth_at_unit_constants_and_six_tokens():
    assert closed_forms.margin_certificate(6, 36.0) == pytest.approx(1.15e-6, rel=1e-2)


@pytest.mark.parametrize(
    ("c_lam", "c_0", "c_T", "expected"),
    [
        (1, 1, 1, 0.583),
        (1, 100, 1, 0.583),
        (1, 100, 100, 0.667),
        (1, 300, 1, 0.833),
        (1, 1000, 1, 1.0),
        (10, 100, 100, 0.833),
        (100, 1, 100, 0.833),
        (10, 1000, 1, 0.917),
    ],
)
def test_accuracy_at_T_over_the_free_constants_is_that_of_an_independent_code(
    c_lam, c_0, c_T, expected, train, even_pairs
):
    _, end, numbers = to_T(train, even_pairs, c_lam, c_0, c_T, per_unit=1)
    found = accuracy(end, even_pairs, numbers["lam"])
    assert found == pytest.approx(expected, abs=5e-4)
    if expected == 1.0:
        certificate = closed_forms.margin_certificate(6, numbers["lam"], c_0, c_T)
        assert certificate > 0.1  # all strings are right only where the certificate allows a margin


@pytest.mark.parametrize(("N", "c_lam", "c_0", "c_T"), SETTINGS[:8])
def test_the_loss_at_T_is_above_its_floor(N, c_lam, c_0, c_T, train):
    pivots = data.even_pairs_pivots(N)
    _, end, numbers = to_T(train, pivots, c_lam, c_0, c_T)
    outputs = symmetry.outputs(end, pivots, numbers["lam"])
    loss = float(np.sum(symmetry.loss_by_length(outputs, pivots, np.ones(N))))
    assert loss >= closed_forms.loss_floor_at_T(N, numbers["lam"], c_0, c_T)


def test_the_floor_of_the_loss_does_not_fall_as_lam_grows():
    floors = [closed_forms.loss_floor_at_T(6, lam) for lam in np.geomspace(36, 1e12, 12)]
    assert min(floors) > 0.28
    assert np.all(np.diff(floors) >= 0)


@pytest.mark.parametrize("N", [2, 6, 64, 1024])
def test_the_paper_takes_the_larger_of_two_times_for_T_at_every_lam(N):
    lams = np.geomspace(1, 1e30, 31)
    norms = [closed_forms.early_margin_norm(1 / N, lam, N) for lam in lams]
    ratios = [closed_forms.horizon_ratio(*pair) for pair in zip(lams, norms, strict=True)]
    assert max(ratios) < 1


def test_the_slope_of_the_loss_is_lipschitz_with_a_quarter():
    ratios = closed_forms.sigmoid_lipschitz_ratios(500)
    assert 0.24 < ratios.max() <= 0.25
