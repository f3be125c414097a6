"""Evidence for the tests of the claims: the symmetric reduction, which takes a quarter of a second at any size, stands in for
most runs, with what it cannot know made up so that the claims come out as established."""

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope.claims.requests import Recorded, Request, Runs, Sweeps, Tables
from phasescope.studies.co_occurrence import study
from phasescope.studies.co_occurrence.claims import evidence as asked
from phasescope.studies.co_occurrence.claims.regressions import FIGURE_1
from phasescope.studies.co_occurrence.spec import LABELS, SHARES
from phasescope.studies.co_occurrence.theory import orthogonal, population
from phasescope.testing import labelled_like
from phasescope.verbs.evidence import Evidence

DESCENTS = ("weights", "gram_descent")  # the arms that take steps
NEURONS = (
    "U_change",
    "U_change_random",
    "U_output_change",
    "U_rate_random",
    "U_rate_common",
    "U_norms",
    "U_cross_neurons",
    "U_cross_values",
)


def stand_in(request: Request, evidence: Evidence) -> xr.Dataset:
    """The evidence asked for, or something cheaper of the same kind."""
    real = lambda other: evidence.get(other)[0]
    if isinstance(request, Tables | Recorded) or request == asked.small_families:
        return real(request)
    if isinstance(request, Sweeps) and "output" in dict(request.axes):
        return _relevance(request)
    if request == asked.figure_1:
        return _figure_1(real(asked.figure_1_descent), request)
    if request.arm in (orthogonal, population):
        return real(request)
    if request.preset == "tiny" and request.arm.__name__ not in DESCENTS:
        return _small(real(asked.small_families), request)
    if dict(request.changes).get("init") == "orthogonal":
        return labelled_like(real(_reduced(request, 1.0)), study, request)
    axes = dict(request.axes) if isinstance(request, Sweeps) else {}
    parts = [
        _dressed(real(_reduced(request, attention)), request)
        for attention in axes.get("attention", (1.0,))
    ]
    ds = parts[0]
    if "attention" in axes:
        ds = xr.concat(parts, xr.Variable("attention", list(axes["attention"])))
    if isinstance(request, Sweeps):
        ds = ds.expand_dims(seed=np.arange(request.seeds)).copy()
    return labelled_like(_made_up(ds, request), study, request)


def _spec(request: Runs | Sweeps):
    return study.specify(request.preset, **dict(request.changes))


def _figure_1(descent: xr.Dataset, request: Sweeps) -> xr.Dataset:
    """Descent for the flow: they differ by less than a thousandth. Frozen attention costs one per cent."""
    conserved = 0 * descent.casimir + descent.casimir.isel(time=0, drop=True)
    trained = descent.assign(casimir=conserved)
    frozen = trained.assign(
        loss=(1 + FIGURE_1["cost of freezing"]) * trained.loss, G_all=0.999 * trained.G_all
    )
    both = xr.concat([trained, frozen], xr.Variable("attention", [1.0, 0.0]))
    return labelled_like(both, study, request)


def _small(families: xr.Dataset, request: Runs) -> xr.Dataset:
    """A run of the six families for one of the same weights, or of their Gram matrices."""
    ds = families.drop_vars([*NEURONS, "N_change"])
    if request.arm.__name__ == "weight_flow":
        still = 1e-12 * ds.tau / (1 + ds.tau)
        ds = ds.assign(N_change=families.N_change, drift=still.expand_dims(invariant=3, axis=-1))
    return labelled_like(ds, study, request)


def _reduced(request: Runs | Sweeps, attention: float) -> Runs:
    """The same numbers, started orthogonally, with distinct words."""
    spec = _spec(request)
    changes = dict(request.changes) | {"dim": max(spec.dim, spec.smallest_dim)}
    if request.arm.__name__ in DESCENTS:
        changes["horizon"] = spec.eta * spec.steps
    for name in ("init", "words", "steps"):
        changes.pop(name, None)
    if request in asked.theory_runs:
        changes["width"] = 2 * spec.width  # without noise a trend is seen where draws would hide it
    return ps.runs(
        orthogonal, preset=request.preset, at=request.at, **changes | {"attention": attention}
    )


