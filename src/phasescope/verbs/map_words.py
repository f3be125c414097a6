"""What a check found in each cell of a map, as a word."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from ..analysis.lanes import worst_over
from ..analysis.verdict import OUTCOMES, Outcome, Verdict
from ..claims.assumptions import ROUNDING, Met, Scope
from ..claims.claim import Claim
from ..claims.regime import Regime
from ..claims.words import word_of

AGREES = 1e-6  # how well the margins of a cell must agree
CODES = {outcome: code for code, outcome in OUTCOMES.items()}
Ratios = Mapping[str, np.ndarray]


def over_cells(verdict: Verdict, axis: str) -> xr.Dataset | None:
    """Outcome and margin of every cell: the worst over the other axes of the sweep. None if the check kept none."""
    lanes = verdict.lanes
    if lanes is None or axis not in lanes.dims:
        return None
    found = worst_over(lanes, [d for d in lanes.dims if d != axis])[["outcome", "margin"]]
    return found.drop_vars([name for name in found.coords if name != axis])


def agree(cell: xr.Dataset, alone: Verdict) -> bool:
    """Whether a cell among others is what it is by itself."""
    margin = np.nan if alone.margin is None else alone.margin
    same = np.isclose(float(cell["margin"]), margin, rtol=AGREES, atol=AGREES, equal_nan=True)
    return int(cell["outcome"]) == CODES[alone.outcome] and bool(same)


def same_cells(cells: xr.Dataset, others: xr.Dataset) -> bool:
    """Whether cells are the same among these as among others."""
    near = np.isclose(cells["margin"], others["margin"], rtol=AGREES, atol=AGREES, equal_nan=True)
    return bool((cells["outcome"].values == others["outcome"].values).all() and near.all())


@dataclasses.dataclass(frozen=True)
class Words:
    """From verdicts to words, for a row of the ledger and the arms that its evidence is of."""

    claim: Claim
    regime: Regime
    arms: tuple[str, ...]

    def of_cells(
        self, verdict: Verdict, outcome: np.ndarray, ratios: Ratios, axis: str
    ) -> list[str]:
        """The word of every cell; cells in which the same parts fail and the same is assumed share it."""
        parts = verdict.elementary
        codes = [_codes(part, outcome.size, axis) for part in parts]
        met = [ratio >= 1 - ROUNDING for ratio in ratios.values()]
        keys = np.stack([outcome, *codes, *met], axis=1).astype(np.int8)
        _, first, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        words = []
        for cell in first:
            here = tuple(
                dataclasses.replace(part, outcome=OUTCOMES[int(code[cell])])
                for part, code in zip(parts, codes, strict=True)
            )
            alone = dataclasses.replace(
                verdict,
                outcome=OUTCOMES[int(outcome[cell])],
                parts=here,
                is_derived=any(p.is_derived for p in here if p.outcome == Outcome.FAILS),
            )
            words.append(
                self.of_cell(alone, {k: float(ratio[cell]) for k, ratio in ratios.items()})
            )
        return [words[kind] for kind in which.ravel()]

    def of_cell(self, verdict: Verdict, ratios: Mapping[str, float]) -> str:
        """The word at one cell; of a claim that has no kind, the outcome."""
        if self.claim.typed is None:
            return verdict.outcome.value
        word = word_of(self.claim.typed, verdict, tuple(self._met(ratios))).word
        assert word is not None
        return word.value

    def _met(self, ratios: Mapping[str, float]) -> Iterable[Met]:
        if self.regime.breaks:
            yield Met(self.regime.breaks, Scope.LANE, met=False)
        assumes = self.claim.assumes
        if assumes is None:
            return
        on = str(self.regime.on)
        yield Met("model", Scope.MODEL, met=all(assumes.allows_arm(on, arm) for arm in self.arms))
        for name, ratio in ratios.items():
            met = bool(ratio >= 1 - ROUNDING)
            yield Met(name, Scope.LANE, met, free=name in assumes.free, low=ratio, high=ratio)
        for name in assumes.record:
            yield Met(name, Scope.RECORD, met=True, free=name in assumes.free)


def _codes(part: Verdict, count: int, axis: str) -> np.ndarray:
    """The outcome of a part in every cell; of one that has no lanes, its own."""
    found = over_cells(part, axis)
    if found is None:
        return np.full(count, CODES[part.outcome], np.int8)
    return found["outcome"].values
