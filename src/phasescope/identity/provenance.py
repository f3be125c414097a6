"""Provenance: where and how a run was made. Digits are promised within equal provenance.

It is no part of a run's identity: a run that was made elsewhere is found, and says so.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterable, Mapping
from importlib import metadata
from typing import Any

import jax
import numpy as np

from .. import __version__

PRNG = "threefry2x32"
LIBRARIES = ("jax", "jaxlib", "numpy", "scipy", "equinox", "optax", "diffrax")
# How the engine carries out a run, unless its lanes are fused: one compiled loop over steps and record times.
ENGINE_PATH = "compiled loop"
# Settings of JAX for those who look for a fault, by which a run takes another path to other last digits.
UNLIKE_OTHERS = {
    "jax_disable_jit": "without jit",
    "jax_disable_most_optimizations": "hardly optimised",
}
# What may move the last digits of a run. Other entries of a manifest are for the reader.
DECISIVE = ("versions", "device", "machine", "engine", "precision", "matmul", "prng", "XLA_FLAGS")


def provenance(precision: str = "", engine: str = ENGINE_PATH) -> dict[str, Any]:
    """Versions, device, numbers, generator, the path through the engine and the compiler's switches.

    `precision` names the floating-point types of a run's state, as `precision_of` finds them; `engine` the path.
    """
    device = jax.devices()[0]
    versions = {"phasescope": __version__, "python": platform.python_version()}
    versions |= {name: _version(name) for name in LIBRARIES}
    return {
        "versions": versions,
        "device": f"{device.platform}: {device.device_kind}",
        "machine": platform.machine(),
        "engine": ", ".join([engine, *_settings_unlike_others()]),
        "precision": precision,
        "matmul": "highest",
        "prng": PRNG,
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    }


def _settings_unlike_others() -> list[str]:
    """What is set in this session, and moves digits."""
    listed = getattr(jax.config, "values", {})  # some are not to be had by their name
    return [w for name, w in UNLIKE_OTHERS.items() if getattr(jax.config, name, listed.get(name))]


@functools.cache
def _version(name: str) -> str:
    """The version of a library; read once, since every block of a sweep asks."""
    return metadata.version(name)


def precision_of(arrays: Iterable[np.ndarray | jax.ShapeDtypeStruct]) -> str:
    """The floating-point types of some arrays: `float64`, or `float32, float64` if both occur."""
    kinds = {x.dtype.name for x in arrays if x.dtype.kind in "fc" or "float" in x.dtype.name}
    return ", ".join(sorted(kinds))


def decisive(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a manifest that may move digits."""
    return {name: manifest[name] for name in DECISIVE if name in manifest}


def differences(made: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """What may make digits differ, as in `jax 0.10.2 (here 0.12.0)`.

    What one of the two does not say is not compared.
    """
    found = []
    for name in DECISIVE:
        if name == "versions":
            found += _compared(_mapping(made.get(name)), _mapping(here.get(name)), LIBRARIES)
        else:
            found += _compared(made, here, (name,))
    return found


def _compared(made: Mapping[str, Any], here: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    known = [name for name in names if name in made and name in here]
    return [
        f"{name} {made[name] or 'none'} (here {here[name] or 'none'})"
        for name in known
        if made[name] != here[name]
    ]


def _mapping(x: Any) -> Mapping[str, Any]:
    return x if isinstance(x, Mapping) else {}
