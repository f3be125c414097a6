"""Probes: held against independent computations, on NumPy and JAX, and on noise of which the rate is counted."""

from __future__ import annotations

import doctest
import inspect

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import phasescope as ps
from phasescope import probes

FUNCTIONS = [getattr(probes, name) for name in dir(probes) if not name.startswith("_")]
FUNCTIONS = [f for f in FUNCTIONS if inspect.isfunction(f)]


@pytest.fixture(scope="module")
def patterns():
    """Causal attention of random scores: [batch, head, query, key]."""
    scores = np.random.default_rng(0).normal(size=(3, 4, 10, 10))
    scores = np.where(np.tril(np.ones((10, 10), bool)), scores, -np.inf)
    return special.softmax(scores, axis=-1)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_the_example_of_every_probe_is_right(function):
    text = inspect.cleandoc(function.__doc__ or "")
    test = doctest.DocTestParser().get_doctest(text, {"np": np}, function.__name__, None, None)
    assert test.examples
    said: list[str] = []
    assert doctest.DocTestRunner().run(test, out=said.append).failed == 0, "".join(said)


def test_entropy_is_that_of_scipy(patterns):
    np.testing.assert_allclose(
        probes.entropy(patterns), stats.entropy(patterns, axis=-1), atol=1e-14
    )


def test_drift_is_the_largest_difference_in_the_probability_of_a_set(patterns):
    p, q = patterns[0, 0], patterns[1, 0]
    found = probes.drift(p, q)
    for row in range(6):  # all sets of six keys
        sets = [(p - q)[row, :6][[bool(s >> k & 1) for k in range(6)]].sum() for s in range(64)]
        assert found[row] == pytest.approx(max(sets), abs=1e-14)


def transformer_lens_scores(pattern, length):
    """Previous-token and induction scores as the demo of TransformerLens writes them: means of `torch.diagonal`."""
    torch = pytest.importorskip("torch")
    p = torch.from_numpy(pattern)
    previous = p.diagonal(dim1=-2, dim2=-1, offset=-1).mean(dim=(0, -1))
    induction = p.diagonal(dim1=-2, dim2=-1, offset=1 - length).mean(dim=(0, -1))
    return previous.numpy(), induction.numpy()


def test_scores_of_heads_are_those_of_transformer_lens(patterns):
    previous, induction = transformer_lens_scores(patterns, 5)
    np.testing.assert_allclose(
        probes.previous_token_score(patterns).mean(0), previous, rtol=0, atol=1e-15
    )
    np.testing.assert_allclose(
        probes.induction_score(patterns).mean(0), induction, rtol=0, atol=1e-15
    )


def test_a_head_that_looks_for_the_last_time_has_the_induction_score_one():
    """Built token by token: query i looks at what followed the last occurrence of its token."""
    tokens = probes.doubled_tokens(vocabulary=10**6, length=7, seed=1)[0]
    pattern = np.zeros((14, 14))
    for query in range(14):
        before = [key for key in range(1, query + 1) if tokens[key - 1] == tokens[query]]
        pattern[query, before[-1] if before else 0] = 1.0
    assert probes.induction_score(pattern) == 1.0
    assert probes.previous_token_score(pattern) < 0.2


@pytest.mark.parametrize(
    "probe", [probes.entropy, probes.previous_token_score, probes.induction_score]
)
def test_a_probe_of_jax_gives_what_that_of_numpy_gives(probe, patterns):
    found = probe(jnp.asarray(patterns, jnp.float32))
    assert isinstance(found, jnp.ndarray)
    np.testing.assert_allclose(found, probe(patterns), atol=2e-6)


def series():
    random = np.random.default_rng(0)
    return [
        {"h.0.attn.q": t * random.normal(size=(4, 4)), "lm_head": np.full(3, t**2)}
        for t in (1.0, 2.0, 3.0)
    ]


GROUPS = {"attention": r"\.attn\.", "readout": "lm_head"}


