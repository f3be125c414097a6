"""What our own entry points switch on in the process: 64-bit numbers and the persistent compilation cache."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def prepare() -> None:
    """Called by the command line and by workers, never by `import phasescope`."""
    # Read when equinox is first imported. Its default raises from a callback, and a program with a callback in it is
    # compiled anew in every process; with nan a solver's complaint ends the run as a divergence.
    os.environ.setdefault("EQX_ON_ERROR", "nan")
    import jax
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("phasescope")) / "xla"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    jax.config.update("jax_enable_x64", True)
