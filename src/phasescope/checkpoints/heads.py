"""What attention does on a fixed batch, from checkpoint to checkpoint."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from .. import probes
from .models import Runner
from .tensorfile import Tensor

BY_HEAD = {
    "entropy": "entropy of attention on the probe batch, in nats, mean over queries",
    "drift": "total variation of attention from the checkpoint before, on the probe batch",
    "drift_from_start": "total variation of attention from the first checkpoint, on the probe batch",
    "previous_token_score": "mean weight on the token before, on doubled random sequences",
    "induction_score": "mean weight on what followed the last time, on doubled random sequences",
}


@dataclasses.dataclass
class Attention:
    """Probes of attention of one checkpoint after the other: `doubled` for scores of heads, `batch` for all else."""

    runner: Runner
    doubled: np.ndarray
    batch: np.ndarray
    rows: list[dict[str, np.ndarray]] = dataclasses.field(default_factory=list)
    losses: list[float] = dataclasses.field(default_factory=list)
    _first: np.ndarray | None = None
    _before: np.ndarray | None = None

    def __post_init__(self) -> None:
        for tokens in (self.doubled, self.batch):
            self.runner.check_size(tokens)

    @property
    def described(self) -> str:
        """The probe batch as an attribute: its kind, its shape and its digest."""
        rows, columns = self.batch.shape
        kind = "doubled random tokens" if self.batch is self.doubled else "tokens of the caller's"
        digest = hashlib.sha256(np.ascontiguousarray(self.batch, "<i8").tobytes()).hexdigest()
        return json.dumps({"kind": kind, "shape": [rows, columns], "sha256": digest})

    def add(self, tensors: Mapping[str, Tensor], path: Path) -> None:
        """Measure one more checkpoint."""
        doubled, loss = self.runner.patterns_and_loss(tensors, self.doubled, path)
        pattern = doubled
        if self.batch is not self.doubled:
            pattern, loss = self.runner.patterns_and_loss(tensors, self.batch, path)
        first = pattern if self._first is None else self._first
        drift = np.full(pattern.shape[:4], np.nan)  # of the first checkpoint nobody knows
        if self._before is not None:
            drift = probes.drift(pattern, self._before)
        self.rows.append(
            {
                "entropy": _mean(probes.entropy(pattern), 1, 3),
                "drift": _mean(drift, 1, 3),
                "drift_from_start": _mean(probes.drift(pattern, first), 1, 3),
                "previous_token_score": _mean(probes.previous_token_score(doubled), 1),
                "induction_score": _mean(probes.induction_score(doubled), 1),
            }
        )
        self.losses.append(loss)
        self._first = first
        self._before = pattern

    def dataset(self, time: xr.DataArray) -> xr.Dataset:
        """What was measured, over the steps, layers and heads."""
        dims = ("time", "layer", "head")
        found = {
            name: (dims, np.stack([row[name] for row in self.rows]), {"long_name": said})
            for name, said in BY_HEAD.items()
        }
        layers, heads = self.rows[0]["entropy"].shape
        return xr.Dataset(
            {
                **found,
                "loss": (
                    "time",
                    self.losses,
                    {"long_name": "loss on the probe batch", "units": "nats"},
                ),
            },
            coords={"time": time, "layer": np.arange(layers), "head": np.arange(heads)},
        )


def _mean(x: np.ndarray, *axes: int) -> np.ndarray:
    """The mean over sequences, and queries: `[layer, head]` of `[layer, sequence, head, ...]`."""
    return np.asarray(x, np.float64).mean(axis=axes)
