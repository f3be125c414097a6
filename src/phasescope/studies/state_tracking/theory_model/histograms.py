r"""Step 2 of chains of any length with the limit features: its loss by enumeration of histograms, never by sampling.

By the symmetry of the limit features the move asked for is the identity and the value it acts on is 0, so that only
y_0 and the histogram of the other L - 1 moves matter, all of them uniform. Near the end of a stage the loss is carried
by histograms so rare that samples never meet them.

`exact` lists all histograms, for small groups and lengths. `paired` looks at one wrong class j at a time: its logit and
the right one depend on three counts, #{g(0) = 0}, #{g(0) = j}, #{g(j) = j}, whose law is a small table at any length.
The product of the odds bounds their sum from above, and equals it where the loss is small. A neuron (j, r) with
$r \ne 0$ and $r \ne j$ is counted as off: it is far below 0 unless nearly all moves conspire.
"""

from __future__ import annotations

import itertools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int
from scipy.special import comb, gammaln

from ..actions import Action
from . import limits
from .feature_model import Constants
from .routing_model import Routing, identity, log_softplus

LISTED = 60_000  # histograms times values up to which all are listed
NEGLIGIBLE = 1e-75  # probability below which a triple of counts is left out


class Exact(eqx.Module):
    """All histograms of L - 1 moves, with their probabilities."""

    length: int = eqx.field(static=True)
    counts: Float[np.ndarray, "histogram action"]
    probability: Float[np.ndarray, "histogram"]


class Paired(eqx.Module):
    """Laws of the three counts; `copies` wrong classes share each law."""

    length: int = eqx.field(static=True)
    copies: tuple[int, ...] = eqx.field(static=True)
    counts: tuple[Int[np.ndarray, "3 _"], ...]
    probability: tuple[Float[np.ndarray, "_"], ...]


def population(action: Action, length: int) -> Exact | Paired:
    """The exact list if it is short enough, else one wrong class at a time."""
    listed = comb(length - 1 + action.actions - 1, length - 1) * action.values
    return exact(action, length) if listed <= LISTED else paired(action, length)


def exact(action: Action, length: int) -> Exact:
    """Every way to split L - 1 moves over n_g elements."""
    bars = itertools.combinations(range(length - 1 + action.actions - 1), action.actions - 1)
    edges = np.array(list(bars)).reshape(-1, action.actions - 1)
    ends = np.full((len(edges), 1), length - 1 + action.actions - 1)
    counts = np.diff(np.concatenate([np.full_like(ends, -1), edges, ends], axis=1), axis=1) - 1
    log_p = (
        gammaln(length) - gammaln(counts + 1).sum(axis=1) - (length - 1) * np.log(action.actions)
    )
    return Exact(length, counts.astype(float), np.exp(log_p))


def paired(action: Action, length: int) -> Paired:
    """The law of (#{g(0) = 0}, #{g(0) = j}, #{g(j) = j}) over L - 1 uniform moves, for each kind of wrong class j."""
    laws: dict[bytes, list] = {}
    for j in range(1, action.values):
        seen = np.stack(
            [action.table[:, 0] == 0, action.table[:, 0] == j, action.table[:, j] == j], axis=1
        )
        one = np.zeros((2, 2, 2))
        np.add.at(one, tuple(seen.T.astype(int)), 1 / action.actions)
        laws.setdefault(one.round(12).tobytes(), [one, 0])[1] += 1
    found = [(_power(one, length - 1), copies) for one, copies in laws.values()]
    kept = [np.nonzero(law > NEGLIGIBLE) for law, _ in found]
    return Paired(
        length,
        tuple(copies for _, copies in found),
        tuple(np.stack(k) for k in kept),
        tuple(law[k] for (law, _), k in zip(found, kept, strict=True)),
    )


