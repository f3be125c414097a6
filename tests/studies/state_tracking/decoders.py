"""Small decoders for the tests, and the same model written again: every clause, every query, explicit masks, numpy."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from phasescope.studies.state_tracking import actions, data
from phasescope.studies.state_tracking.decoder.network import Shape, initial

VARIANTS = [
    {"residual": r, "layer_norm": n} for r, n in itertools.product((False, True), (False, True))
]


def small(seed=0, group="S3", variables=9, width=8, hidden=12, heads=2, dtype=jnp.float64, **parts):
    """A decoder whose every number is random, biases and scales too."""
    shape = Shape(data.vocabulary(actions.named(group), variables), width, hidden, heads, **parts)
    like = jax.eval_shape(lambda: initial(jr.key(0), shape, dtype))
    rng = np.random.default_rng(seed)
    scale = lambda x: 1.0 if x.ndim == 1 or x.shape[0] == 5 else width**-0.5
    return jax.tree.map(lambda x: jnp.asarray(scale(x) * rng.normal(size=x.shape), x.dtype), like)


def chains(seed=0, group="S3", variables=9, length=4, count=5):
    """Chains drawn with numpy."""
    table = actions.named(group).table
    rng = np.random.default_rng(seed)
    names = np.stack([rng.permutation(variables)[: length + 1] for _ in range(count)])
    moves = rng.integers(len(table), size=(count, length))
    values = [rng.integers(table.shape[1], size=count)]
    for n in range(length):
        values.append(table[moves[:, n], values[-1]])
    return data.Chains(
        jnp.asarray(names), jnp.asarray(moves), jnp.asarray(np.stack(values, axis=1))
    )


def norm(net, place, x):
    if not net.norms:
        return x
    n = net.norms[place]
    centre = x.mean(-1, keepdims=True)
    return (x - centre) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * np.asarray(
        n.scale
    ) + np.asarray(n.shift)


def plain_forward(net, clauses, length):
    """Scores of the next clause at every clause of one sentence, [clause, slot, token], and weights of every head.

    Written over all positions and token by token; a predicate sees the predicates up to itself, an answer all of them
    and the answers up to itself.
    """
    net = jax.tree.map(np.asarray, net)
    clauses = np.asarray(clauses)
    x = sum(net.embedding[p][clauses[:, p]] for p in range(5))
    inside = norm(net, 0, x)
    T = len(clauses)
    size = net.query.shape[-1]
    mask = np.tri(T, dtype=bool)
    context = np.zeros((T, x.shape[1]))
    weights = []
    for h in range(net.query.shape[1]):
        q, k, v = (inside @ m[:, h] for m in (net.query, net.key, net.value))
        scores = np.where(mask, q @ k.T / np.sqrt(size), -np.inf)
        exp = np.exp(scores - scores.max(1, keepdims=True))
        a = exp / exp.sum(1, keepdims=True)
        weights.append(a)
        context += a @ v @ net.out[h]
    stream = x + context if net.shape.residual else context
    h = np.maximum(norm(net, 1, stream) @ net.up + net.up_bias, 0) @ net.down + net.down_bias
    stream = stream + h if net.shape.residual else h
    return np.einsum("td,dpv->tpv", norm(net, 2, stream), net.read) + net.read_bias, np.stack(
        weights
    )
