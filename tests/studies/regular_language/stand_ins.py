"""Evidence for the tests of the claims: real runs where they are cheap, else the same structure made up, on which the
claims must come out as established."""

import dataclasses
from collections.abc import Callable

import numpy as np
import xarray as xr

from phasescope.claims.requests import Request, Runs, Sweeps, Tables
from phasescope.studies.regular_language import study
from phasescope.studies.regular_language.claims import tables
from phasescope.studies.regular_language.claims.evidence import theorem_64, to_half_the_loss
from phasescope.studies.regular_language.training import symmetric
from phasescope.testing import labelled_like
from phasescope.verbs.evidence import Evidence


def stand_in(request: Request, evidence: Evidence) -> xr.Dataset:
    """The evidence asked for, or something cheaper of the same kind."""

    def real(other: Request) -> xr.Dataset:
        return evidence.get(other)[0]

    if isinstance(request, Tables):
        return _saddle() if request.function is tables.saddle else real(request)
    if isinstance(request, Sweeps):
        return _sweep(request, real)
    arm = request.arm.__name__
    if request.preset in ("theorem_256", "theorem_1024"):
        run = real(theorem_64)
        return (
            run
            if request.preset == "theorem_256"
            else run.drop_vars(["score_other", "W_drift", "margin_norm"])
        )
    if arm in ("log_flow", "frozen"):
        return _flow(request)
    if arm == "handover":
        return _handover(request)
    if arm == "exhaustive":
        run = real(dataclasses.replace(request, arm=symmetric))
        same = 0 * run.loss
        grows = 0.4 * run.time / run.time.max()
        return run.assign(token_asymmetry=same, score_asymmetry=same, self_asymmetry=same + grows)
    if request in to_half_the_loss:
        return _long_phase_1(request)
    return real(request)


def _labelled(ds: xr.Dataset, request: Runs | Sweeps) -> xr.Dataset:
    """As the run that was asked for; and all lengths are right."""
    spec = study.specify(request.preset, **dict(request.changes))
    lengths = np.arange(1, spec.size + 1)
    ds = ds.assign_coords(length=lengths).assign(accuracy_by_length=("length", np.ones(spec.size)))
    return labelled_like(ds, study, request)


def _saddle() -> xr.Dataset:
    return xr.Dataset({"growth": 0.0207314549, "lowest": -0.0207314549})


def _flow(request: Runs) -> xr.Dataset:
    """The loss falls like 1 / t, and the read-out grows by |u*| in each e-fold."""
    t = xr.DataArray(np.geomspace(1e-2, dict(request.changes)["horizon"], 240), dims="time")
    ds = xr.Dataset(
        {"loss": 4 / (1 + t), "u_norm": 151.2 * np.log1p(t), "margin_norm": 151.2},
        {"time": t.values},
    )
    return _labelled(ds, request)


def _handover(request: Runs) -> xr.Dataset:
    values = {
        "loss": [2.0794, 2.5884, 0.41416, 0.09450, 0.04688],
        "accuracy": [0.5, 2 / 3, 1.0, 1.0, 1.0],
    }
    ds = xr.Dataset(
        {k: ("time", v) for k, v in values.items()}, {"time": [0.0, 1000.0, 2000.0, 3000.0, 4000.0]}
    )
    return _labelled(ds, request)


def _long_phase_1(request: Runs) -> xr.Dataset:
    """All strings are right from N^0.8 on, and the loss is halved at 11 N^1.46."""
    N = dict(request.changes)["max_length"]
    time = np.array(request.at, dtype=float)
    chance = (N - 1) * np.log(2)
    loss = chance / (1 + (time / (11 * N**1.46)) ** 2)
    right = np.where(time >= 15 * N**0.8, 1.0, 0.5)
    return _labelled(
        xr.Dataset({"loss": ("time", loss), "accuracy": ("time", right)}, {"time": time}), request
    )


def _sweep(request: Sweeps, real: Callable) -> xr.Dataset:
    """A sweep over lam or over random starts; that of R8 is cheap enough to be run."""
    axes = {k: np.array(v) for k, v in request.axes}
    changes = dict(request.changes)
    if "init_scale" in axes:
        axes = {"seed": np.arange(request.seeds), **axes, "time": np.array(request.at, dtype=float)}
        fall = 2.08 * np.array([1.0, 0.1])
        return _labelled(
            xr.Dataset({"loss": (list(axes), np.broadcast_to(fall, (4, 2, 2)).copy())}, axes),
            request,
        )
    lam = axes["lam"]
    if "base_length" in changes:
        power = 2.017 if changes["base_length"] == 4 else 1.02
        return _labelled(xr.Dataset({"margin_norm": ("lam", 500 * lam**power)}, axes), request)
    if "schedule" in changes or lam[-1] == 4096:
        half = 30 * lam[:, None] ** (1.08 if "schedule" in changes else 0.54)
        time = np.array(request.at, dtype=float)
        loss = 5 * np.log(2) / (1 + time / half)
        return _labelled(
            xr.Dataset({"loss": (("lam", "time"), loss)}, {**axes, "time": time}), request
        )
    return real(request)
