"""Maps: how sparse frozen attention is, and how much the decoder's memory holds it back."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..claims.evidence import log_grid
from ..closed_forms import t_bar
from ..data import common_weight
from ..training import symmetric

K = 4.0
OUTPUTS = 1000.0
UNIT = float(t_bar(K, OUTPUTS, 1.0))
RATES = np.geomspace(1e-3, 10.0, 256)
OVERLAPS = {float(common_weight(rho, 20)): rho for rho in np.geomspace(0.01, 0.5, 64)}
SWEEP = ps.sweeps(
    symmetric,
    classes=K,
    vocabulary=OUTPUTS,
    common=1,
    distinct=20,
    p_common=list(OVERLAPS),
    eta_Z=RATES.tolist(),
    optimiser="flow",
    horizon=1000 * UNIT,
    at=log_grid(UNIT, per_decade=4),
    keep=("dt_entropy", "lag"),
)


@ps.figure("Section 6 (ours): what freezes the attention", SWEEP, panels=(1, 2), size=(7.6, 3.2))
def map_of_freezing(runs, axes):
    """One common token, K = 4 classes of M = 1000 outputs, in flow up to 1000 units of time, over the ratio of the
    rates and the overlap rho_0 of two classes at the start. (a) Entropy among distinct tokens, where the attention
    has frozen: {least:.3f} to {most:.3f} nat, so that neither number makes it sparse; it is
    least at eta_Z / eta_Y = {turn_weak:.1g} at rho_0 = 0.01 and {turn_strong:.1g} at rho_0 = 0.5. (b) Velocity of the
    common token over the one without the decoder's memory. Assumption 1 (c) is that the decoder is much faster than
    the attention: nine tenths of the velocity (our choice) are kept up to eta_Z / eta_Y = {weak:.2f} at rho_0 =
    0.01, but only up to {strong:.3f} at rho_0 = 0.5. Much faster means {times_weak:.0f} times there and
    {times_strong:.0f} times here."""
    end = runs.isel(time=-1)
    entropy = over_overlaps(end.dt_entropy.isel({"class": 0}, drop=True))
    lag = over_overlaps(end.lag)
    ps.draw_map(entropy, axes[0], label="entropy of distinct tokens (nat)")
    ps.draw_map(lag, axes[1], levels=[0.5, 0.9], label="velocity / that without memory")
    weak, strong = (kept_until(lag.isel(rho_0=place)) for place in (0, -1))
    return {
        "least": float(entropy.min()),
        "most": float(entropy.max()),
        "turn_weak": float(entropy.isel(rho_0=0).idxmin("ratio")),
        "turn_strong": float(entropy.isel(rho_0=-1).idxmin("ratio")),
        "weak": weak,
        "strong": strong,
        "times_weak": 1 / weak,
        "times_strong": 1 / strong,
    }


def kept_until(lag: xr.DataArray) -> float:
    """The ratio of the rates up to which nine tenths of the velocity are kept, between records in its logarithm."""
    by_logarithm = lag.assign_coords(time=("ratio", np.log(lag.ratio.values))).swap_dims(
        ratio="time"
    )
    return float(np.exp(ps.crossing(by_logarithm, 0.9, "down")))


def over_overlaps(x: xr.DataArray) -> xr.DataArray:
    """The same over eta_Z / eta_Y and the overlap rho_0 that the weight of the common token makes."""
    overlaps = [OVERLAPS[float(weight)] for weight in x.p_common]
    rates = x.eta_Z.values
    x = x.reset_coords(drop=True).rename(p_common="rho_0", eta_Z="ratio")
    words = {"symbol": r"\rho_0", "long_name": "overlap of two classes"}
    rho = xr.Variable("rho_0", overlaps, words)
    rate = xr.Variable("ratio", rates, {"symbol": r"\eta_Z / \eta_Y"})
    return x.transpose("ratio", "rho_0").assign_coords(rho_0=rho, ratio=rate)


figures = (map_of_freezing,)
