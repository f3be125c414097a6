r"""Stage 2 reduced: the attention as four scalars, and its loss on chains of length 2 as an exact finite sum.

If $W_5$ ignores variables, permuting them changes nothing, so that $Q_{43} = (q_{43} - o_{43}) I + o_{43} 11^\top$ for
ever, and $Q_{44}$ likewise. Gradient descent on the N x N blocks is
$q \leftarrow q - \frac{\eta}{N} \partial_q L$, $o \leftarrow o - \frac{\eta}{N (N-1)} \partial_o L$.
Losses are softplus(log-sum of the wrong classes - right logit), kept as logarithms: exact to the last digit at 1e-50 and
at 1e-5000, and so is their slope.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from ..actions import Action
from .feature_model import Constants, Features

TINY = -36.0  # e^x is half of a last digit of 1


class Routing(eqx.Module):
    """Diagonal (q) and off-diagonal (o) entries of the two blocks of Q."""

    q43: Float[Array, ""]
    o43: Float[Array, ""]
    q44: Float[Array, ""]
    o44: Float[Array, ""]

    def scalars(
        self,
    ) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """In the order of the formulas."""
        return self.q43, self.o43, self.q44, self.o44


class Cases(NamedTuple):
    """Chains of length 2, as what the model sees of them: two moves, two values, and the right next value."""

    first: Int[np.ndarray, "case"]
    second: Int[np.ndarray, "case"]
    start: Int[np.ndarray, "case"]
    middle: Int[np.ndarray, "case"]
    right: Int[np.ndarray, "case"]


def begin(q43=0.0, q44=0.0) -> Routing:
    """Off-diagonals start at 0."""
    return Routing(jnp.asarray(q43, float), jnp.zeros(()), jnp.asarray(q44, float), jnp.zeros(()))


def every_case(action: Action, step: int) -> Cases:
    """All (g_1, g_2, y_0), n_g^2 n_y of them."""
    counts = range(action.actions), range(action.actions), range(action.values)
    first, second, start = np.array(list(itertools.product(*counts))).T
    middle = action.table[first, start]
    return Cases(
        first, second, start, middle, middle if step == 1 else action.table[second, middle]
    )


def orbit_cases(action: Action, step: int) -> Cases:
    r"""One of each orbit under $g \to a g b^{-1}$, $y \to b y$, $j \to a j$, which leaves the limit features as they are.

    The move that is asked for becomes the identity, and the value it acts on becomes 0. The symmetry does not keep
    $y_1 = g_1(y_0)$: averaged over g_2 the pair (g_1, y_0) turns uniform at step 2.
    """
    if step == 1:
        other = np.arange(action.actions)
        none = np.zeros(action.actions, int)
        return Cases(none + identity(action), other, none, none, none)
    first, start = np.divmod(np.arange(action.table.size), action.values)
    none = np.zeros(action.table.size, int)
    return Cases(first, none + identity(action), start, none, none)


def identity(action: Action) -> int:
    """The row that moves nothing."""
    return int(np.flatnonzero((action.table == np.arange(action.values)).all(axis=1))[0])


def weights(routing: Routing, step: int) -> Float[Array, "clause"]:
    """Attention at length 2 of the query before answer `step`, over pred 1, pred 2, ans 0 and (at step 2) ans 1."""
    q43, o43, q44, o44 = routing.scalars()
    return jax.nn.softmax(jnp.stack([q43, o43, q44] if step == 1 else [o43, q43, o44, q44]))


def raw_logits(
    V: Features, cases: Cases, attention: Float[Array, "clause"], numbers: Constants
) -> Float[Array, "image case"]:
    """Sums over neurons, before the clip."""
    moves = attention[0] * V.g[..., cases.first] + attention[1] * V.g[..., cases.second]
    values = attention[2] * V.y[..., cases.start]
    if len(attention) == 4:
        values = values + attention[3] * V.y[..., cases.middle]
    return numbers.activation(moves + values + numbers.bias).sum(axis=1)


def excess(
    raw: Float[Array, "image case"],
    right: Int[np.ndarray, "case"],
    numbers: Constants,
    neurons: int,
) -> Float[Array, "case"]:
    """log-sum of all wrong classes less the right logit: the log odds against the right value."""
    F = numbers.logits(raw)
    wrong = np.arange(F.shape[0])[:, None] != right
    rest = jnp.full((1, F.shape[1]), numbers.rest(F.shape[0], neurons))
    others = logsumexp(jnp.concatenate([jnp.where(wrong, F, -jnp.inf), rest]), axis=0)
    return others - jnp.where(wrong, 0.0, F).sum(axis=0)


def step_loss(
    routing: Routing, V: Features, numbers: Constants, step: int, cases: Cases
) -> Float[Array, ""]:
    r"""$\mathrm{Loss}_5^{2,\ell}$, $\ell$ = `step`, over equally likely cases."""
    return jnp.exp(log_step_loss(routing, V, numbers, step, cases))


def log_step_loss(
    routing: Routing, V: Features, numbers: Constants, step: int, cases: Cases
) -> Float[Array, ""]:
    """The logarithm of the same: with a large clip the loss is no number any more."""
    raw = raw_logits(V, cases, weights(routing, step), numbers)
    against = excess(raw, cases.right, numbers, V.g.shape[1])
    return logsumexp(log_softplus(against)) - np.log(against.size)


def log_softplus(x: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """log log(1 + e^x), which is x itself where e^x is nothing beside 1."""
    return jnp.where(x > TINY, jnp.log(jax.nn.softplus(jnp.maximum(x, TINY))), x)


def downhill(gradient: Routing, population: Float[Array, ""] | float) -> Routing:
    """The descent direction of the four scalars in units of eta / N."""
    off = 1 / (population - 1)
    return Routing(-gradient.q43, -gradient.o43 * off, -gradient.q44, -gradient.o44 * off)
