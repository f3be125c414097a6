"""map: where a claim stops holding. Its own check at every cell of a grid of numbers, as word and margin."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ..analysis.refine import zero_line
from ..claims.claim import Claim
from ..claims.requests import Maps, Runs, Sweeps, maps
from ..errors import SpecError
from ..figures.figure import figure
from ..figures.map import draw_map
from ..plan.times import Times
from ..study import Study, find
from .context import Context, default_context
from .labels import field_labels
from .map_axes import MapAxis, map_axis
from .map_cells import ASSUMPTION, LANE, RUN, Cells
from .map_rows import check_fields, map_row
from .sweep_layout import Layout
from .validate import is_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

ZERO = "zero_line"
RUNS = "runs"  # the attribute with the ids of stored runs, which `run_<n>` counts from 0
FLAGS = {"flag_values": [-1, 0, 1], "flag_meanings": "fails undecided holds"}


def map(
    study: str | Study,
    claim: str | Claim,
    *,
    regime: str | None = None,
    refine: int = 0,
    at: Times | None = None,
    full: bool = False,
    store: str | Path | bool | None = False,
    progress: bool | None = None,
    **fields: Any,
) -> xr.Dataset:
    """Where a claim stops holding: its own check at every cell of a grid, as word and margin.

        >>> m = ps.map("linear_modes", "stronger_modes_are_learnt_first", epsilon="1e-4:2:6:log")
        >>> m.margin.dims, m.word.values.tolist()
        (('epsilon',), ['holds', 'holds', 'holds', 'holds', 'holds', 'undecided'])

    The evidence of the claim's row is asked for at the numbers of each cell. Floats are lanes of one
    program, other numbers are programs of their own.

    **Arguments:**

    - `study`: a name, the path of a file, or a Study. `claim`: an id, a name, or a Claim of your own.
    - `regime`: published, theory or beyond; by default the first row whose evidence can be asked for
      at other numbers.
    - `refine`: how often to halve the edges of the grid that the zero line crosses, to locate it.
    - `at`: record times in place of the evidence's own: fewer of them make a map of many cells cheap.
    - `full`: ask for full-size evidence.
    - `store`: a folder, to keep the runs of all cells and to go on where a map was stopped; by default
      none is kept. `progress`: as for `run`.
    - `fields`: fields of the Spec. Axes are lists of rising numbers, or ranges "lo:hi", "lo:hi:n",
      "lo:hi:n:log": of 256 points if n is not given (25 if refined), of 8 for whole numbers. Other
      values are changed for all cells.

    **Returns:** a dataset over the axes: `margin` (its zero line is where the claim stops holding),
    `outcome` (1 holds, -1 fails, 0 undecided), `word`, and for each assumption on the numbers
    `assumption_<name>`, a ratio that is 1 on its boundary. Refined, `zero_line` has points of the
    line and `zero_line_width` how far each may be off, in units of its axis. With a store, `run_1` and
    `lane_1` say where the first evidence of a cell is: a number among the ids of the attribute `runs`, and a
    lane; `run_2` the second.

    **Raises:** `StudyNotFound`, `SpecError` for an axis that is none, `PlanError` if the evidence of
    the claim cannot be asked for at other numbers.
    """
    chosen = find(study)
    asked = chosen.claim(claim) if isinstance(claim, str) else claim
    request = maps(asked, regime=regime, refine=refine, at=at, **fields)
    return resolve_map(chosen, request, default_context(store, progress), full)


def resolve_map(study: Study, asked: Maps, context: Context, full: bool = False) -> xr.Dataset:
    """The map of a request."""
    cells, axes = _prepared(study, asked, context, full)
    found = cells.judge(_grid(axes))
    cells.check_judged(found)
    shape = tuple(axis.values.size for axis in axes)
    names = [axis.field for axis in axes]
    data = {
        str(name): (names, values.values.reshape(shape))
        for name, values in found.data_vars.items()
        if name not in names
    }
    labels = field_labels(study)
    coords = {axis.field: (axis.field, axis.values, labels[axis.field]) for axis in axes}
    ds = _described(xr.Dataset(data, coords), cells)
    if asked.refine:
        ds = ds.assign(_refined(cells, axes, ds["outcome"].values, asked.refine))
    return ds.assign_attrs(
        study=study.name,
        claim=cells.claim.id,
        cites=cells.claim.cites,
        statement=cells.claim.statement,
        row=" ".join(filter(None, [str(cells.regime.on or ""), str(cells.regime.name or "")])),
        request="; ".join(_in_words(request) for request in cells.requests),
        changes=json.dumps(dict(cells.fixed)),
        lanes=cells.lanes,
        judged="one cell after the other" if cells.why_each else "all cells at once",
        why_judged_so=cells.why_each,
        provenance=cells.provenance,
        **({RUNS: " ".join(cells.stored)} if cells.stored else {}),
    )


def render_map(found: xr.Dataset) -> Canvas:
    """The map as a figure, in the common style."""
    name = f"{found.attrs['study']}, {found.attrs['claim']}: {found.attrs['cites']}"

    def drawn(axes: Any) -> None:
        draw_map(found, axes)
        axes.set_title(name, fontsize=8)

    return figure(found.attrs["cites"], size=(4.8, 3.6))(drawn).render()


def map_layouts(study: Study, asked: Maps, context: Context, full: bool = False) -> list[Layout]:
    """The sweeps that a map needs, before it is refined."""
    cells, axes = _prepared(study, asked, context, full)
    return list(cells.layouts(_grid(axes)))


def _prepared(
    study: Study, asked: Maps, context: Context, full: bool
) -> tuple[Cells, list[MapAxis]]:
    """What is to be judged, and over which axes; nothing runs."""
    if not is_whole(asked.refine) or asked.refine < 0:
        raise SpecError(
            f"refine is how often to halve an edge of the grid, 0 or more, got {asked.refine!r}."
        )
    row = map_row(study, asked.claim, asked.regime, full)
    given = dict(asked.fields)
    varied = {k: v for k, v in given.items() if isinstance(v, tuple) or _is_range(v)}
    if not varied:
        raise SpecError("a map has one or more axes, such as eta=0.1:10:64:log; none was given.")
    check_fields(study, asked.claim, row, varied)
    spec = study.default_for(row.requests[0].arm)
    axes = [map_axis(spec, name, value, asked.refine > 0) for name, value in varied.items()]
    fixed = {k: v for k, v in given.items() if k not in varied}
    requests = row.requests
    if asked.at is not None:
        requests = tuple(dataclasses.replace(request, at=asked.at) for request in requests)
    cells = Cells(study, asked.claim, row.regime, requests, context, fixed)
    return cells, axes


def _is_range(value: Any) -> bool:
    return isinstance(value, str) and ":" in value


def _grid(axes: Sequence[MapAxis]) -> dict[str, np.ndarray]:
    """Every cell of the product, the last axis fastest."""
    mesh = np.meshgrid(*(axis.values for axis in axes), indexing="ij")
    return {axis.field: values.ravel() for axis, values in zip(axes, mesh, strict=True)}


def _described(ds: xr.Dataset, cells: Cells) -> xr.Dataset:
    """The variables, each with what it is."""
    said: dict[str, dict[str, Any]] = {
        "margin": {"long_name": "margin of the claim: 0 where it stops holding, 1 far inside"},
        "outcome": {"long_name": "outcome of the claim's check", **FLAGS},
        "word": {"long_name": "word of the ledger"},
    }
    assumes = cells.claim.assumes
    for name in () if assumes is None else assumes.lane:
        of = f"assumption {name}: met where at least 1"
        said[f"{ASSUMPTION}{name}"] = {
            "long_name": of,
            "free": int(assumes is not None and name in assumes.free),
        }
    for number, request in enumerate(cells.requests, 1):
        if f"{RUN}{number}" in ds:
            of = _in_words(request)
            said[f"{RUN}{number}"] = {"long_name": f"stored run of {of}: its number among `runs`"}
            said[f"{LANE}{number}"] = {"long_name": f"lane of the stored run of {of}"}
    for name, attrs in said.items():
        ds[name].attrs.update(attrs)
    return ds


def _refined(
    cells: Cells, axes: Sequence[MapAxis], outcome: np.ndarray, levels: int
) -> dict[str, Any]:
    """Points of the zero line, how far each may be off, and which are neighbours."""
    names = [axis.field for axis in axes]

    def side(points: np.ndarray) -> np.ndarray:
        columns = {
            axis.field: column.astype(int) if axis.whole else column
            for axis, column in zip(axes, points.T, strict=True)
        }
        return cells.judge(columns)["outcome"].values

    line = zero_line(
        [axis.values for axis in axes],
        outcome,
        side,
        levels,
        log=[axis.log for axis in axes],
        fixed=[axis.whole for axis in axes],
    )
    about = {"long_name": "points of the line on which the margin is 0"}
    off = {"long_name": "how far a point may be off, as a part of its axis"}
    return {
        ZERO: (("crossing", "axis"), line.points, about),
        "axis": ("axis", np.array(names)),
        f"{ZERO}_width": ("crossing", line.width, off),
        f"{ZERO}_segments": (("segment", "end"), line.segments),
    }


def _in_words(request: Runs | Sweeps) -> str:
    """What a run of the row is, without the numbers of the cell."""
    preset = [] if request.preset is None else [f"preset={request.preset}"]
    changes = [f"{name}={value}" for name, value in request.changes]
    axes = request.axes if isinstance(request, Sweeps) else ()
    own = [f"{name}={list(values)}" for name, values in axes]
    return " ".join([request.arm.__name__, *preset, *changes, *own])
