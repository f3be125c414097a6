"""What is measured of a decoder of text, on sequences that stay the same: losses, norms, attention and its heads."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from .. import probes
from ..plan.observables import Observables
from ..spec import field
from .decoder import Block, Decoder, losses_and_attention
from .training import TextState

DIGITS = 2**-12  # to which maps of attention are kept: the rest is noise, and does not compress


# What the axes count, for `Study(axes=...)`.
TEXT_AXES = {
    "layer": "layer, counted from 0",
    "head": "head of a layer, counted from 0",
    "probe": "training sequence, counted from 0",
    "query": "position of the query, counted from 0",
    "key": "position of the key, counted from 0",
}


class TextObserved(Observables):
    """Recorded during training; `time` counts updates, layers and heads count from 0.

    Losses are in nats a token and without dropout. Attention is measured on sequences of the validation text, the two
    scores of induction on doubled random sequences, which nothing but a repetition predicts.
    """

    training_loss: Float[Array, ""] = field(
        doc="cross-entropy on fixed training sequences", unit="nats"
    )
    validation_loss: Float[Array, ""] = field(doc="cross-entropy on validation text", unit="nats")
    slope: Float[Array, "layer head"] = field(symbol="p", doc="ALiBi slopes")
    slope_norm: Float[Array, ""] = field(symbol=r"\|p\|", doc="norm of all ALiBi slopes")
    key_query_norm: Float[Array, ""] = field(
        symbol=r"\|(W_K, W_Q)\|_F", doc="norm of all key and query matrices"
    )
    key_query_layer: Float[Array, "layer"] = field(doc="the same of one layer")
    head_score_norm: Float[Array, "layer head"] = field(
        symbol=r"\|W_Q^\top W_K\|_F", doc="norm of the bilinear form of a head's scores"
    )
    value_norm: Float[Array, "layer head"] = field(
        symbol=r"\|W_O W_V\|_F", doc="norm of what a head writes"
    )
    network_norm: Float[Array, "layer"] = field(doc="norm of both matrices of a feed-forward layer")
    readout_norm: Float[Array, ""] = field(doc="norm of the read-out")
    embedding_norm: Float[Array, ""] = field(doc="norm of the embedding")
    attention_entropy: Float[Array, "layer head"] = field(
        doc="entropy of attention, mean over queries", unit="nats"
    )
    previous_token: Float[Array, "layer head"] = field(doc="mean weight on the token before")
    induction: Float[Array, "layer head"] = field(
        doc="mean weight on what followed the last time, on doubled sequences"
    )
    repeat_gain: Float[Array, ""] = field(
        doc="loss on the first copy of doubled sequences less that on the second", unit="nats"
    )
    attention_map: Float[Array, "probe layer head query key"] = field(
        doc="attention on training sequences"
    )


def measure(state: TextState, maps: int) -> TextObserved:
    """All that is recorded, by one pass over all fixed sequences; of `maps` training sequences the attention as a whole."""
    net = state.net
    windows = state.windows
    every = jnp.concatenate([windows.training, windows.validation, windows.doubled])
    losses, attention = losses_and_attention(net, every)
    on_training, on_text, on_doubled = jnp.split(attention, 3)
    of_training, of_text, of_doubled = jnp.split(losses, 3)
    half = (windows.doubled.shape[-1] - 1) // 2
    of_doubled = of_doubled.mean(0)
    return TextObserved(
        training_loss=of_training.mean(),
        validation_loss=of_text.mean(),
        **_norms(net),
        attention_entropy=probes.entropy(on_text).mean((0, -1)),
        previous_token=probes.previous_token_score(on_text).mean(0),
        induction=probes.induction_score(on_doubled[..., : 2 * half, : 2 * half]).mean(0),
        repeat_gain=of_doubled[: half - 1].mean() - of_doubled[half : 2 * half - 1].mean(),
        **({"attention_map": on_training[:maps]} if maps else {}),
    )


def _norms(net: Decoder) -> dict[str, Any]:
    blocks: Block = jax.tree.map(lambda *layers: jnp.stack(layers), *net.blocks)
    readout = net.embedding if net.read is None else net.read
    by_layer = jnp.sqrt(_squares(blocks.query) + _squares(blocks.key))
    slopes = blocks.slopes
    return {
        "slope": slopes,
        "slope_norm": None if slopes is None else jnp.sqrt((slopes**2).sum()),
        "key_query_norm": jnp.sqrt((by_layer**2).sum()),
        "key_query_layer": by_layer,
        "head_score_norm": _norm_of_product(blocks.query, blocks.key),
        "value_norm": _norm_of_product(blocks.value, jnp.moveaxis(blocks.out, -1, -3)),
        "network_norm": jnp.sqrt(_squares(blocks.up) + _squares(blocks.down)),
        "readout_norm": jnp.sqrt((readout**2).sum()),
        "embedding_norm": jnp.sqrt((net.embedding**2).sum()),
    }


def _squares(x: Float[Array, "layer ..."]) -> Float[Array, "layer"]:
    return (x**2).sum(tuple(range(1, x.ndim)))


def _norm_of_product(
    a: Float[Array, "layer width head size"], b: Float[Array, "layer width head size"]
) -> Float[Array, "layer head"]:
    """The norm of a b^T of every head, by the two small Gram matrices: tr(a^T a b^T b)."""
    of_a = jnp.einsum("ldhs,ldhr->lhsr", a, a)
    of_b = jnp.einsum("ldhs,ldhr->lhsr", b, b)
    return jnp.sqrt((of_a * of_b).sum((-2, -1)))


def with_drift(ds: xr.Dataset) -> xr.Dataset:
    """Add how far attention has moved on the fixed training sequences, since the last record and since the start.

    Both are means over sequences and queries of `probes.drift`; the first record has none before it.
    """
    if "attention_map" not in ds:
        return ds
    maps = ds.attention_map.transpose("time", ...)
    over = [axis for axis in ("probe", "query") if axis in maps.dims]
    outside = [axis for axis in maps.dims if axis not in ("query", "key")]
    pattern = maps.transpose(*outside, "query", "key")
    axes = pattern.isel(key=0, drop=True)
    before = pattern.shift(time=1)
    first = pattern.isel(time=slice(0, 1)).values
    drift = axes.copy(data=probes.drift(pattern.values, before.values))
    moved = axes.copy(
        data=probes.drift(pattern.values, first.repeat(pattern.sizes["time"], axis=0))
    )
    return ds.assign(
        attention_drift=drift.mean(over, skipna=False).assign_attrs(
            long_name="total variation of attention since the last record"
        ),
        attention_moved=moved.mean(over, skipna=False).assign_attrs(
            long_name="total variation of attention since the start"
        ),
    )


def with_few_maps(ds: xr.Dataset) -> xr.Dataset:
    """The dataset to be kept: of the whole maps only those of one sequence and the lowest layer, at four even times.

    They become `shown_map`; drift was taken from all of them before.
    """
    if "attention_map" not in ds:
        return ds
    last = ds.sizes["time"] - 1
    records = sorted({round(part * last / 3) for part in range(4)})
    few = ds.attention_map.isel(probe=0, layer=0, time=records, drop=True)
    shown = few.rename(time="shown_time").drop_vars("stage", errors="ignore")
    shown = (DIGITS * np.round(shown / DIGITS)).astype(np.float32)
    rest = ds.drop_vars("attention_map").drop_dims(["probe", "query", "key"], errors="ignore")
    return rest.assign(shown_map=shown.assign_attrs(long_name="attention on a training sequence"))
