"""Where phases begin and end, by the paper's own criteria: the curriculum, learning intervals, ends of stages."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import phasescope as ps

from .spec import TheorySpec, end_of_stage
from .theory_model.feature_model import targets

spec_of = TheorySpec.of


def ran_to_the_end(*runs: xr.Dataset) -> ps.Verdict:
    """Undecided if a run broke off, or if a stage that ends at a loss never came down to it."""
    return ps.all_of(_ended(run) for run in runs)


def _ended(run: xr.Dataset) -> ps.Verdict:
    if run.attrs["arm"] != "routing":
        return ps.reached(run)
    spec = spec_of(run)
    if spec.algorithm == 1 or spec.features == "trained":
        return ps.reached(run)
    last = run.isel(time=-1)
    stages = int(last.stage) + 1
    is_low = float(last.stage_exponent) >= end_of_stage(spec)
    if stages < spec.stages or not is_low:
        return ps.undecided(
            f"stage {stages} of {spec.stages} is not at its loss", "a run to the end"
        )
    return ps.reached(run, float(last.time))  # it ended by itself; no record may be missing


def curriculum(start: xr.DataArray) -> list[tuple[int, int, int]]:
    r"""$\Sigma^*$ from the initial $V_\psi$ (image, neuron, value): the largest first; then the rest of its neuron and
    the same pair (image, value) in the other neurons of its class drop out."""
    left = np.nan_to_num(start.transpose("image", "neuron", "value").values, nan=-np.inf)
    order = []
    for _ in range(left.shape[0] * left.shape[2]):
        j, r, y = (int(i) for i in np.unravel_index(np.argmax(left), left.shape))
        order.append((j, r, y))
        left[j, r, :] = -np.inf
        left[j, :, y] = -np.inf
    return order


def emergence(run: xr.Dataset) -> xr.Dataset:
    """One seed of `features`, feature by feature in the order of the curriculum.

    `time` and `begin`: when the pair (image, value) was learned, by whichever neuron; `hit`: whether it was the one the
    curriculum names.
    """
    first = run.isel(time=0)
    last = run.isel(time=-1)
    learned = last.learned.transpose("image", "neuron", "value").values
    began = last.began.transpose("image", "neuron", "value").values
    rows = []
    for j, r, y in curriculum(first.combined):
        times = learned[j, :, y]
        winner = int(np.nanargmin(times)) if np.isfinite(times).any() else r
        rows.append((times[winner], began[j, winner, y], float(winner == r)))
    time, begin, hit = np.array(rows).T
    rank = np.arange(len(rows))
    return xr.Dataset(
        {"time": ("rank", time), "begin": ("rank", begin), "hit": ("rank", hit)}, {"rank": rank}
    )


def rank_correlation(found: xr.Dataset) -> float:
    """Kendall's tau between place in the curriculum and time of emergence; nan if a feature never came."""
    if not np.isfinite(found.time.values).all():
        return np.nan
    from scipy.stats import kendalltau  # half a second that few claims need

    found_tau: Any = kendalltau(found["rank"].values, found.time.values)
    return float(found_tau[0])


def overlaps(found: xr.Dataset) -> int:
    """Neighbours in time whose intervals [begin, time] overlap."""
    order = np.argsort(found.time.values)
    begin = found.begin.values[order]
    end = found.time.values[order]
    return int((begin[1:] < end[:-1]).sum())


def seeds_of(run: xr.Dataset) -> list[xr.Dataset]:
    """The runs of a sweep over seeds, or the one run."""
    return [run.isel(seed=i) for i in range(run.sizes["seed"])] if "seed" in run.dims else [run]


def shapes(record: xr.Dataset) -> dict[str, xr.DataArray]:
    """The four kinds of weights of active neurons at one record, and the two kinds of confounders.

    A neuron is active for the value at which its combined feature is largest, if that is above log(d) / 2. Features that
    two neurons share (they nearly tied at the start) are left out; `alone` says which features have one neuron.
    """
    spec = spec_of(record)
    right = np.swapaxes(targets(spec.action), 1, 2) == 1  # image, value, action
    psi = record.combined.transpose("image", "neuron", "value").values
    V_g = record.V_g.transpose("image", "neuron", "action").values
    V_y = record.V_y.transpose("image", "neuron", "value").values
    found: dict[str, list[float]] = {
        k: [] for k in ("g", "y", "other_g", "other_y", "conf_y", "conf_g", "alone")
    }
    best = (psi == psi.max(axis=2, keepdims=True)) & (psi > 0.5 * np.log(spec.vocabulary))
    for j, y in np.ndindex(psi.shape[0], psi.shape[2]):
        neurons = np.flatnonzero(best[j, :, y])
        found["alone"].append(float(neurons.size == 1))
        if neurons.size != 1:
            continue
        r = neurons[0]
        on = right[j, y]
        others = np.arange(psi.shape[2]) != y
        g = V_g[j, r, on]
        not_g = V_g[j, r, ~on]
        here = V_y[j, r, y]
        elsewhere = V_y[j, r, others]
        parts = {"g": g, "y": [here], "other_g": not_g, "other_y": elsewhere}
        parts |= {"conf_y": (g[:, None] + elsewhere).ravel(), "conf_g": not_g + here}
        for name, values in parts.items():
            found[name] += list(values)
    return {
        name: xr.DataArray(np.array(v, float), dims="weight", name=name)
        for name, v in found.items()
    }


def stage_ends(run: xr.Dataset) -> xr.Dataset:
    """The last record of every stage of the attention, by its length L_k."""
    stage = run.stage.values
    ends = run.isel(time=[int(np.flatnonzero(stage == k)[-1]) for k in np.unique(stage)])
    return ends.assign_coords(length=("time", ends.stage_length.values)).swap_dims(time="length")


def solved(run: xr.Dataset, factor: int) -> xr.DataArray:
    """Rollout accuracy at `factor` times the length of each stage, at its end."""
    lengths = 2 ** np.arange(1, run.sizes["stage_end"] + 1)
    values = [
        float(run.rollout_accuracy.isel(stage_end=k).sel(chain_length=factor * L))
        for k, L in enumerate(lengths)
    ]
    return xr.DataArray(
        values, {"length": lengths.astype(float)}, ("length",), name=f"accuracy at {factor} L_k"
    )
