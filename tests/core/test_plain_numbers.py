"""A number of the spec that an arm needs as a plain number is named, with the author's own line."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import toys

import phasescope as ps


def spaced(spec):
    """Record times by numpy."""
    times = np.linspace(1, spec.goal * 40, 2)
    return toys.plan(spec, ps.flow(lambda w: -w), times)


def branching(spec):
    """An `if` on a float."""
    if spec.noise > 1:
        return toys.sparse(spec)
    return toys.quadratic(spec)


def rooted(spec):
    """The float of math, in the loss, which is traced when the stage is."""
    halved = lambda w, batch: toys.loss(w, batch) * math.sqrt(spec.goal)
    return toys.plan(spec, ps.descent(halved, optax.sgd(spec.eta)), ps.linear_times(spec.steps))


def shaped(spec):
    """A traced integer as a shape."""
    start = lambda key: jnp.zeros(spec.steps)
    return ps.Plan(start, toys.quadratic(spec).stages, toys.measure)


def looking(spec):
    """An `if` on the state, which is nobody's field."""

    def measure(w):
        if w[0] > 1:
            w = w + 1
        return toys.measure(w)

    return ps.Plan(toys.begin(spec), toys.quadratic(spec).stages, measure)


def ranged(spec):
    """A float as the end of a range, which Python itself refuses."""
    return toys.plan(spec, ps.flow(lambda w: -w), np.array([*range(spec.eta)]))


@pytest.mark.parametrize(
    ("arm", "words", "line"),
    [
        (spaced, 'the field "goal" is used as a plain number', "np.linspace(1, spec.goal * 40, 2)"),
        (branching, 'the field "noise" decides a branch', "if spec.noise > 1:"),
        (rooted, 'the field "goal" is used as a plain number', "math.sqrt(spec.goal)"),
        (shaped, 'the field "steps" is used as a plain number', "jnp.zeros(spec.steps)"),
        (looking, "a number that the program computes decides a branch", "if w[0] > 1:"),
        (ranged, "its plan cannot be made: TypeError", "range(spec.eta)"),
    ],
)
def test_a_plain_number_in_an_arm_is_named_with_the_authors_line(arm, words, line):
    with pytest.raises(ps.PlanError) as caught:
        ps.run(toys.study, arm, store=False)
    said = str(caught.value)
    assert said.startswith(f"{arm.__name__}: {words}")
    first = arm.__code__.co_firstlineno
    numbers = [n for n in range(first, first + 9) if f"{__file__}:{n}, " in said]
    assert numbers and line in said
    assert "Tracer" not in said


def test_a_traced_integer_may_be_left_untraced():
    with pytest.raises(ps.PlanError, match="or leave out traced=True"):
        ps.run(toys.study, shaped, store=False)


def test_a_sweep_says_the_same():
    with pytest.raises(ps.PlanError, match=r'the field "noise" decides a branch at .*\.py:\d+'):
        ps.sweep(toys.study, branching, eta=[0.1, 0.2], store=False)


def test_a_ledger_says_it_in_one_line():
    @ps.claim("Lemma 1", ps.runs(branching))
    def falls(run):
        """The loss falls."""
        return ps.decreasing(run.loss)

    study = ps.Study("branches", toys.Spec(), (branching,), (falls,))
    [row] = ps.check(study, store=False)
    assert 'the field "noise" decides a branch' in row.measured
    assert len(row.measured.splitlines()) == 1
