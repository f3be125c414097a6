"""What our own entry points switch on in the process: 64-bit numbers and the persistent compilation cache."""

from __future__ import annotations

import contextlib
from pathlib import Path


def prepare() -> None:
    """Called by the command line and by workers, never by `import phasescope`."""
    import jax
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("phasescope")) / "xla"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    jax.config.update("jax_enable_x64", True)
