r"""Arms of theory: population gradient flows, each with one description of the induction head.

With $c = w_K w_Q$ and the kernels $S, X$ of kernels/ the flow of head 2 is

$$\dot h = h^\star X(c) - h S(c), \qquad \dot w_K = \kappa\, w_Q\,(hh^\star X' - \tfrac12h^2S'), \quad
\dot w_Q = \kappa\, w_K\,(hh^\star X' - \tfrac12h^2S'),$$

$\kappa = 1$ for two weights, which is the model; $\kappa = 2$ for one weight $w$ with $c = w^2$,
which is the paper's ODE. Head 1 is model/four_gram.py's. `time` is $t$, the number of steps of
descent times their size.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

import phasescope as ps

from .independent_flows import IndependentFlows
from .kernels import analytic, tabulated
from .kernels.analytic import Kernels
from .kernels.tabulated import Table
from .model import four_gram
from .model.definition import Held, Weights, start
from .observables import Observed, measure, measure_first_layer
from .spec import FLOW, MODEL, Spec

RECORDS = 480
RTOL = 1e-10
ATOL = 1e-14
STEPS = 5_000_000  # of head 1 between two records: enough for t = 10^7
Description = Callable[[Held, Spec], Kernels]


@ps.arm(reads=FLOW, continuous=("length",))
def exact_flow(spec: Spec) -> ps.Plan:
    """Gradient flow of the true softmax model at any length, without sampling; time is t."""
    _sharp_first_layer(spec, "exact_flow", "mean_field_flow")
    check_table(spec, "exact_flow")
    return _second_layer(
        spec, softmax, table=lambda: tabulated.table_for(spec.w_star, spec.keys, spec.tokens)
    )


@ps.arm(reads=FLOW)
def mean_field_flow(spec: Spec) -> ps.Plan:
    """Gradient flow of the softmax model with infinitely many keys, in closed form; time is t."""
    if spec.tokens == "boolean":
        _sharp_first_layer(spec, "mean_field_flow with boolean tokens", "online_sgd")
    else:
        _below("2 w_star^4", 2 * spec.w_star**4, 1.0, "mean_field_flow", "use exact_flow")
    return _second_layer(spec, many_keys)


@ps.arm(reads=FLOW, continuous=("length",))
def paper_flow(spec: Spec) -> ps.Plan:
    """The printed ODE: an exponential instead of the softmax, one weight instead of two; time is t."""
    if spec.tokens == "boolean":
        raise ps.SpecError(
            "paper_flow is for gaussian tokens; exact_flow and mean_field_flow know boolean ones."
        )
    _sharp_first_layer(spec, "paper_flow", "mean_field_flow")
    _below("4 w_star^4", 4 * spec.w_star**4, 1.0, "the exponential form", "use exact_flow")
    return _second_layer(spec, exponential, kappa=2.0)


@ps.arm(reads=(*MODEL, "imbalance", "horizon"))
def joint_flow(spec: Spec) -> ps.Plan:
    """Both layers trained together, the induction head by its mean field; time is t."""
    if spec.tokens == "boolean" or spec.p_tilde is not None:
        raise ps.SpecError(
            "joint_flow trains the first layer, on gaussian tokens: leave p_tilde and tokens alone."
        )
    _below("2 w_star^4", 2 * spec.w_star**4, 1.0, "joint_flow", "choose a smaller w_star")

    def downhill(weights: Weights) -> Weights:
        slope = jax.grad(lambda w: jnp.sum(joint_losses(w, spec)))(weights)
        return jax.tree.map(jnp.negative, slope)

    return ps.Plan(
        init=lambda key: start(spec, joint=True),
        stages=(ps.Stage("training", ps.flow(downhill, rtol=RTOL, atol=ATOL), _times(spec)),),
        measure=lambda w: measure(w, spec, joint_kernels(w, spec), velocity=downhill(w)),
    )


@ps.arm(reads=("alpha", "sigma", "length", "p_start", "horizon"))
def stage_one(spec: Spec) -> ps.Plan:
    """The first layer alone, all else frozen at the start: its slope grows like a logarithm; time is t."""
    p = jnp.asarray(spec.p_first)
    g = jnp.asarray(spec.sigma)

    def loss_g4(slope: Array) -> Array:
        return four_gram.blurred_loss(slope, p, g, spec.g_star, spec.length)

    follow = ps.flow(lambda slope: -jax.grad(loss_g4)(slope), rtol=RTOL, atol=ATOL, kappa=1e-2)
    return ps.Plan(
        init=lambda key: jnp.asarray(spec.sigma),
        stages=(ps.Stage("stage I", follow, _times(spec)),),
        measure=lambda slope: measure_first_layer(slope, p, g, loss_g4(slope)),
    )


def softmax(held: Held, spec: Spec) -> Kernels:
    """The true model."""
    assert held.table is not None
    return tabulated.evaluate(held.table, held.weights.w_k * held.weights.w_q)


def many_keys(held: Held, spec: Spec) -> Kernels:
    """The mean field."""
    c = held.weights.w_k * held.weights.w_q
    if spec.tokens == "boolean":
        return analytic.boolean_mean_field(c, spec.c_star, spec.keys)
    return analytic.mean_field(c, spec.c_star, spec.keys, spec.u_tilde)


def exponential(held: Held, spec: Spec) -> Kernels:
    """The paper's simplification."""
    return analytic.exponential(held.weights.w_k * held.weights.w_q, spec.c_star, spec.keys)


