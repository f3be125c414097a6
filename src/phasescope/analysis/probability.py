"""The word for "with high probability": a share of seeds, with the interval that they allow."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from .align import one
from .fits import CONFIDENCE
from .over_sizes import axis_of_sizes
from .sources import sources_of
from .trace import number_trace
from .types import Condition
from .verdict import Outcome, Verdict, undecided
from .worst_entry import MARGINS


def share(ok: Condition, delta: float, along: str = "seed", what: str = "") -> Verdict:
    """With probability at least 1 - delta: the share of seeds, with its 95% binomial interval.

        >>> ps.share(np.ones(200), 0.05).outcome.value
        'holds'
        >>> ps.share(np.ones(12), 0.05).outcome.value
        'undecided'

    **Arguments:** `ok`: true or false for every seed. `delta`: the probability that the paper leaves
    for exceptions. `along`: the axis of the seeds. `what`: the condition in words.

    **Returns:** a `Verdict`. It holds if the interval (Clopper and Pearson's) lies above 1 - delta,
    fails if it lies below, and is undecided in between: with few seeds nothing is known.

    **Raises:** `TypeError` if the condition holds other numbers than true, false and NaN.
    """
    required = f"a share of at least {1 - delta:.4g}"
    numbers = one(ok)
    known = ~np.isnan(numbers.values)
    if not np.isin(numbers.values[known], (0, 1)).all():
        raise TypeError("a condition is true or false for every seed; got other numbers.")
    dim = axis_of_sizes(numbers, along)
    every = numbers.min([d for d in numbers.dims if d != dim], skipna=False)
    if np.isnan(every.values).any() or every.size == 0:
        return undecided(f"{int(np.isnan(every.values).sum())} seeds are not known", required)
    n = every.size
    k = int(every.values.sum())
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    outcome = Outcome.UNDECIDED
    if low >= 1 - delta:
        outcome = Outcome.HOLDS
    elif high < 1 - delta:
        outcome = Outcome.FAILS
    margin = None if outcome == Outcome.UNDECIDED else (k / n - (1 - delta)) / max(delta, 1e-12)
    name = what or "the condition"
    return Verdict(
        outcome=outcome,
        measured=f"{name} is true for {k} of {n} seeds (95% interval {low:.3g} to {high:.3g})",
        required=required,
        value=k / n,
        margin=None if margin is None else float(np.clip(margin, *MARGINS)),
        check="share",
        sizes={along: (float(n),)},
        sources=sources_of((delta,)),
        trace=number_trace(f"share of seeds: {name}", k / n, lower=1 - delta),
    )
