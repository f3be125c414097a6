"""Small studies with known answers, on which the core is tested."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import xarray as xr
from jaxtyping import Array, Float

import phasescope as ps
from phasescope.engine.loop import execute
from phasescope.records.arrays import Records, join, part_of


class Spec(ps.Spec):
    width: int = ps.field(2, at_least=1, doc="coordinates")
    start: float = ps.field(1.0, doc="every coordinate at the start")
    eta: float = ps.field(0.1, above=0, symbol=r"\eta")
    noise: float = ps.field(0.5, at_least=0)
    goal: float = 0.05
    steps: int = ps.field(40, at_least=1, traced=True)


class Seen(ps.Observables):
    loss: Float[Array, ""] = ps.field(symbol="L", doc="half the squared length", unit="nat")
    weight: Float[Array, "coordinate"]


class Counted(ps.Observables):
    total: Float[Array, ""]


def loss(w, batch):
    return 0.5 * jnp.sum((w - (0.0 if batch is None else batch)) ** 2)


def measure(w):
    return Seen(loss(w, None), w)


def begin(spec):
    return lambda key: jnp.full(spec.width, spec.start)


def plan(spec, dynamics, times, **more):
    """One stage from `start`."""
    return ps.Plan(begin(spec), (ps.Stage("training", dynamics, times, **more),), measure)


def quadratic(spec):
    """Gradient descent on half the squared length: w_t = (1 - eta)^t w_0."""
    return plan(spec, ps.descent(loss, optax.sgd(spec.eta)), ps.linear_times(spec.steps))


@ps.arm(reads=("width", "start", "eta", "steps"), continuous=("width",))
def any_size(spec):
    """The descent of one coordinate, and the loss of `width` such: a size that is a mere number."""
    seen = lambda w: Seen(0.5 * spec.width * w[0] ** 2, w)
    stage = ps.Stage("training", ps.descent(loss, optax.sgd(spec.eta)), ps.linear_times(spec.steps))
    return ps.Plan(lambda key: jnp.full(1, spec.start), (stage,), seen)


def sparse(spec):
    """The same, recorded at its end only."""
    return plan(spec, ps.descent(loss, optax.sgd(spec.eta)), ps.linear_times(spec.steps, 1))


def sampled(spec):
    """Adam towards noisy targets around a mean that is held in memory."""
    draw = lambda key, memory: memory["mean"] + spec.noise * jr.normal(key, (spec.width,))
    start = lambda key: ps.State(
        jr.normal(key, (spec.width,)), {"mean": jnp.arange(1.0, spec.width + 1)}
    )
    stage = ps.Stage(
        "training",
        ps.descent(loss, optax.adam(spec.eta), sample=draw),
        ps.log_times(spec.steps, 12),
    )
    return ps.Plan(start, (stage,), measure)


def walk(spec):
    """A random walk; the drift changes with the step."""
    step = lambda w, t, key: w + spec.eta * (jr.normal(key, (spec.width,)) + jnp.sin(t))
    return plan(spec, ps.iterate(step), ps.log_times(spec.steps, 10))


def squaring(spec):
    """w <- w^2, which from 2 leaves the finite numbers at step 10, since 2^(2^10) does."""
    return plan(spec, ps.iterate(lambda w, t, key: w**2), ps.linear_times(spec.steps, 4))


def cubic_flow(spec):
    """dw/dt = -w^3, so w(t) = w_0 / sqrt(1 + 2 w_0^2 t)."""
    return plan(spec, ps.flow(lambda w: -(w**3)), ps.log_times(100.0, 20, first=0.1))


def cubic_formula(spec):
    """The closed form of the flow."""
    w0 = jnp.full(spec.width, spec.start)
    return plan(
        spec,
        ps.formula(lambda t: w0 / jnp.sqrt(1 + 2 * w0**2 * t)),
        ps.log_times(100.0, 20, first=0.1),
    )


def until_small(spec):
    """Descent that is left when the loss is below `goal`, looked at every 5 steps."""
    stop = lambda seen: seen.loss < spec.goal
    every_fifth = np.arange(5, 205, 5)
    return plan(spec, ps.descent(loss, optax.sgd(spec.eta)), every_fifth, until=stop)


def curriculum(spec):
    """Three stages: a head alone until it is good, then everything after a teacher of itself, then a flow."""

    def start(key):
        net = {"head": jr.normal(key, (spec.width,)), "body": jnp.full(spec.width, spec.start)}
        return ps.State(net, {"teacher": jnp.zeros(spec.width)})

    def teach(key, state):
        jitter = 0.1 * jr.normal(key, (spec.width,))
        return dataclasses.replace(state, memory={"teacher": state.params["head"] + jitter})

    error = lambda net, batch: loss(net["head"], batch) + loss(net["body"], net["head"])
    draw = lambda key, memory: memory["teacher"] + spec.noise * jr.normal(key, (spec.width,))
    adam = lambda where: ps.descent(error, optax.adam(spec.eta), sample=draw, where=where)
    good = lambda seen: seen.loss < spec.goal
    head = ps.Stage(
        "head only", adam(lambda net: net["head"]), np.arange(3, 63, 3), until=good, unit=0.5
    )
    both = ps.Stage(
        "everything", adam(lambda net: net), ps.linear_times(spec.steps, 7), enter=teach
    )
    rest = ps.Stage(
        "flow", ps.flow(lambda net: jax.tree.map(jnp.negative, net)), np.linspace(0.1, 2.0, 9)
    )
    look = lambda net: Seen(loss(net["head"], None), net["body"])
    return ps.Plan(
        start,
        (head, both, rest),
        look,
        inspect=lambda net: Counted(sum(map(jnp.sum, net.values()))),
    )


def enough(ds: xr.Dataset) -> xr.Dataset:
    """Add the length of the weight."""
    return ds.assign(length=np.sqrt(2 * ds.loss))


def derived(spec):
    """Descent with a quantity that follows from the records."""
    return dataclasses.replace(quadratic(spec), derive=enough)


@ps.claim("Lemma 1", ps.runs(quadratic, steps=10))
def loss_falls(run):
    """The loss falls at every step."""
    return ps.decreasing(run.loss)


@ps.figure("Figure 1", ps.runs(quadratic, steps=10))
def loss_curve(run, axes):
    """The loss falls like a power of 1 - eta."""
    axes.semilogy(run.time, run.loss)


ARMS = (
    quadratic, any_size, sparse, sampled, walk, squaring, cubic_flow, cubic_formula, until_small, curriculum, derived,
)  # fmt: skip
PRESETS = {"tiny": Spec(steps=6), "long": Spec(steps=100)}
study = ps.Study(
    "toys", Spec(), ARMS, (loss_falls,), (loss_curve,), paper="Nobody, Toys (2000)", presets=PRESETS
)


def same_bits(a: xr.Dataset, b: xr.Dataset) -> bool:
    """Whether two datasets agree in every variable and coordinate, bit for bit."""
    raw = lambda ds: {
        name: (v.dims, v.dtype, v.values.tobytes()) for name, v in ds.variables.items()
    }
    return raw(a) == raw(b)


def finish(job, start=None) -> Records:
    """The records of a job, executed from its beginning or from a checkpoint."""
    return join([part_of(chunk) for chunk in execute(job, start)])


def same_records(a: Records, b: Records) -> bool:
    """Whether two sets of records agree bit for bit."""
    first, second = a.to_arrays(), b.to_arrays()
    return first.keys() == second.keys() and all(
        first[k].tobytes() == second[k].tobytes() for k in first
    )
