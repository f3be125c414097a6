r"""The theory's model in full: one attention head with blocks Q_43, Q_44, and a feed-forward layer W, on given chains.

Tokens are one-hot in five slots, the blank is 0. The query is the last answer; the values are the clauses themselves, so
that the layer sees $u = \sum_k \mathrm{Attn}_k Z_k$ and gives $F_{i,j} = \min(B, \sum_r \mathrm{sReLU}(W_{i,j,r} u + b))$.
Everything else in this study's theory is a reduction of this file and is tested against it.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from .. import data
from ..spec import TheorySpec
from .feature_model import Constants, Features

VARIABLE_PLACES = (0, 2, 3)  # of W_5, frozen at the start (Assumption B.1)


class Dense(eqx.Module):
    """W for the output slots that are trained, and the two blocks of Q on the variables."""

    W: Float[Array, "slot token neuron place input"]
    Q43: Float[Array, "query key"]
    Q44: Float[Array, "query key"]


def slots(spec: TheorySpec) -> tuple[int, ...]:
    """Output slots, counted from 0."""
    return tuple(range(data.SLOTS)) if spec.slot == 0 else (spec.slot - 1,)


def start(key: PRNGKeyArray, spec: TheorySpec, scale) -> Dense:
    """W normal of size sigma_0, Q zero."""
    d = spec.tokens.size
    N = spec.variables
    shape = (len(slots(spec)), d, spec.per_class, data.SLOTS, d)
    return Dense(scale * jr.normal(key, shape), jnp.zeros((N, N)), jnp.zeros((N, N)))


def with_features(V: Features, spec: TheorySpec) -> Dense:
    """The full model whose value slot holds given features and nothing else; Q is zero."""
    t = spec.tokens
    W = jnp.zeros((1, t.size, V.g.shape[1], data.SLOTS, t.size))
    values = slice(t.first_value, t.blank)
    W = (
        W.at[0, values, :, 1, t.first_action : t.first_value]
        .set(V.g)
        .at[0, values, :, 4, values]
        .set(V.y)
    )
    return Dense(W, jnp.zeros((t.variables,) * 2), jnp.zeros((t.variables,) * 2))


def features_of(W: Float[Array, "token neuron place input"], tokens: data.Vocabulary) -> Features:
    """The reduced coordinates of the value slot."""
    values = slice(tokens.first_value, tokens.blank)
    return Features(
        W[values, :, 1, tokens.first_action : tokens.first_value], W[values, :, 4, values]
    )


def attention(model: Dense, chain: data.Chains, step: int) -> Float[Array, "chain clause"]:
    """Softmax over predicates 1..L and answers 0..l-1 from the query (ans, l - 1), l = `step`."""
    names = jnp.asarray(chain.names)
    query = names[:, step - 1, None]
    scores = [model.Q43[query, names[:, :-1]], model.Q44[query, names[:, :step]]]
    return jax.nn.softmax(jnp.concatenate(scores, axis=1), axis=1)


def attended(
    model: Dense, chain: data.Chains, tokens: data.Vocabulary, step: int
) -> Float[Array, "chain place input"]:
    """u: the attention-weighted mean of the clauses, one-hot in each slot, blank 0."""
    clauses = data.sentence(chain, tokens, step - 1)
    onehot = jax.nn.one_hot(clauses, tokens.size).at[..., tokens.blank].set(0.0)
    return jnp.einsum("nk,nkpv->npv", attention(model, chain, step), onehot)


def raw_logits(
    W: Float[Array, "token neuron place input"],
    u: Float[Array, "chain place input"],
    numbers: Constants,
) -> Float[Array, "chain token"]:
    """One output slot, before the clip."""
    pre = jnp.einsum("jrpv,npv->njr", W, u) + numbers.bias
    return numbers.activation(pre).sum(axis=-1)


def cross_entropy(
    raw: Float[Array, "chain token"], right: Int[Array, "chain"], numbers: Constants
) -> Float[Array, "chain"]:
    """-log p of the right token, to the last digit."""
    F = numbers.logits(raw)
    chosen = right[:, None] == jnp.arange(F.shape[1])
    others = logsumexp(jnp.where(chosen, -jnp.inf, F), axis=1)
    return jax.nn.softplus(others - jnp.where(chosen, F, 0.0).sum(axis=1))


def answer_loss(
    model: Dense,
    index: int,
    slot: int,
    chain: data.Chains,
    tokens: data.Vocabulary,
    numbers: Constants,
    step: int,
) -> Float[Array, ""]:
    r"""$\mathrm{Loss}_i^{L,\ell}$ over the given chains, of output slot `slot`, which stands at `index` in W."""
    right = data.answers(chain, tokens)[:, step, slot]
    raw = raw_logits(model.W[index], attended(model, chain, tokens, step), numbers)
    return cross_entropy(raw, right, numbers).mean()


def single_loss(
    W: Float[Array, "token neuron place input"],
    slot: int,
    chain: data.Chains,
    tokens: data.Vocabulary,
    numbers: Constants,
) -> Float[Array, ""]:
    r"""$\mathrm{Loss}_i^{1,1}$ at Q = 0 over every chain of length 1, in the order of `data.every_chain`.

    Pairs of names and pairs (y_0, g) are independent, so that each is looked up once: the same sum as `answer_loss`.
    """
    cases = tokens.actions * tokens.values
    names = np.asarray(chain.names)[::cases]
    moves = tokens.first_action + np.asarray(chain.actions)[:cases, 0]
    values = tokens.first_value + np.asarray(chain.values)[:cases, 0]
    hot = np.eye(tokens.size)
    of_names = W[:, :, 0] @ hot[names[:, 1]].T + (W[:, :, 2] + W[:, :, 3]) @ hot[names[:, 0]].T
    of_cases = W[:, :, 1] @ hot[moves].T + W[:, :, 4] @ hot[values].T
    pre = 0.5 * (of_names[..., :, None] + of_cases[..., None, :]) + numbers.bias
    raw = numbers.activation(pre).sum(axis=1).reshape(tokens.size, -1).T
    return cross_entropy(raw, data.answers(chain, tokens)[:, 1, slot], numbers).mean()


def greedy_values(
    model: Dense,
    index: int,
    chain: data.Chains,
    tokens: data.Vocabulary,
    numbers: Constants,
    last: int,
) -> Int[Array, "chain step"]:
    """Values of answers 0..`last` when the model's own are fed back, variables taken from the chain."""
    values = jnp.asarray(chain.values)
    for step in range(1, last + 1):
        seen = data.Chains(chain.names, chain.actions, values)
        raw = raw_logits(model.W[index], attended(model, seen, tokens, step), numbers)
        best = jnp.argmax(raw[:, tokens.first_value : tokens.blank], axis=1)
        values = values.at[:, step].set(best.astype(values.dtype))
    return values[:, : last + 1]


def copying(
    W: Float[Array, "token neuron place input"], tokens: data.Vocabulary, bias
) -> tuple[
    Float[Array, "variable"], Float[Array, "variable"], Float[Array, "place"], Float[Array, ""]
]:
    """Of slot 4: the diagonals summed over alive neurons, the best pre-activation, the largest other weight of each
    input slot, and the largest weight in a class that is no variable."""
    N = tokens.variables
    diagonal = W[np.arange(N), :, 0, np.arange(N)]
    alive = jnp.where(diagonal > bias, diagonal, 0.0)
    rest = jnp.abs(W[:N]).at[np.arange(N), :, 0, np.arange(N)].set(0.0)
    return (
        alive.sum(axis=1),
        diagonal.max(axis=1) + bias,
        rest.max(axis=(0, 1, 3)),
        jnp.abs(W[N:]).max(),
    )
