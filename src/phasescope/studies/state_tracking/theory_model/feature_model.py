r"""Stage 1 reduced: the value classes of the fifth slot, whose population over variables collapses to n_g n_y terms.

With the variable slots of $W_5$ at 0 a sample is a pair (g, y), seen through attention 1/2 on each clause:
$\Lambda_{j,r}(g,y) = \frac12 (V_{j,r}(g) + V_{j,r}(y)) + b$, $F_j = \min(B, \sum_r \mathrm{sReLU}(\Lambda_{j,r}))$.
The d - n_y other classes stay at $F_0 = m\,\mathrm{sReLU}(b)$ and enter as one term, so that d is a free number.
$1 - p$ of the right class is a sum over the others, never a difference: it is 1e-30 and less late in training.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..actions import Action
from ..spec import TheorySpec
from .activation import Activation


class Features(eqx.Module):
    """$V_{j,r}(g)$ and $V_{j,r}(y)$, the two trained slots of $W_5$."""

    g: Float[Array, "image neuron action"]
    y: Float[Array, "image neuron value"]


class Constants(eqx.Module):
    """What is fixed during a run: the size d of the vocabulary, the bias b, the clip B and the activation."""

    vocabulary: Float[Array, ""] | float
    bias: Float[Array, ""] | float
    clip: Float[Array, ""] | float
    activation: Activation

    def logits(self, raw: Float[Array, "*any"]) -> Float[Array, "*any"]:
        """The hard clip."""
        return jnp.minimum(raw, self.clip)

    def rest(self, values: int, neurons: int) -> Float[Array, ""]:
        """log of (d - n_y) e^{F_0}: all classes that are no value."""
        idle = self.logits(neurons * self.activation(jnp.asarray(self.bias)))
        return jnp.log(self.vocabulary - values) + idle


def constants(spec: TheorySpec, vocabulary: Float[Array, ""] | float | None = None) -> Constants:
    """The numbers of a run; `vocabulary` replaces the free d by that of a full model."""
    d = spec.vocabulary if vocabulary is None else vocabulary
    log_d = jnp.log(d)
    bias = scale(spec, d) * log_d if spec.bias is None else spec.bias
    knee = 1 / log_d if spec.knee is None else spec.knee
    clip = spec.clip * log_d
    return Constants(d, bias, clip, Activation(spec.activation, spec.power, knee, clip))


def scale(spec: TheorySpec, vocabulary) -> Float[Array, ""] | float:
    r"""$\sigma_0$: given, or $d^{-1/2}$."""
    return vocabulary**-0.5 if spec.init_scale is None else spec.init_scale


def start(key: PRNGKeyArray, spec: TheorySpec) -> Features:
    """Normal numbers of size $\\sigma_0$."""
    action = spec.action
    m = spec.per_class
    for_g, for_y = jr.split(key)
    sigma = scale(spec, spec.vocabulary)
    return Features(
        sigma * jr.normal(for_g, (action.values, m, action.actions)),
        sigma * jr.normal(for_y, (action.values, m, action.values)),
    )


def preactivations(V: Features, bias) -> Float[Array, "image neuron action value"]:
    r"""$\Lambda_{j,r}(g,y)$."""
    return 0.5 * (V.g[..., :, None] + V.y[..., None, :]) + bias


def targets(action: Action) -> Int[np.ndarray, "image action value"]:
    """1 where g takes y to j."""
    return (action.table == np.arange(action.values)[:, None, None]).astype(int)


def log_probabilities(
    raw: Float[Array, "image action value"],
    right: Int[np.ndarray, "image action value"],
    numbers: Constants,
    neurons: int,
) -> tuple[Float[Array, "image action value"], Float[Array, "action value"]]:
    """log p of every class, and log(1 - p) of the right one as a sum over the others."""
    F = numbers.logits(raw)
    rest = jnp.broadcast_to(numbers.rest(F.shape[0], neurons), (1, *F.shape[1:]))
    total = logsumexp(jnp.concatenate([F, rest]), axis=0)
    others = logsumexp(jnp.concatenate([jnp.where(right == 1, -jnp.inf, F), rest]), axis=0)
    return F - total, others - total


def loss(V: Features, action: Action, numbers: Constants) -> Float[Array, ""]:
    """Cross-entropy of the value of the next answer."""
    right = targets(action)
    F = numbers.logits(numbers.activation(preactivations(V, numbers.bias)).sum(axis=1))
    rest = jnp.broadcast_to(numbers.rest(action.values, V.g.shape[1]), (1, *F.shape[1:]))
    others = logsumexp(jnp.concatenate([jnp.where(right == 1, -jnp.inf, F), rest]), axis=0)
    return jax.nn.softplus(others - (F * right).sum(axis=0)).mean()


def descent_direction(V: Features, action: Action, numbers: Constants) -> Features:
    """Minus the gradient of the loss, accurate to its last digit however small it is."""
    right = targets(action)
    pre = preactivations(V, numbers.bias)
    raw = numbers.activation(pre).sum(axis=1)
    log_p, log_miss = log_probabilities(raw, right, numbers, V.g.shape[1])
    pull = jnp.where(right == 1, jnp.exp(log_miss), -jnp.exp(log_p))
    pull = jnp.where(raw < numbers.clip, pull, 0.0) / (2 * action.table.size)
    push = pull[:, None] * numbers.activation.slope(pre)
    return Features(push.sum(axis=3), push.sum(axis=2))


def accuracy(V: Features, action: Action, numbers: Constants) -> Float[Array, ""]:
    """Mean probability of the right value."""
    right = targets(action)
    raw = numbers.activation(preactivations(V, numbers.bias)).sum(axis=1)
    log_p, _ = log_probabilities(raw, right, numbers, V.g.shape[1])
    return (jnp.exp(log_p) * right).sum(axis=0).mean()


def conserved(V: Features) -> Float[Array, "image neuron"]:
    r"""$D_{j,r} = \sum_g V_{j,r}(g) - \sum_y V_{j,r}(y)$: both sums collect the same double sum."""
    return V.g.sum(axis=-1) - V.y.sum(axis=-1)


def combined(V: Features, action: Action) -> Float[Array, "image neuron value"]:
    r"""$V_\psi$, $\psi = (j, r, y)$: the mean of $\frac12(V(g) + V(y))$ over the g that take y to j."""
    share = targets(action) / action.stabiliser
    return 0.5 * (jnp.einsum("jrg,jgy->jry", V.g, share) + V.y)