def test_norms_relative_to_the_start_are_those_of_numpy():
    found = probes.relative_norms(series(), GROUPS)
    wanted = [np.linalg.norm(one["h.0.attn.q"]) for one in series()]
    np.testing.assert_allclose(found["attention"], np.array(wanted) / wanted[0])
    np.testing.assert_allclose(found["readout"], [1, 4, 9])


def test_the_readout_leads_while_it_has_grown_by_the_larger_factor():
    lead = probes.lead_of_readout([1.0, 4.0, 9.0], [2.0, 4.0, 6.0])
    np.testing.assert_allclose(lead, np.log([1, 2, 3]))


def test_a_group_that_begins_at_zero_has_no_relative_norm():
    found = probes.moved([{"w": np.zeros(2)}, {"w": np.ones(2)}], {"all": "w"})
    assert np.isnan(found["all"]).all()


def test_norms_of_half_precision_do_not_overflow():
    assert probes.group_norms({"w": np.full(4, 6e4, np.float16)}, {"w": "w"})["w"] > 1e5


CURVES = 2000


@pytest.mark.parametrize(("baseline", "records"), [(5, 40), (20, 200)])
def test_noise_escapes_no_more_often_than_is_said_and_not_much_less(baseline, records):
    noise = np.random.default_rng(7).normal(3.0, 0.2, size=(CURVES, records))
    alarms = sum(
        probes.first_escape(x, baseline=baseline, false_alarm=0.1) is not None for x in noise
    )
    assert stats.binomtest(alarms, CURVES, 0.1, "greater").pvalue > 0.01
    assert alarms > 0.01 * CURVES


@pytest.mark.parametrize("allowed", [0.01, 0.1])
@pytest.mark.parametrize("records", [10, 30, 150])
def test_a_plateau_of_noise_is_cut_short_no_more_often_than_is_said(records, allowed):
    noise = np.random.default_rng(8).normal(size=(400, records))
    found = [probes.longest_plateau(x, false_alarm=allowed) for x in noise]
    cut = sum(one is None or one.stop - one.start < records for one in found)
    assert stats.binomtest(cut, 400, allowed, "greater").pvalue > 0.01


def test_an_escape_of_ten_times_the_noise_is_found_where_it_is():
    noise = np.random.default_rng(9).normal(size=(200, 60))
    noise[:, 40:] += 10.0
    found = [probes.first_escape(x, baseline=20, false_alarm=0.01) for x in noise]
    assert np.mean([at == 40 for at in found]) > 0.95


def test_a_steady_slope_has_no_plateau():
    assert probes.longest_plateau(np.linspace(0, 1, 50)) is None


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: probes.entropy(np.ones(3)), r"axes \[..., query, key\]"),
        (lambda: probes.drift(np.eye(3), np.eye(4)), "their shapes are"),
        (lambda: probes.induction_score(np.eye(5)), "doubled sequences"),
        (lambda: probes.previous_token_score(np.ones((2, 3))), "same positions"),
        (lambda: probes.group_norms({"w": np.ones(1)}, {"all": "v"}), "no parameter has 'v'"),
        (lambda: probes.group_norms({"w": np.ones(1)}, {"all": "("}), "no regular expression"),
        (lambda: probes.relative_norms([], GROUPS), "empty series"),
        (
            lambda: probes.moved([{"w": np.ones(1)}, {"w": np.ones(2)}], {"all": "w"}),
            "differs from the first in w",
        ),
        (lambda: probes.first_escape([1, np.nan, 2, 3], baseline=3), "leave out NaN"),
        (lambda: probes.first_escape([1, 2, 3], baseline=3), "from 3 to 2"),
        (lambda: probes.longest_plateau([1, 2, 3], false_alarm=2.0), "between 0 and 1"),
        (lambda: probes.doubled_tokens(0, 3), "at least 1"),
    ],
)
def test_what_a_probe_cannot_take_is_one_clear_error(call, said):
    with pytest.raises(ps.ProbeError, match=said):
        call()
