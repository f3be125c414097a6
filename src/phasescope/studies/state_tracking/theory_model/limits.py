r"""Closed forms: the features that training ends in, and how long a chain they can follow.

Limit features. Once every confounder cancels, $V(g) + V(y') = 0 = V(g') + V(y)$, and the right pair reaches the clip,
$V(g) + V(y) = 2B$, the conservation of $\sum_g V - \sum_y V$ fixes the two numbers that are left:
$V(g) = v_g = 2B C_\alpha / (1 + C_\alpha)$, $V(y) = v_y = 2B - v_g$, $V(g') = -v_y$, $V(y') = -v_g$ with
$C_\alpha = (1 + n_g (n_y - 1)/n_y) / (n_y - 1 + n_g/n_y)$, which is 1 for a simply transitive action.

Critical length. At query (ans, l-1) of a chain of length L the softmax has the sum
$Z = e^{q_{43}} + (L-1) e^{o_{43}} + e^{q_{44}} + (l-1) e^{o_{44}}$; what is not on the two right clauses is
$\epsilon = ((L-1) e^{o_{43}} + (l-1) e^{o_{44}}) / Z$. The mean pre-activation of the right neuron falls with it.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..actions import Action, needs_transitive
from .feature_model import Features, targets


def imbalance(action: Action) -> float:
    r"""$C_\alpha$: the ratio of the limits of V(g) and V(y)."""
    n_y = action.values
    fibre = action.stabiliser
    return (1 + fibre * (n_y - 1)) / (n_y - 1 + fibre)


def limit_sizes(action: Action, clip) -> tuple[Float[Array, ""] | float, Float[Array, ""] | float]:
    """$(v_g, v_y)$, whose sum is 2B."""
    c = imbalance(action)
    return 2 * clip * c / (1 + c), 2 * clip / (1 + c)


def ideal_features(action: Action, clip) -> Features:
    """The limit features with one neuron for each value: neuron y of class j answers to g(y) = j."""
    needs_transitive(action)
    v_g, v_y = limit_sizes(action, clip)
    on = np.swapaxes(targets(action), 1, 2)  # image, value (the neuron), action
    own = np.broadcast_to(np.eye(action.values, dtype=int), (action.values,) * 3)
    return Features(jnp.where(on == 1, v_g, -v_y), jnp.where(own == 1, v_y, -v_g))


def order_parameter(vocabulary, power, knee=None, bias=None):
    r"""$\kappa = (\varrho/b)^{q-2} \varrho / ((q-2) \log d)$: waiting time over the time of linear growth."""
    log_d = np.log(vocabulary)
    knee = 1 / log_d if knee is None else knee
    bias = vocabulary**-0.5 * log_d if bias is None else bias
    return (knee / bias) ** (power - 2) * knee / ((power - 2) * log_d)


def partition(q43, o43, q44, o44, length, step):
    """Z of the softmax at the query before answer `step`, l = `step`, of a chain of `length` moves."""
    return jnp.exp(q43) + (length - 1) * jnp.exp(o43) + jnp.exp(q44) + (step - 1) * jnp.exp(o44)


def dilution(q43, o43, q44, o44, length, step):
    r"""$\epsilon^{L,\ell}$: attention that is not on the right predicate nor on the last answer."""
    wrong = (length - 1) * jnp.exp(o43) + (step - 1) * jnp.exp(o44)
    return wrong / partition(q43, o43, q44, o44, length, step)


def gap(q43, o43, q44, o44, length, step):
    r"""$\Delta^{L,\ell}$: attention on the right predicate less that on the last answer, with its sign."""
    return (jnp.exp(q43) - jnp.exp(q44)) / partition(q43, o43, q44, o44, length, step)


def mean_preactivation(action: Action, clip, routing: tuple, length, step):
    """The right neuron's mean pre-activation over random chains, with the limit features and without the bias."""
    q43, o43, q44, o44 = routing
    v_g, v_y = limit_sizes(action, clip)
    n = action.values
    right = np.exp(q43) * v_g + np.exp(q44) * v_y
    predicates = (length - 1) * np.exp(o43) * (v_g - (n - 1) * v_y) / n
    answers = (step - 1) * np.exp(o44) * (v_y - (n - 1) * v_g) / n
    Z = np.exp(q43) + (length - 1) * np.exp(o43) + np.exp(q44) + (step - 1) * np.exp(o44)
    return (right + predicates + answers) / Z


def critical_length(
    action: Action, clip_constant: float, q43: float, q44: float, greedy: bool = False
) -> float:
    r"""$L^*$ up to which a simply transitive chain is followed to its last step, off-diagonals at 0.

    $\bar\Lambda = B (1 - \epsilon (2 - 2/n))$ must stay above $\log d$ to sample the right value, above 0 to rank it first.
    """
    if not action.is_simply_transitive:
        raise ValueError(
            f"{action.name} is not simply transitive: solve mean_preactivation instead."
        )
    critical = (1 - (0 if greedy else 1 / clip_constant)) / (2 - 2 / action.values)
    return 1 + critical / (2 * (1 - critical)) * (np.exp(q43) + np.exp(q44))
