"""The parameters of a decoder by name, and under the names and in the shapes of TransformerLens's HookedTransformer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from ..errors import SpecError
from .decoder import EPSILON, Decoder, Shape, initial, sinusoids
from .starts import Draws

Arrays = dict[str, np.ndarray]


def parameter_shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters of a decoder, by name (`blocks.0.query`), in the order of its leaves; nothing is drawn."""

    def made() -> Decoder:
        draws = Draws(jr.key(0), "gaussian", 1.0, shape.layers, shape.drawn, jnp.float32)
        return initial(draws, shape, 0.0)

    leaves = jax.tree_util.tree_flatten_with_path(jax.eval_shape(made))[0]
    return {jax.tree_util.keystr(path, simple=True, separator="."): x.shape for path, x in leaves}


def named_parameters(leaves: Sequence[np.ndarray], shape: Shape) -> Arrays | None:
    """The first leaves of a state as the parameters of a decoder, by name; None if they have other shapes."""
    shapes = parameter_shapes(shape)
    if [x.shape for x in leaves[: len(shapes)]] != list(shapes.values()):
        return None
    return dict(zip(shapes, leaves, strict=False))


def why_not_hooked(shape: Shape) -> str | None:
    """What of a decoder HookedTransformer cannot compute; None if it computes all of it."""
    if shape.positions == "alibi":
        return "positions=alibi has slopes that are learned, and those of TransformerLens are fixed"
    if shape.normalisation == "post":
        return "normalisation=post comes after each addition, and that of TransformerLens before each part"
    if not shape.sees_itself:
        return (
            "sees_itself=False leaves the diagonal of attention out, and TransformerLens has it in"
        )
    return None


def hooked_config(shape: Shape) -> dict[str, Any]:
    """The arguments of `HookedTransformerConfig` that make a model of this shape; its dtype is that of the arrays."""
    return {
        "n_layers": shape.layers,
        "d_model": shape.width,
        "n_ctx": shape.context,
        "d_head": shape.width // shape.heads,
        "n_heads": shape.heads,
        "d_mlp": shape.hidden,
        "d_vocab": shape.vocabulary,
        "act_fn": shape.activation,
        "normalization_type": "LN" if shape.normalisation == "pre" else None,
        "eps": EPSILON,
        "positional_embedding_type": "standard",
    }


def hooked(net: Mapping[str, np.ndarray], shape: Shape) -> Arrays:
    """The state of a HookedTransformer that computes the logits of a decoder.

    Biases that the decoder has not are zeros, as positions are where it has none. A scaled embedding is multiplied out,
    sinusoids are written down as a table. `mask` and `IGNORE` are no parameters: TransformerLens has them in its state.

    **Arguments:** `net`: the parameters by name, as `named_parameters` has them. `shape`: of the decoder.

    **Raises:** `SpecError` if HookedTransformer has no such part.
    """
    reason = why_not_hooked(shape)
    if reason is not None:
        raise SpecError(f"this decoder is no HookedTransformer: {reason}.")
    scale = float(np.sqrt(shape.width)) if shape.scaled_embedding else 1.0
    embedding = net["embedding"]
    dtype = embedding.dtype
    read = embedding.T if shape.tied else net["read"]
    state = {
        "embed.W_E": (embedding * scale).astype(dtype),
        "pos_embed.W_pos": _positions(net, shape).astype(dtype),
        "unembed.W_U": read,
        "unembed.b_U": net.get("read_bias", np.zeros(shape.vocabulary, dtype)),
    }
    if shape.normalisation == "pre":
        state |= _norm(net, "final_norm", "ln_final", dtype)
    for layer in range(shape.layers):
        state |= _block(net, shape, layer, dtype)
    return {name: np.ascontiguousarray(x) for name, x in state.items()}


def _positions(net: Mapping[str, np.ndarray], shape: Shape) -> np.ndarray:
    if shape.positions == "learned":
        return net["positions"]
    if shape.positions == "sinusoidal":
        return sinusoids(shape.context, shape.width)
    return np.zeros((shape.context, shape.width))


def _norm(net: Mapping[str, np.ndarray], ours: str, theirs: str, dtype: np.dtype) -> Arrays:
    scale = net[f"{ours}.scale"]
    shift = net.get(f"{ours}.shift", np.zeros(scale.shape, dtype))
    return {f"{theirs}.w": scale, f"{theirs}.b": shift}


def _block(net: Mapping[str, np.ndarray], shape: Shape, layer: int, dtype: np.dtype) -> Arrays:
    """One layer: heads come first, and every bias is there."""
    size = shape.width // shape.heads

    def bias(name: str, *sizes: int) -> np.ndarray:
        return net.get(f"blocks.{layer}.{name}", np.zeros(sizes, dtype))

    attention = {
        "W_O": net[f"blocks.{layer}.out"],
        "b_O": bias("out_bias", shape.width),
        "mask": np.tril(np.ones((shape.context, shape.context), bool)),
        "IGNORE": np.array(-np.inf, np.float32),
    }
    for letter, name in (("Q", "query"), ("K", "key"), ("V", "value")):
        attention[f"W_{letter}"] = net[f"blocks.{layer}.{name}"].transpose(1, 0, 2)
        attention[f"b_{letter}"] = bias(f"{name}_bias", shape.heads, size)
    network = {
        "W_in": net[f"blocks.{layer}.up"],
        "b_in": bias("up_bias", shape.hidden),
        "W_out": net[f"blocks.{layer}.down"],
        "b_out": bias("down_bias", shape.width),
    }
    here = f"blocks.{layer}"
    state = {f"{here}.attn.{name}": x for name, x in attention.items()}
    state |= {f"{here}.mlp.{name}": x for name, x in network.items()}
    if shape.normalisation == "pre":
        state |= _norm(net, f"{here}.norms.0", f"{here}.ln1", dtype)
        state |= _norm(net, f"{here}.norms.1", f"{here}.ln2", dtype)
    return state
