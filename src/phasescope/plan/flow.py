"""flow: the fourth kind of dynamics, an ordinary differential equation solved by diffrax."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from .dynamics import Dynamics, State, everything, is_finite, put

# Of a time, what moves, and arguments that are not used: the velocity of what moves.
Velocity = Callable[[Any, Any, Any], Any]


class flow(Dynamics):
    """An ordinary differential equation `d where(params) / dt = field(params)`, with error control.

        >>> import jax.numpy as jnp
        >>> decay = ps.flow(lambda w: -w)
        >>> with ps.exact_numbers():
        ...     w = jnp.ones(())
        ...     start = ps.State(w, None, decay.init(w))
        ...     end = decay.advance(start, jnp.array(0.0), jnp.array(1.0), jax.random.key(0))
        >>> bool(abs(float(end.params) - np.exp(-1)) < 1e-8)
        True

    **Arguments:**

    - `field`: of params, gives the velocity of what moves.
    - `rtol`, `atol`: tolerances of the solver.
    - `kappa`: above 0, the solver works in s = log(1 + kappa t), so that its steps grow with t:
      late-time laws at t = e^40 cost no more than early ones.
    - `where`: selects what moves, the rest is frozen.
    - `max_steps`: between two record times; a solve that fails gives nan, and the run has diverged.
    - `solver`: of diffrax. The default is for smooth problems; where stability limits the step, one
      of lower order takes fewer stages.
    """

    field: Callable[[Any], Any]
    rtol: Any = 1e-9
    atol: Any = 1e-12
    kappa: float = 0.0
    where: Callable[[PyTree], PyTree] = everything
    max_steps: int = 200_000
    solver: diffrax.AbstractSolver = diffrax.Dopri8()
    divisible: ClassVar[bool] = False

    def init(self, params: PyTree) -> PyTree:
        """The size of the last step, so that an interval starts where the one before left off; 0: not known."""
        return jnp.zeros(())

    def advance(self, state: State, t0: Array, t1: Array, key: Array) -> State:
        params = state.params

        def velocity(s, moving, args):
            rate = self.field(put(params, self.where, moving))
            # dt/ds = (1 + kappa t) / kappa = e^s / kappa
            return jax.tree.map(lambda r: r * jnp.exp(s) / self.kappa, rate) if self.kappa else rate

        clock = (lambda t: jnp.log1p(self.kappa * t)) if self.kappa else (lambda t: t)
        start, stop = clock(jnp.asarray(t0, float)), clock(jnp.asarray(t1, float))
        # A lane that is no longer finite must not spin: nothing is left to solve for it.
        stop = jnp.where(is_finite(params), stop, start)
        span = stop - start
        guess = jnp.minimum(
            2 * state.carry, span
        )  # record times spread out: let the step grow with them
        first = jnp.where(state.carry > 0, guess, 1e-3 * span)
        solve = _in_place_of_diffrax.get() or type(self).solve
        moving, taken = solve(self, velocity, start, stop, first, self.where(params))
        return State(put(params, self.where, moving), state.memory, span / taken)

    def controller(self) -> diffrax.PIDController:
        """What chooses the size of a step."""
        return diffrax.PIDController(rtol=self.rtol, atol=self.atol)

    def solve(
        self, velocity: Velocity, start: Array, stop: Array, first: Array, moving: PyTree
    ) -> tuple[PyTree, Array]:
        """What moves, at `stop`, nan if that was not reached; and the number of steps taken, 1 at least.

        `first` is the size of the first step.
        """
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(velocity),  # type: ignore[arg-type]
            self.solver,
            start,
            stop,
            first,
            moving,
            stepsize_controller=self.controller(),
            saveat=diffrax.SaveAt(t1=True),
            max_steps=self.max_steps,
            throw=False,
            adjoint=diffrax.ForwardMode(),  # a run is not differentiated backwards: less to trace
        )
        solved = solution.result == diffrax.RESULTS.successful
        end = jax.tree.map(lambda y: jnp.where(solved, y[-1], jnp.nan), solution.ys)
        return end, jnp.maximum(solution.stats["num_accepted_steps"], 1)


# What solves a flow: `flow.solve`, or another of the same arguments and results.
Solve = Callable[[flow, Velocity, Array, Array, Array, PyTree], tuple[PyTree, Array]]

_in_place_of_diffrax: ContextVar[Solve | None] = ContextVar("in_place_of_diffrax", default=None)


@contextlib.contextmanager
def solved_by(solve: Solve) -> Iterator[None]:
    """Inside, flows that are advanced, or traced, are solved by `solve` and not by diffrax."""
    token = _in_place_of_diffrax.set(solve)
    try:
        yield
    finally:
        _in_place_of_diffrax.reset(token)