def _dressed(ds: xr.Dataset, request: Runs | Sweeps) -> xr.Dataset:
    """With the observables of single samples and neurons, which the reduction does not have."""
    spec = _spec(request)
    m = spec.width
    grown = ds.tau / (1 + ds.tau)
    kinds = np.repeat(np.arange(4), [round(share * spec.samples) for share in SHARES])
    labels = xr.DataArray(np.array(LABELS)[kinds], dims="sample")
    F = ds.F_type.isel(type=xr.DataArray(kinds, dims="sample")).drop_vars("type")
    F = F + 0.3 * spec.zeta * (1 - grown) * labels
    C_12 = ds.C.sel(key=1, query=2, drop=True)
    value = 1.3 * np.maximum(ds.tau, 1e-9) / (3 + ds.tau) * np.maximum(ds.s, 1e-9)
    first = ds.gsum.sel(type=2, drop=True)
    lean = xr.where(ds["type"] == 2, 1 + 0.02 * float(spec.zeta) / (1 + ds.s), 1.0)
    norms = xr.DataArray([1 - m**-0.5, 1 + m**-0.5], dims="bound")
    unit = float((spec.scale_0**2 + spec.scale_1**2) * m)
    return ds.assign(
        F=F.transpose("time", "sample"),
        margin=(F * labels).transpose("time", "sample"),
        gsum=(ds.gsum * lean).transpose("time", "type"),
        balance=0.02 * float(spec.zeta) / (1 + ds.s) + 0 * first,
        N_change=0.1 / m * grown,
        K_change=m**-1.95 * grown,
        Q_change=m**-1.95 * grown,
        C_random=C_12 * 0.25 * (128 / m) ** 0.12,
        S_change=ds.S_change * (100 if request.preset == "tiny" else 1),
        value_part=ds.value_share / 4,
        softmax_part=1e-3 * m**-1.8 * grown,
        U_change=value / spec.neurons,
        U_change_random=value / spec.neurons * (1 / spec.samples + m**-0.5) ** 0.7,
        U_output_change=2 * value / spec.neurons / spec.length,
        U_rate_random=unit / spec.samples + 0 * grown,
        U_rate_common=0.2 * unit + 0 * grown,
        U_norms=(unit * norms + 0 * grown).transpose("time", "bound"),
        U_cross_neurons=0.3 * spec.scale_1**2 * (m * spec.neurons) ** 0.5 + 0 * grown,
        U_cross_values=0.3 * spec.scale_0**2 * m**0.5 + 0 * grown,
        drift=(1e-12 * grown).expand_dims(invariant=3, axis=-1),
        violation=_violation(grown),
        violation_error=(2e-15 + 0 * grown).expand_dims(invariant=3, axis=-1),
    )


def _violation(grown: xr.DataArray) -> xr.DataArray:
    sizes = xr.DataArray([1e-5, 1e-5, 0.0], dims="invariant")
    return (sizes + 0 * grown).transpose("time", ...)


def _made_up(ds: xr.Dataset, request: Runs | Sweeps) -> xr.Dataset:
    """What random weights and shared words do to a run."""
    changes = dict(request.changes)
    if changes.get("zeta") == 1.0:
        return ds.assign(margin_min=ds.margin_min - 1.0)
    if request in asked.theory_runs:
        return ds.assign(margin_min=ds.margin_min - 0.1)
    if request == asked.descent_literal:
        return ds.assign(loss_type=1.2 * ds.loss_type)
    if request == asked.figure_1_literal:
        return ds.assign(margin_min=ds.margin_min - 2.0)
    return ds


def _relevance(request: Sweeps) -> xr.Dataset:
    """The learned scores change sign where the frozen attention costs most."""
    axes = {k: np.array(v) for k, v in request.axes}
    time = np.array(request.at)
    count = axes["output"].size
    ratio = np.array([1.002, 1.01, 1.07, 1.5, 3.7, 5.0, 10.7, 9.0, 10.1])
    ratio = np.interp(np.linspace(0, 1, count), np.linspace(0, 1, ratio.size), ratio)
    loss = np.stack([np.ones(count), ratio], axis=1)[:, :, None] / (1 + time)
    C = np.zeros((count, 2, time.size, 3, 3))
    C[:, 0, :, 2, 0] = np.where(np.arange(count) < 2 * count / 3, -1.0, 20.0)[:, None]
    dims = ("output", "attention", "time")
    coords = axes | {"time": time, "key": [1, 2, 3], "query": [1, 2, 3]}
    ds = xr.Dataset({"loss": (dims, loss), "C": ((*dims, "key", "query"), C)}, coords)
    return labelled_like(ds, study, request)
