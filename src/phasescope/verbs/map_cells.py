"""The claim's own check at many points of the numbers: what a map is made of.

Points are lanes of one program, and the check decides all of them at once. A check that does not keep lanes, or that
finds something else in a lane by itself or among half of the lanes, decides one point after the other; a warning says why.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..analysis.align import exact_joins
from ..analysis.lanes import UNDECIDED
from ..analysis.verdict import Verdict
from ..claims.assumptions import numbers_of
from ..claims.claim import Claim
from ..claims.regime import Regime
from ..claims.requests import Runs, Sweeps
from ..claims.words import Word
from ..engine.precision import exact_numbers
from ..errors import PlanError
from ..plan.plan import lane_fields
from ..study import Study
from .context import Context
from .map_words import CODES, Ratios, Words, agree, over_cells, same_cells
from .regimes import covered, spec_class
from .sizes import bytes_of_records
from .sweep import run_layout
from .sweep_layout import Layout, lay_out, lay_out_cells

CELL = "cell"
MEMORY = 2**28  # bytes of records that are held at a time
MOST = 4096  # cells that are judged at once
# What Python, NumPy and xarray raise where code for one run meets many; other errors are none of a check's form.
UNFIT = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
ALONE = "each is a program of its own"
ASSUMPTION = "assumption_"
# Where the evidence of a cell is stored: the number of a run, and of the lane in it. Evidence is counted from 1.
RUN = "run_"
LANE = "lane_"

Points = Mapping[str, np.ndarray]


@dataclasses.dataclass
class Cells:
    """A row of the ledger, to be judged at other numbers.

    `fixed` are fields that are changed at all cells. `lanes` counts the runs so far, `why_each` says why the check had to
    decide one cell after the other (empty as long as it did not), `provenance` is that of the runs, and `problem` the last
    error of a check.
    """

    study: Study
    claim: Claim
    regime: Regime
    requests: Sequence[Runs | Sweeps]
    context: Context
    fixed: Mapping[str, Any]
    lanes: int = 0
    why_each: str = ""
    provenance: str = ""
    problem: str = ""
    stored: dict[str, int] = dataclasses.field(default_factory=dict)

    def judge(self, points: Points) -> xr.Dataset:
        """Outcome, margin, word and the ratio of every assumption, over the dim `cell`."""
        found = []
        places = []
        count = _count(points)
        with self.context.meter(f"{self.study.name}: {self.claim.id}, cells", count) as tick:
            for here in self._chunks(points):
                found.append(self._judged({name: v[here] for name, v in points.items()}))
                places.append(here)
                tick(len(here))
        joined = xr.concat(found, CELL, data_vars="all")
        assert isinstance(joined, xr.Dataset)
        return joined.isel({CELL: np.argsort(np.concatenate(places))})

    def check_judged(self, found: xr.Dataset) -> None:
        """Raises `PlanError` if the check could be carried out at no cell."""
        if (found["word"] == Word.ERROR.value).all():
            raise PlanError(f'claim "{self.claim.id}" can be checked at no cell: {self.problem}.')

    def layouts(self, points: Points) -> Iterator[Layout]:
        """The sweeps that the points need."""
        for here in self._chunks(points):
            chosen = {name: values[here] for name, values in points.items()}
            yield from (self._layout(request, chosen) for request in self.requests)

    def _chunks(self, points: Points) -> Iterator[np.ndarray]:
        """Cells that are judged together: what is no lane of a program is the same in all of them."""
        tasks = [points[name].tolist() for name in points if not self._is_lane(name)]
        groups: dict[tuple[Any, ...], list[int]] = {}
        for cell in range(_count(points)):
            groups.setdefault(tuple(values[cell] for values in tasks), []).append(cell)
        for cells in groups.values():
            at_once = self._at_once({name: v[cells[:1]] for name, v in points.items()})
            for start in range(0, len(cells), at_once):
                yield np.array(cells[start : start + at_once])

    def _at_once(self, point: Points) -> int:
        """How many cells like this one are held in memory together."""
        if not any(self._is_lane(name) for name in point):
            return 1
        layouts = [self._layout(request, point) for request in self.requests]
        sizes = [
            bytes_of_records(layout.job(layout.tasks[0]).without_lanes())
            * sum(task.lanes for task in layout.tasks)
            for layout in layouts
        ]
        fitting = max(MEMORY // max(sum(sizes), 1), 1)
        return min(1 << (fitting.bit_length() - 1), MOST)  # a power of two fills blocks of lanes

    def _is_lane(self, name: str) -> bool:
        arms = [request.arm for request in self.requests]
        return all(name in lane_fields(arm, self.study.default_for(arm)) for arm in arms)

    def _layout(self, request: Runs | Sweeps, points: Points) -> Layout:
        first = {name: values[0].item() for name, values in points.items()}
        given = dict(self.fixed) | first
        swept = isinstance(request, Sweeps)
        own = dict(request.axes) if swept else {}
        kept = {name: list(values) for name, values in own.items() if name not in given}
        base = lay_out(
            self.study,
            request.arm,
            dict(request.changes) | kept | given,
            preset=request.preset,
            seeds=request.seeds if swept else [request.seed],
            at=request.at,
            ties=request.ties if swept else (),
        )
        lanes = {name: tuple(v.tolist()) for name, v in points.items() if self._is_lane(name)}
        if not lanes:
            return base
        return lay_out_cells(base, lanes, CELL, request.block if swept else None)

    def _judged(self, points: Points) -> xr.Dataset:
        datasets = []
        places: dict[str, np.ndarray] = {}
        for number, request in enumerate(self.requests, 1):
            layout = self._layout(request, points)
            ds, run_ids = run_layout(layout, self.context)
            places |= self._places(number, layout, run_ids, _count(points))
            datasets.append(ds if CELL in ds.dims else ds.expand_dims({CELL: [0]}))
            self.lanes += sum(task.lanes for task in layout.tasks)
            self.provenance = ds.attrs.get("provenance", self.provenance)
        ratios = self._ratios(datasets)
        if not any(map(self._is_lane, points)):
            self.why_each = ALONE
        found = None if self.why_each else self._together(datasets, ratios)
        if found is None:
            found = self._one_by_one(datasets, ratios)
        found |= {f"{ASSUMPTION}{name}": ratio for name, ratio in ratios.items()} | dict(points)
        found |= places
        return xr.Dataset({name: (CELL, np.asarray(v)) for name, v in found.items()})

    def _places(
        self, number: int, layout: Layout, run_ids: Sequence[str], count: int
    ) -> dict[str, np.ndarray]:
        """Which stored run, and which of its lanes, a piece of evidence is of at every cell; nothing if none is stored.

        Of evidence that is a sweep itself, it is the first of its runs.
        """
        if not all(run_ids):
            return {}
        each = math.prod(len(values) for name, values in layout.inner.items() if name != CELL)
        first = np.arange(count) * (each if CELL in layout.inner else 1)
        width = layout.tasks[0].width
        numbers = [self.stored.setdefault(id, len(self.stored)) for id in run_ids]
        return {
            f"{RUN}{number}": np.array(numbers)[first // width],
            f"{LANE}{number}": first % width,
        }

    def _together(
        self, datasets: Sequence[xr.Dataset], ratios: Ratios
    ) -> dict[str, Sequence[Any] | np.ndarray] | None:
        """All cells at once; None, and a warning with the reason, if the check does not keep to a cell."""
        cells: xr.Dataset | None = None
        try:
            verdict = self._verdict(datasets)
            cells = over_cells(verdict, CELL)
            why = (
                "it keeps no verdict of each cell"
                if cells is None
                else self._strays(datasets, cells)
            )
        except UNFIT as problem:
            why = f"on all cells at once it ends in {type(problem).__name__}: {problem}"
        if why or cells is None:
            self.why_each = why.partition("\n")[0]
            self.context.warn_once(
                f'claim "{self.claim.id}" is checked one cell after the other, which is slower and as right: '
                f"{self.why_each}."
            )
            return None
        outcome = cells["outcome"].values
        words = self._words.of_cells(verdict, outcome, ratios, CELL)
        return {"outcome": outcome, "margin": cells["margin"].values, "word": words}

    def _strays(self, datasets: Sequence[xr.Dataset], cells: xr.Dataset) -> str:
        """Where the check finds something else in a cell by itself, or among half of the cells; empty if nowhere.

        By themselves, with the numbers of their own run, are decided the first and the last cell, those with the
        largest and the smallest margin, and the one nearest to turning. Every cell is decided among half of them.
        """
        for cell in telling(cells["margin"].values):
            alone = self._alone(datasets, cell)
            if alone is None or not agree(cells.isel({CELL: cell}), alone):
                return f"by itself cell {cell} has another verdict than among all"
        count = cells.sizes[CELL]
        for half in (slice(0, None, 2), slice(1, None, 2)) if count > 2 else ():
            chosen = np.arange(count)[half]
            found = over_cells(self._verdict([ds.isel({CELL: chosen}) for ds in datasets]), CELL)
            if found is None or not same_cells(cells.isel({CELL: chosen}), found):
                return "among half of the cells some have another verdict than among all"
        return ""

    def _one_by_one(
        self, datasets: Sequence[xr.Dataset], ratios: Ratios
    ) -> dict[str, Sequence[Any] | np.ndarray]:
        outcomes = []
        margins = []
        words = []
        for cell in range(datasets[0].sizes[CELL]):
            verdict = self._alone(datasets, cell)
            if verdict is None:
                outcomes.append(UNDECIDED)
                margins.append(np.nan)
                words.append(Word.ERROR.value)
                continue
            outcomes.append(CODES[verdict.outcome])
            margins.append(np.nan if verdict.margin is None else verdict.margin)
            here = {name: float(ratio[cell]) for name, ratio in ratios.items()}
            words.append(self._words.of_cell(verdict, here))
        return {"outcome": np.array(outcomes, np.int8), "margin": margins, "word": words}

    @property
    def _words(self) -> Words:
        arms = tuple(request.arm.__name__ for request in self.requests)
        return Words(self.claim, self.regime, arms)

    def _alone(self, datasets: Sequence[xr.Dataset], cell: int) -> Verdict | None:
        """The verdict on one cell by itself; None if the check cannot be carried out."""
        try:
            return self._verdict([_run_at(ds, cell) for ds in datasets])
        except Exception as problem:
            self.problem = f"{type(problem).__name__}: {problem}"
            return None

    def _verdict(self, datasets: Sequence[xr.Dataset]) -> Verdict:
        about = covered(self.study, self.claim, datasets)
        with exact_numbers(), exact_joins():
            return self.claim(*about.evidence)

    def _ratios(self, datasets: Sequence[xr.Dataset]) -> Ratios:
        """For every assumption on the numbers, its smallest ratio at each cell."""
        rules = {} if self.claim.assumes is None else self.claim.assumes.lane
        return {
            name: np.min([self._ratio(name, rule, ds) for ds in datasets], axis=0)
            for name, rule in rules.items()
        }

    def _ratio(self, name: str, rule: Callable[[Any], Any], ds: xr.Dataset) -> np.ndarray:
        count = ds.sizes[CELL]
        known = spec_class(self.study, ds)
        try:
            found = xr.DataArray(rule(numbers_of(ds, known)))
            least = found.min([d for d in found.dims if d != CELL])
            return np.broadcast_to(np.asarray(least.values, float), (count,))
        except UNFIT:  # a rule that was written for plain numbers
            runs = (_run_at(ds, cell) for cell in range(count))
        try:
            return np.array([np.min(rule(numbers_of(run, known))) for run in runs], float)
        except Exception as problem:
            raise PlanError(
                f'claim "{self.claim.id}": the assumption "{name}" cannot be evaluated: {problem}.'
            ) from problem


def _count(points: Points) -> int:
    return len(next(iter(points.values())))


def telling(margins: np.ndarray) -> list[int]:
    """The cells to look at by themselves: the ends, the extremes of the margin, and where it is nearest to 0."""
    chosen = [0, margins.size - 1]
    if np.isfinite(margins).any():
        known = np.where(np.isfinite(margins), margins, np.nan)
        chosen += [np.nanargmax(known), np.nanargmin(known), np.nanargmin(np.abs(known))]
    return sorted({int(cell) for cell in chosen})


def _run_at(ds: xr.Dataset, cell: int) -> xr.Dataset:
    """One cell, as the dataset that a run at its numbers has."""
    one = ds.isel({CELL: cell}).drop_vars(CELL, errors="ignore")
    if "spec" not in ds.attrs:
        return one
    spec = json.loads(ds.attrs["spec"])
    here = {k: one[k].item() for k in spec if k in one.coords and not one[k].dims}
    return one.assign_attrs(spec=json.dumps(spec | here))
