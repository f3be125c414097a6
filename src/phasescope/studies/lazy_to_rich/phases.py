r"""When the phases begin and end, by the theorem's definitions and by a robust one.

$T_{II}, T_{III}$ count from an observation time $T_o$, which the theorem leaves open. Its proof
takes $T_1^h$, when $h$ first reaches $h^\star$ (`paper`); there $h$ may still be relaxing, and one
per cent of the loss is lost to that. The robust choice $T_o = N (3.5 + \ln(1/c^\star))$ waits until
the excess of $h$ is a thousandth of the plateau.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import xarray as xr

import phasescope as ps

from .event_times import ROUGH, SMOOTH, first_time, value_at
from .spec import Spec

ROUNDING = (
    1e-9  # of the loss at the start: below it the differences from the fixed point are rounding
)
Observation = Literal["paper", "robust"]

spec_of = Spec.of


def keys(ds: xr.Dataset) -> Any:
    r"""$N = L - 2$, the number of keys."""
    return ps.number(ds, "length") - 2


def g_star(ds: xr.Dataset) -> Any:
    r"""$g^\star = \alpha^\star / (1 + \alpha^\star)$."""
    alpha = ps.number(ds, "alpha")
    return alpha / (1 + alpha)


def h_star(ds: xr.Dataset) -> Any:
    r"""$h^\star = 1 / (1 + \alpha^\star)$."""
    return 1 / (1 + ps.number(ds, "alpha"))


def c_star(ds: xr.Dataset) -> Any:
    r"""$c^\star = w^{\star 2}$."""
    return ps.number(ds, "w_star") ** 2


def points(ds: xr.Dataset) -> int:
    """How many records carry a value: few where the run takes steps, which sampling makes rough."""
    return ROUGH if "time_per_step" in ds.attrs else SMOOTH


def robust_observation(ds: xr.Dataset) -> Any:
    r"""$T_o = N (3.5 + \ln(1/c^\star))$."""
    return keys(ds) * (3.5 + np.log(1 / c_star(ds)))


def logarithm(x: xr.DataArray) -> xr.DataArray:
    """ln x; NaN where x is not positive (a loss at the level of rounding)."""
    return xr.apply_ufunc(np.log, x.where(x > 0))


def falls_to(ds: xr.Dataset, name: str, fraction: float, after: Any = None) -> xr.DataArray:
    """First time at which a loss is `fraction` of its value at `after` (at the start if not given)."""
    loss = logarithm(ds[name])
    if after is None:
        after = 0.0
        start = loss.isel(time=0, drop=True)
    else:
        start = value_at(loss, after, points(ds))
    return first_time(loss - start, np.log(fraction), "down", after, points(ds))


def reaches(ds: xr.Dataset, name: str, level: Any) -> xr.DataArray:
    """First time at which an observable comes to a level from below."""
    return first_time(ds[name], level, "up", points=points(ds))


def turning_time(ds: xr.Dataset) -> xr.DataArray:
    r"""$T_2^h$, the maximum of $h$: $\dot h = 0$ where $h$ overtakes its quasi-equilibrium."""
    return first_time(ds.h - ds.h_qe, 0.0, "up", points=points(ds))


def observation_time(ds: xr.Dataset, observation: Observation = "robust") -> Any:
    """$T_o$ by one of the two definitions."""
    return reaches(ds, "h", h_star(ds)) if observation == "paper" else robust_observation(ds)


def emergence(ds: xr.Dataset, fraction: float, after: Any = None) -> xr.DataArray:
    r"""First $t > T_o$ at which $\mathcal L_{IH}$ is `fraction` of its value at $T_o$; $T_o$ is robust if not given."""
    return falls_to(ds, "loss_ih", fraction, robust_observation(ds) if after is None else after)


def phase_times(ds: xr.Dataset, observation: Observation = "robust") -> xr.Dataset:
    """All phase times and the sharpness of emergence; NaN where the horizon ends before the phase."""
    at = observation_time(ds, observation)
    leave, half, end = (emergence(ds, fraction, at) for fraction in (0.99, 0.5, 0.01))
    return xr.Dataset(
        {
            "T_I": falls_to(ds, "loss_g4", 0.01),
            "T_half_g": reaches(ds, "g", g_star(ds) / 2),
            "T_1_g": reaches(ds, "g", g_star(ds)),
            "T_1_h": reaches(ds, "h", h_star(ds)),
            "T_2_h": turning_time(ds),
            "T_half_w": reaches(ds, "w_kq", ps.number(ds, "w_star") / 2),
            "T_o": at,
            "T_II": leave,
            "T_50": half,
            "T_III": end,
            "sharpness": (end - leave) / leave,
        }
    )


def ran_to_the_end(ds: xr.Dataset) -> ps.Verdict:
    """Undecided if a run broke off: what it would have shown later is unknown."""
    last = [x.isel(time=-1) for x in ds.data_vars.values() if "time" in x.dims]
    if not all(bool(np.isfinite(x).all()) for x in last):
        return ps.undecided("the last record is not known", "a run to the end")
    return ps.reached(ds)


def against(x: xr.DataArray, axis: str, name: str, values: xr.DataArray) -> xr.DataArray:
    """The same numbers over a function of their axis: over 1 + alpha, over 1 / sigma."""
    return x.assign_coords({axis: np.asarray(values, float)}).rename({axis: name})


def inverse_start(x: xr.DataArray) -> xr.DataArray:
    """What was swept over sigma, over 1 / sigma, which grows."""
    return against(x, "sigma", "1/sigma", 1 / x.sigma)


def log_start(x: xr.DataArray) -> xr.DataArray:
    """What was swept over sigma, over ln(1 / sigma), the theorem's own variable."""
    return against(x, "sigma", "log(1/sigma)", np.log(1 / x.sigma))


def by_proportion(x: xr.DataArray) -> xr.DataArray:
    """What was swept over alpha, over 1 + alpha."""
    return against(x, "alpha", "1 + alpha", 1 + x.alpha)


def inverse_target(x: xr.DataArray) -> xr.DataArray:
    """What was swept over w*, over 1 / w*, which grows."""
    return against(x, "w_star", "1/w*", 1 / x.w_star)


def falls(x: xr.DataArray, what: str, where: xr.DataArray) -> ps.Verdict:
    """Each record is below the one before, among the records marked."""
    step = x.diff("time")
    both = where & where.shift(time=1, fill_value=False)
    return ps.negative(step, f"change of {what}", where=both.sel(time=step.time))


def learning(runs: xr.Dataset) -> xr.DataArray:
    """The records at which something is left to learn."""
    return runs.loss_ih > ROUNDING * runs.loss_ih.isel(time=0, drop=True)


def once_learned(
    runs: xr.Dataset, judge: Callable[[xr.Dataset], ps.Verdict], left: float = 1e-5
) -> ps.Verdict:
    """What `judge` says of the runs if all lanes have learned the induction head at their end.

    Learned is when at most `left` of the loss at the start is left; a horizon before that says nothing.
    """
    last = float((runs.loss_ih.isel(time=-1) / runs.loss_ih.isel(time=0)).max(skipna=False))
    if not last <= left:
        return ps.undecided(
            f"at the end {last:.3g} of the induction head's loss is left", f"a run until {left:g}"
        )
    return judge(runs)
