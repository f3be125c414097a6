"""Words about datasets: checks, verdicts, fits, phases. NumPy and xarray only; no JAX, no study."""
