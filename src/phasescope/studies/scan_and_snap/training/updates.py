"""One update of a table, and the dynamics of mini-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

import phasescope as ps

from .. import model
from ..model import Weights
from ..spec import Spec
from . import sampling

ADAM = optax.scale_by_adam(0.9, 0.999, 1e-8)
AHEAD = 16  # updates whose mini-batches are drawn at once


class Training(NamedTuple):
    """Weights, what the optimiser carries, and the loss of the last mini-batch."""

    weights: Any
    moments: Any
    batch_loss: Float[Array, "*lanes"]


def begin(weights: Any, spec: Spec, loss: Any = 0.0, precision: str = "float64") -> Training:
    """Weights with an optimiser at rest."""
    weights = jax.tree.map(lambda x: x.astype(precision), weights)
    moments = None
    if spec.optimiser == "sgd":
        moments = jax.tree.map(jnp.zeros_like, weights)
    elif spec.optimiser == "adam":
        moments = ADAM.init(weights)
    return Training(weights, moments, jnp.asarray(loss, precision))


def settings(by_table: Callable[[Any, Any], Any], spec: Spec) -> tuple[Any, Any]:
    """Step sizes and momenta; `by_table(y, z)` says which numbers belong to the decoder and
    which to the attention."""
    return by_table(spec.rate_Y, spec.eta_Z), by_table(*spec.momenta)


def update(state: Training, ascent: Any, rates: Any, momenta: Any) -> Training:
    r"""One update: torch's momentum, $v \leftarrow \mu v + g$ and $\theta \leftarrow \theta +
    \eta v$, or Adam."""
    if isinstance(state.moments, optax.ScaleByAdamState):
        push, moments = ADAM.update(ascent, state.moments)
    else:
        moments = jax.tree.map(lambda v, g, mu: mu * v + g, state.moments, ascent, momenta)
        push = moments
    weights = jax.tree.map(lambda x, v, eta: x + eta * v, state.weights, push, rates)
    return Training(weights, moments, state.batch_loss)


class minibatches(ps.Dynamics):
    """Updates on mini-batches; the batch of an update follows from the key and the number of the
    update alone.

    The batches of some updates are drawn at once, and then a run takes all of these updates. In
    a block of runs on a CPU one run does so after the other: the tables of one stay in its
    cache, those of all would not.
    """

    spec: Spec

    def sampler(self) -> Callable[[Array, Any], sampling.Batch]:
        return lambda key, memory: sampling.draw(key, self.spec)

    def advance(self, state: ps.State, t0: Array, t1: Array, key: Array) -> ps.State:
        spec = self.spec
        Y = state.params.weights.Y
        numbers = (model.copies(spec.labels, Y.shape[1], spec.M), *settings(Weights, spec))
        copies, rates, momenta = jax.tree.map(lambda x: jnp.asarray(x, Y.dtype), numbers)
        learn = updates_in_a_row(sampling.layout(spec))

        def before_the_end(carry):
            t, _ = carry
            return t < t1

        def some_updates(carry):
            t, training = carry
            count = jnp.minimum(AHEAD, t1 - t)
            label, counts = draw_ahead(lambda t: self.batch(key, t, state.memory), t, count)
            batches = sampling.Batch(label, counts.astype(Y.dtype))
            return t + count, learn(training, batches, count, copies, rates, momenta)

        begun = (jnp.asarray(t0), state.params)
        _, training = jax.lax.while_loop(before_the_end, some_updates, begun)
        return ps.State(training, state.memory, state.carry)


def updates_in_a_row(layout: sampling.Layout) -> Callable[..., Training]:
    """The function that takes some updates, each on its own batch; in a block of runs on a CPU,
    run by run."""

    def learn(training, batches, count, copies, rates, momenta):
        def one(i, training):
            batch = jax.tree.map(lambda x: x[i], batches)
            ascent, loss = sampling.gradient(training.weights, batch, copies, layout)
            return update(training, ascent, rates, momenta)._replace(batch_loss=loss)

        return jax.lax.fori_loop(0, count, one, training)

    if jax.default_backend() == "cpu":
        return ps.one_by_one(learn)
    return learn


def draw_ahead(batch: Callable[[Array], sampling.Batch], t: Array, count: Array) -> sampling.Batch:
    """The mini-batches of the updates t, t + 1, ..., t + count - 1; the rest of the `AHEAD` are
    empty."""
    first = batch(t)
    drawn = jax.tree.map(lambda x: jnp.zeros((AHEAD, *x.shape), x.dtype).at[0].set(x), first)

    def draw_one(i, drawn):
        return jax.tree.map(lambda all_of_it, x: all_of_it.at[i].set(x), drawn, batch(t + i))

    return jax.lax.fori_loop(1, count, draw_one, drawn)
