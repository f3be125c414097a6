r"""Arms of theory: gradient flow in log time, and the read-out under frozen attention.

Descent with step $\eta$ follows the flow in $\tau = \eta t$ closely up to $\eta \approx 1$ (the step enters through
$\tau$ alone), so `time` is $\tau$ here. Late-time laws are approached like $1/\log\tau$; the solver therefore works in
$s = \log(1 + \kappa\tau)$, in which $\tau = e^{40}$, some $10^{18}$ steps of descent, is one second away.
"""

from __future__ import annotations

from jax import Array

import phasescope as ps

from .observables import derive, measure_reduced
from .reductions import symmetry
from .spec import TRAINING, Spec
from .training import coordinates

KAPPA = 1e4  # log time from tau = 1e-4 on
RECORDS = 240


@ps.arm(reads=(*TRAINING, "horizon"))
def log_flow(spec: Spec) -> ps.Plan:
    """Gradient flow of u and W in log time, in the coordinates of the symmetry reduction; time is tau."""
    pivots = spec.pivots
    alpha = spec.weights

    def follow(k: Array | float) -> ps.Dynamics:
        return ps.flow(
            lambda state: symmetry.velocity(state, pivots, spec.lam, k, alpha=alpha), kappa=KAPPA
        )

    fast = 1.0 if spec.schedule == "two_phase" else 1 / spec.lam
    slow = 1 / spec.lam
    split = spec.eta * spec.switch
    rest = ps.log_times(end_of(spec) - split, RECORDS, first=1e-2)
    return ps.Plan(
        init=lambda key: symmetry.zeros(spec.size),
        stages=(
            ps.Stage("phase 1", follow(fast), ps.log_times(split, 40, first=1e-3)),
            ps.Stage("phase 2", follow(slow), rest),
        ),
        measure=lambda state: measure_reduced(state, spec),
        derive=lambda ds: derive(ds, spec, split),
        coords=coordinates(spec),
    )


@ps.arm(reads=(*TRAINING, "horizon"))
def frozen(spec: Spec) -> ps.Plan:
    """Descent through phase 1, then the flow of u alone with the attention frozen as it is; time is tau."""
    pivots = spec.pivots
    alpha = spec.weights
    k = 1.0 if spec.schedule == "two_phase" else 1 / spec.lam

    def step(state: symmetry.State, t: Array, key: Array) -> symmetry.State:
        return symmetry.step(state, pivots, spec.eta, spec.lam, k, alpha=alpha)

    def read_out(state: symmetry.State) -> Array:
        return symmetry.velocity(state, pivots, spec.lam, 0.0, alpha=alpha).v

    descent = ps.iterate(step, lanes_last=True)
    flow = ps.flow(read_out, kappa=KAPPA, where=lambda state: state.v)
    split = spec.eta * spec.switch
    rest = ps.log_times(end_of(spec) - split, RECORDS, first=1e-2)
    return ps.Plan(
        init=lambda key: symmetry.zeros(spec.size),
        stages=(
            ps.Stage("phase 1", descent, ps.log_times(spec.switch, 40), unit=spec.eta),
            ps.Stage("frozen", flow, rest),
        ),
        measure=lambda state: measure_reduced(state, spec),
        derive=lambda ds: derive(ds, spec, split),
        coords=coordinates(spec),
    )


def end_of(spec: Spec) -> Array | float:
    r"""Where the flow ends, in $\tau$: the horizon, or what the steps of descent amount to."""
    return spec.eta * spec.steps if spec.horizon is None else spec.horizon