def _power(one: Float[np.ndarray, "2 2 2"], draws: int) -> Float[np.ndarray, "a b c"]:
    """The law of a sum of independent triples of 0 and 1; every term is positive, so nothing cancels."""
    law = np.zeros((draws + 1,) * 3)
    law[0, 0, 0] = 1.0
    moves = [(np.array(at), p) for at, p in np.ndenumerate(one) if p > 0]
    for _ in range(draws):
        new = np.zeros_like(law)
        for shift, p in moves:
            to = tuple(slice(s, None) for s in shift)
            source = tuple(slice(None, -s or None) for s in shift)
            new[to] += p * law[source]
        law = new
    return law


def loss(
    routing: Routing, action: Action, numbers: Constants, cases: Exact | Paired
) -> Float[Array, ""]:
    r"""$\mathrm{Loss}_5^{L,2}$ with the limit features."""
    return jnp.exp(log_loss(routing, action, numbers, cases))


def log_loss(
    routing: Routing, action: Action, numbers: Constants, cases: Exact | Paired
) -> Float[Array, ""]:
    """The logarithm of the same: with a large clip the loss is no number any more."""
    if isinstance(cases, Exact):
        return _exact_log_loss(routing, action, numbers, cases)
    return _paired_log_loss(routing, action, numbers, cases)


def _exact_log_loss(
    routing: Routing, action: Action, numbers: Constants, cases: Exact
) -> Float[Array, ""]:
    V = limits.ideal_features(action, numbers.clip)
    q43, o43, q44, o44 = (jnp.exp(s) for s in routing.scalars())
    base = q43 * V.g[..., identity(action)] + q44 * V.y[..., 0]
    moves = o43 * jnp.einsum("jrg,hg->jrh", V.g, cases.counts)
    seen = base[..., None, None] + moves[..., None] + o44 * V.y[:, :, None, :]
    pre = seen / limits.partition(*routing.scalars(), cases.length, 2) + numbers.bias
    F = numbers.logits(numbers.activation(pre).sum(axis=1))
    rest = jnp.broadcast_to(numbers.rest(action.values, V.g.shape[1]), (1, *F.shape[1:]))
    odds = logsumexp(jnp.concatenate([F[1:], rest]), axis=0) - F[0]
    weight = np.log(cases.probability)[:, None] - np.log(action.values)
    return logsumexp(weight + log_softplus(odds))


def _paired_log_loss(
    routing: Routing, action: Action, numbers: Constants, cases: Paired
) -> Float[Array, ""]:
    v_g, v_y = limits.limit_sizes(action, numbers.clip)
    q43, o43, q44, o44 = (jnp.exp(s) for s in routing.scalars())
    n = action.values
    off = numbers.activation(jnp.asarray(-2.0 * numbers.clip))
    Z = limits.partition(*routing.scalars(), cases.length, 2)
    rest = numbers.rest(n, n) - jnp.log(
        n - 1
    )  # every wrong class answers for its share of those that are no value
    # y_0 is 0, j, or one of the others: how often, and what neurons 0 and j see of it.
    with np.errstate(divide="ignore"):
        log_chance = np.log(np.array([1, 1, n - 2]) / n)
    neuron_0 = jnp.stack([v_y, -v_g, -v_g])
    neuron_j = jnp.stack([-v_g, v_y, -v_g])

    def value(base, hit, y):
        return numbers.activation((base + o43 * hit + o44 * y) / Z + numbers.bias)

    parts = []
    for copies, counts, probability in zip(
        cases.copies, cases.counts, cases.probability, strict=True
    ):
        hits = [(c * (v_g + v_y) - (cases.length - 1) * v_y)[:, None] for c in counts]
        right = value(q43 * v_g + q44 * v_y, hits[0], neuron_0) + (n - 1) * off
        wrong = (
            value((q44 - q43) * v_y, hits[1], neuron_0)
            + value((q43 - q44) * v_g, hits[2], neuron_j)
            + (n - 2) * off
        )
        odds = jnp.logaddexp(numbers.logits(wrong), rest) - numbers.logits(right)
        weight = np.log(copies) + np.log(probability)[:, None] + log_chance
        parts.append(logsumexp(weight + log_softplus(odds)))
    return logsumexp(jnp.stack(parts))
