"""Made-up evidence of decoders on text, on which the checks of their figures hold, and how to spoil it."""

import json

import numpy as np
import xarray as xr

from phasescope.networks import TextSpec

SEEDS = 2


def _dataset(spec, count, **variables):
    """Numbers over time as a sweep over seeds would have them; extra axes are named after the variable."""
    time = np.linspace(0, spec.updates, count)
    data = {}
    for name, (dims, values) in variables.items():
        shaped = np.asarray(values, float)
        data[name] = (("seed", *dims), np.stack([shaped] * SEEDS))
    attrs = {
        "spec": json.dumps(spec.to_json()),
        "planned_end": float(spec.updates),
        "records": count,
        "status": "finished",
    }
    coords = {"time": time, "seed": np.arange(SEEDS)}
    return xr.Dataset(data, coords, attrs)


def figure_2(normalised=False):
    """Slopes first, keys and queries exponentially later, a plateau that ends with them, an induction head."""
    spec = TextSpec(updates=97_800, records=300)
    t = np.linspace(0, spec.updates, 301)
    late = 8e3 if normalised else 5e4
    slopes = 0.02 + 2 / (1 + np.exp(-(t - 4e3) / 800))
    grown = 2.56 * (1 + 0.1 * np.exp((t - late) / (3e2 if normalised else 4e3)).clip(0, 50))
    loss = 7 + 3.4 * np.exp(-t / 3e3) - 1.5 / (1 + np.exp(-(t - late - 4e3) / 2e3))
    rise = 1 / (1 + np.exp(-(t - late) / 2e3))
    heads = np.stack([0.005 + 0.6 * rise, 0.005 + 0 * t], axis=-1)
    return _dataset(
        spec,
        301,
        training_loss=(("time",), loss),
        slope_norm=(("time",), slopes),
        key_query_norm=(("time",), grown),
        induction=(("time", "layer", "head"), np.stack([0.005 + 0 * heads, heads], axis=1)),
        repeat_gain=(("time",), 0.5 * rise),
        previous_token=(("time", "layer", "head"), np.stack([heads, 0 * heads], axis=1)),
    )


def attention(layers=1, updates=1500, last=0.8, half=300.0):
    """Entropy falls to a share of its start, drift rises and dies away, the loss falls."""
    spec = TextSpec(context=35, heads=1, layers=layers, updates=updates, records=30)
    t = np.linspace(0, updates, 31)
    gone = 1 - np.exp(-t / half)
    entropy = 2.6 - (2.6 - last) * gone
    drift = np.where(t > 0, 0.4 * (t / half) * np.exp(1 - t / half), np.nan)
    by_layer = ("time", "layer", "head")

    def wide(x):
        return np.repeat(x[:, None, None], layers, axis=1)

    uniform = np.tril(np.ones((5, 5))) / np.arange(1, 6)[:, None]
    made = _dataset(
        spec,
        31,
        validation_loss=(("time",), 10 - 4 * gone),
        attention_entropy=(by_layer, wide(entropy)),
        attention_drift=(by_layer, wide(drift)),
        shown_map=(("shown_time", "head", "query", "key"), np.stack([uniform[None]] * 4)),
    )
    return made.assign_coords(shown_time=t[::10])


def rates():
    """The larger the rate, the lower the entropy, and all have settled."""
    lasts = {0.5: 2.0, 1.0: 1.6, 2.0: 1.1, 5.0: 0.5}
    runs = [attention(updates=15_000, last=last, half=700.0) for last in lasts.values()]
    joined = xr.concat(runs, "rate", combine_attrs="override").assign_coords(rate=list(lasts))
    return joined


def gpt(readout_first=False, updates=2000):
    """Attention first and then frozen; or the loss and the read-out first."""
    spec = TextSpec(
        method="adamw", rate=1e-3, warm_up=100, cosine=updates, updates=updates, records=40
    )
    t = np.linspace(0, updates, 41)
    early = 1 - np.exp(-t / (0.05 * updates))
    late = 1 / (1 + np.exp(-(t - 0.5 * updates) / (0.08 * updates)))
    late = (late - late[0]) / (late[-1] - late[0])
    scores, readout = (late, early) if readout_first else (early, late)
    drift = np.where(t > 0, 0.2 * np.exp(-((t / (0.1 * updates)) ** 1.0)), np.nan)
    by_layer = ("time", "layer", "head")
    return _dataset(
        spec,
        41,
        validation_loss=(("time",), 4.2 - 2.2 * early),
        head_score_norm=(by_layer, np.tile(0.5 + 6 * scores, (4, 4, 1)).transpose(2, 0, 1)),
        readout_norm=(("time",), 1.8 + 4 * readout),
        network_norm=(("time", "layer"), np.tile(3 + readout, (4, 1)).T),
        training_loss=(("time",), 4.1 - 2.3 * early),
        attention_drift=(by_layer, np.tile(drift, (4, 4, 1)).transpose(2, 0, 1)),
    )


def moving_on(evidence):
    """Attention that moves as fast at the end as ever."""
    return [ds.assign(attention_drift=0.4 + 0 * ds.attention_drift) for ds in evidence]


def late_burst(evidence):
    """Attention that begins to move shortly before the end."""
    spoiled = []
    for ds in evidence:
        drift = ds.attention_drift.where(ds.time != ds.time[-2], 0.9)
        spoiled.append(ds.assign(attention_drift=drift.transpose(*ds.attention_drift.dims)))
    return spoiled


def unsettled(evidence):
    """Entropies of which half of the fall is in the second half."""
    ds = evidence[0]
    fall = 2.6 - (2.6 - ds.attention_entropy.isel(time=-1)) * ds.time / ds.time[-1]
    return [ds.assign(attention_entropy=fall.transpose(*ds.attention_entropy.dims))]


def faster(evidence):
    """Keys and queries that grow in the first updates."""
    ds = evidence[0]
    grown = ds.key_query_norm.isel(time=0) * (1 + ds.time / (ds.time + 500))
    return [ds.assign(key_query_norm=grown.transpose(*ds.key_query_norm.dims)), *evidence[1:]]


def steady(evidence):
    """A loss that falls at one rate."""
    ds = evidence[0]
    loss = (10 - 5e-5 * ds.time) * xr.ones_like(ds.training_loss)
    return [ds.assign(training_loss=loss.transpose(*ds.training_loss.dims)), *evidence[1:]]
