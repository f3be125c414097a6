"""The manifest: what else a reader of the numbers must know."""

from __future__ import annotations

import os
import platform
from typing import Any

import jax
import numpy as np

from . import __version__
from .engine import PRNG


def describe_machine() -> dict[str, Any]:
    """Versions, device, precision, generator and the compiler's switches."""
    import diffrax
    import equinox
    import optax

    device = jax.devices()[0]
    partitionable = bool(getattr(jax.config, "jax_threefry_partitionable"))  # noqa: B009
    return {
        "versions": {
            "phasescope": __version__, "python": platform.python_version(), "jax": jax.__version__, "numpy": np.__version__,
            "equinox": equinox.__version__, "optax": optax.__version__, "diffrax": diffrax.__version__,
        },
        "device": f"{device.platform}: {device.device_kind}", "machine": platform.machine(), "precision": "float64",
        "matmul": "highest", "prng": PRNG, "threefry_partitionable": partitionable,
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    }  # fmt: skip
