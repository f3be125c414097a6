"""Checkpoints that phasescope did not make: found in folders, read as if a stranger had written them, and probed."""