def velocity(held: Held, spec: Spec, describe: Description, kappa: ArrayLike = 1.0) -> Weights:
    """The flow of the second layer."""
    head_1 = head_1_velocity(held.weights.p, held.weights.g, spec)
    return Weights(*head_1, *head_2_velocity(held, spec, describe, kappa))


def head_1_velocity(p: Array, g: Array, spec: Spec) -> tuple[Array, Array]:
    """The flow of head 1, behind whatever first layer there is."""
    if spec.p_tilde is None:
        return four_gram.velocity(p, g, spec.g_star, spec.keys)
    p_tilde = jnp.asarray(spec.p_tilde)

    def loss(p: Array, g: Array) -> Array:
        return four_gram.blurred_loss(p_tilde, p, g, spec.g_star, spec.length)

    slope_p, slope_g = jax.grad(loss, argnums=(0, 1))(p, g)
    return -slope_p, -slope_g


def head_2_velocity(
    held: Held, spec: Spec, describe: Description, kappa: ArrayLike = 1.0
) -> tuple[Array, Array, Array]:
    """The flow of head 2."""
    weights = held.weights
    values = describe(held, spec)
    push = kappa * analytic.drive(values, weights.h, spec.h_star)
    return weights.w_q * push, weights.w_k * push, spec.h_star * values.X - weights.h * values.S


def joint_kernels(weights: Weights, spec: Spec) -> Kernels:
    """The mean field behind a first layer that is trained."""
    assert weights.p_tilde is not None
    return analytic.mean_field(
        weights.w_k * weights.w_q, spec.c_star, spec.keys, jnp.exp(-weights.p_tilde)
    )


def joint_losses(weights: Weights, spec: Spec) -> Float[Array, "2"]:
    """Both losses as functions of all six scalars."""
    assert weights.p_tilde is not None
    four = four_gram.blurred_loss(weights.p_tilde, weights.p, weights.g, spec.g_star, spec.length)
    return jnp.stack([four, analytic.loss(joint_kernels(weights, spec), weights.h, spec.h_star)])


def _second_layer(
    spec: Spec,
    describe: Description,
    table: Callable[[], Table] | None = None,
    kappa: ArrayLike = 1.0,
) -> ps.Plan:
    """Stage II behind a frozen first layer; `kappa` is the arm's own unless the spec says otherwise."""
    kappa = kappa if spec.kappa is None else spec.kappa
    head_1 = ps.flow(
        lambda held: head_1_velocity(held.weights.p, held.weights.g, spec),
        rtol=RTOL,
        atol=ATOL,
        where=lambda held: held.weights[:2],
        max_steps=STEPS,
        solver=diffrax.Tsit5(),  # the most stable step for its price, which is what bounds head 1
    )
    head_2 = ps.flow(
        lambda held: head_2_velocity(held, spec, describe, kappa),
        rtol=RTOL,
        atol=ATOL,
        where=lambda held: held.weights[2:5],
    )

    def measured(held: Held) -> Observed:
        speed = velocity(held, spec, describe, kappa)
        return measure(held.weights, spec, describe(held, spec), velocity=speed)

    return ps.Plan(
        init=lambda key, *made: Held(start(spec), *made),
        stages=(ps.Stage("stage II", IndependentFlows((head_1, head_2)), _times(spec)),),
        measure=measured,
        tables=table,
    )


def check_table(spec: Spec, who: str) -> None:
    """The kernels' table must cover the target and the start."""
    most = tabulated.LARGEST_W * (1 + 1e-12)  # the largest itself is allowed, whatever its rounding
    _below("w_star", spec.w_star, most, who, "use mean_field_flow or a smaller w_star")
    first = spec.sigma**2 * spec.imbalance
    _below(
        "the first w_k w_q", first, tabulated.REACH * spec.c_star, who, "start with smaller weights"
    )


def _times(spec: Spec) -> ps.Schedule:
    return ps.log_times(spec.horizon, RECORDS, first=0.05)


def _sharp_first_layer(spec: Spec, who: str, instead: str) -> None:
    if spec.p_tilde is not None:
        raise ps.SpecError(
            f"{who} needs an infinite p_tilde, got p_tilde={spec.p_tilde}: use {instead}."
        )


def _below(what: str, value: Any, bound: Any, who: str, advice: str) -> None:
    """Plain numbers only: inside a program values are traced, and were looked at before."""
    if isinstance(value, jax.Array) or isinstance(bound, jax.Array):
        return
    if not value < bound:
        raise ps.SpecError(f"{who} needs {what} below {bound:g}, got {value:.6g}: {advice}.")
