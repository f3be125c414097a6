"""Two-layer linear networks learn their modes one at a time, strongest first (Saxe, McClelland & Ganguli 2014)."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float

import phasescope as ps


class Spec(ps.Spec):
    modes: int = 3  # the task has singular values s_i = modes, ..., 2, 1
    epsilon: float = 1e-3  # a_i b_i at the start
    eta: float = 1e-2  # learning rate
    steps: int = ps.field(1500, at_least=1, traced=True)


class Observed(ps.Observables):
    loss: Float[Array, ""]
    progress: Float[Array, "mode"] = ps.field(symbol="a_i b_i / s_i", doc="0 unlearnt, 1 learnt")


def strengths(spec):
    return jnp.arange(spec.modes, 0.0, -1.0)


def loss(w, s):
    return 0.5 * jnp.sum((s - w["a"] * w["b"]) ** 2)


def balanced(ab):  # a_i = b_i, so one number per mode
    return {"a": jnp.sqrt(ab), "b": jnp.sqrt(ab)}


def plan(spec, dynamics, times):  # what the three arms have in common
    s = strengths(spec)
    return ps.Plan(
        init=lambda key: balanced(jnp.full(spec.modes, spec.epsilon)),
        measure=lambda w: Observed(loss(w, s), w["a"] * w["b"] / s),
        stages=(ps.Stage("training", dynamics, times),),
    )


@ps.arm(reads=("modes", "epsilon", "eta", "steps"))
def descent(spec):
    """Gradient descent; time counts steps."""
    gd = ps.descent(lambda w, batch: loss(w, strengths(spec)), optax.sgd(spec.eta))
    return plan(spec, gd, ps.log_times(spec.steps, 200))


@ps.arm(reads=("modes", "epsilon"))
def flow(spec):
    """Gradient flow, by an ODE solver."""
    downhill = lambda w: jax.tree.map(jnp.negative, jax.grad(loss)(w, strengths(spec)))
    return plan(spec, ps.flow(downhill), np.linspace(0.1, 15.0, 150))


@ps.arm(reads=("modes", "epsilon"))
def logistic(spec):
    """The closed form: every mode follows its own logistic curve."""
    s = strengths(spec)
    curve = lambda t: balanced(s / (1 + (s / spec.epsilon - 1) * jnp.exp(-2 * s * t)))
    return plan(spec, ps.formula(curve), np.linspace(0.1, 15.0, 150))


@ps.claim(
    "time course of learning",
    ps.on("population", ps.runs(flow), ps.runs(logistic)),
    kind="identity",
    tex=r"a_i b_i = s_i / (1 + (s_i / \epsilon - 1) e^{-2 s_i t})",
)
def every_mode_is_logistic(flow, logistic):
    """Gradient flow from a balanced start follows the closed form at all times."""
    error = ps.chosen(1e-6, "a thousand times the solver's error in a step")
    moved = ps.guard(ps.increasing(logistic.progress.isel(mode=0), "progress", strictly=False))
    return ps.agree(flow.progress, logistic.progress, atol=error) & moved


@ps.claim(
    "stage-like transitions",
    ps.on("population", ps.runs(flow)),
    kind="order",
    tex=r"s_i > s_j \Rightarrow t_i < t_j",
)
def stronger_modes_are_learnt_first(flow):
    """Mode i is half learnt before mode j whenever s_i > s_j."""
    return ps.increasing(ps.crossing(flow.progress, 0.5), "half-times", along="mode")


@ps.claim(
    "time scale of a mode",
    ps.on("closed form", ps.sweeps(logistic, epsilon=[1e-2, 1e-3, 1e-4, 1e-5])),
    kind="rate",
    tex=r"s_i t_i = \tfrac12 \ln(1/\epsilon) + O(1)",
    as_=("epsilon", "0"),
)
def waiting_time_is_logarithmic(runs):
    """s_i t_i = log(1 / epsilon) / 2 + O(1): exp(2 s_i t_i) grows like 1 / epsilon."""
    t = ps.crossing(runs.progress.sel(mode=0), 0.5)
    tol = ps.chosen(0.01, "what the O(1) may add to the slope over three decades")
    one = ps.stated(1.0, "time scale of a mode")
    return ps.scales_like(np.exp(2 * 3 * t), 1 / t.epsilon, one, tol, "exp(2 s t)")


@ps.figure("learning curves", ps.runs(descent))
def learning_curves(descent, axes):
    """Every mode stays near zero, then rises like a logistic curve; the strongest rises first."""
    descent.progress.plot.line(x="time", ax=axes)


study = ps.Study(
    "linear_modes",
    Spec(),
    paper="Saxe, McClelland & Ganguli, Exact solutions to the nonlinear dynamics of learning (2014)",
    arms=(descent, flow, logistic),
    claims=(every_mode_is_logistic, stronger_modes_are_learnt_first, waiting_time_is_logarithmic),
    figures=(learning_curves,),
)
