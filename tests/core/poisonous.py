"""A study for workers that are killed: blocks of half a second, and some that take their worker with them."""

import os
import signal
import threading
import time

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

import phasescope as ps
from phasescope.cluster.watch import THREAD


class Spec(ps.Spec):
    width: int = ps.field(2, at_least=1)
    eta: float = ps.field(0.1, above=0)
    steps: int = ps.field(400, at_least=1)
    poison: str = ps.field("none", doc="none, crash, endless, memory, hunger or broken")
    pause: str = ps.field("0", doc="seconds of waiting before the run")


class Seen(ps.Observables):
    weight: Float[Array, "coordinate"]


def take(width: int, poison: str, pause: str) -> np.ndarray:
    """What the host makes for a run before it; some of it is bad for the process. A worker writes it down, if asked to."""
    log = os.environ.get("POISONOUS_LOG")
    if log and threading.current_thread().name == THREAD:  # others only look at shapes
        with open(log, "a") as file:
            file.write(f"{width} {time.time()}\n")
    if poison == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if poison == "endless":
        while True:
            time.sleep(0.1)
    if poison == "memory":
        raise MemoryError
    if poison == "hunger":
        held = []
        while True:
            held.append(np.ones(2**22))
            time.sleep(0.01)
    if poison == "broken":
        raise ZeroDivisionError("the study is wrong")
    time.sleep(float(pause))
    return np.ones(1)


def wander(spec):
    """A random walk on a circle."""
    step = lambda w, t, key: jnp.sin(w + spec.eta * jr.normal(key, (spec.width,)))
    stage = ps.Stage("walk", ps.iterate(step), ps.linear_times(spec.steps, 20))
    begin = lambda key, one: one * jr.normal(key, (spec.width,))
    return ps.Plan(begin, (stage,), Seen, tables=lambda: take(spec.width, spec.poison, spec.pause))


study = ps.Study("poisonous", Spec(), (wander,))
