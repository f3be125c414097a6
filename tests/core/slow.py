"""A study that takes a second or two, for processes that are stopped in the middle of it."""

import jax.numpy as jnp
import jax.random as jr
from jaxtyping import Array, Float

import phasescope as ps


class Spec(ps.Spec):
    steps: int = ps.field(60_000, traced=True)


class Seen(ps.Observables):
    weight: Float[Array, "coordinate"]


def wander(spec):
    """A long random walk on a circle, in two stages."""
    step = lambda w, t, key: jnp.sin(w + 0.1 * jr.normal(key, (8,)))
    there = ps.Stage("there", ps.iterate(step), ps.log_times(spec.steps, 40))
    back = ps.Stage(
        "back", ps.iterate(lambda w, t, key: -step(w, t, key)), ps.linear_times(spec.steps, 40)
    )
    return ps.Plan(lambda key: jr.normal(key, (8,)), (there, back), Seen)


study = ps.Study("slow", Spec(), (wander,))


def carry_on(root: str, seed: int) -> None:
    """What a process does: run into the store and save after every piece; any moment may be its last."""
    from phasescope.engine import calls as schedule
    from phasescope.engine.job import Job
    from phasescope.store import Store
    from phasescope.verbs.context import Context
    from phasescope.verbs.run import find_or_run

    schedule.TARGET_SECONDS = 0.02  # short pieces
    find_or_run(study, Job(wander, study.spec, seed), Context(Store(root), save_every=0.0))


def sweep_on(root: str, seeds: int) -> None:
    """What a process does: a sweep of many small blocks into the store; any moment may be its last."""
    ps.sweep(study, wander, steps=4000, seeds=seeds, block=1, store=root, progress=False)
