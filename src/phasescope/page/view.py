"""view: a run in a notebook, with the panels and the cursor of the page."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ..errors import SpecError
from ..files import os_errors_as_store_errors
from .bundle import framed, page_of
from .run_view import TIMES, described_records, phases, values
from .wire import plain

ENTRY = Path(__file__).parent / "notebook" / "view.js"
MOST_NUMBERS = 2**18  # in one view, 2 MiB
MOST_RECORDS = 2000  # among which the cursor moves, and of one quantity
MOST_LANES = 64
HEIGHT = 600
ADVICE = "Choose another file"


class View:
    """Records as a page that needs no server: a notebook shows it by itself, and `save` writes it to a file."""

    def __init__(self, ds: xr.Dataset, height: int) -> None:
        self.height = height
        self.title = plain(
            f"{ds.attrs.get('study', 'records')} / {ds.attrs.get('arm', '')}".rstrip(" /")
        )
        run, numbers = _shown(ds)
        self.left_out = [one["name"] for one in run["variables"] if one["name"] not in numbers]
        self.html = page_of(ENTRY, self.title, {"run": run, "numbers": numbers})

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the page to a file that any browser opens."""
        path = Path(file)
        with os_errors_as_store_errors(path, "write", ADVICE):
            path.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return framed(self.html, self.height, self.title)

    def __repr__(self) -> str:
        size = len(self.html) / 1e6
        return (
            f"<view of {self.title}, {size:.2g} MB; a notebook shows it, view.save(FILE) writes it>"
        )


def view(ds: Any, height: int = HEIGHT) -> View:
    """The records of a run as panels under one time cursor, in a notebook. It needs no server and no network.

        >>> ds = ps.run("linear_modes", "logistic", store=False)
        >>> ps.view(ds)
        <view of linear_modes / logistic, ... MB; a notebook shows it, view.save(FILE) writes it>

    Numbers with axes beyond time are shown as colours. Of long runs so many records are taken that every peak is
    among them; what is too large for a notebook is named in its panel, and in `left_out`.

    **Arguments:** `ds`: any dataset, as from `ps.run`, `ps.open`, `ps.logged`; or one array of it. `height`: pixels.

    **Returns:** a `View`, which a notebook shows; `save(FILE)` writes it as a page for a browser.

    **Raises:** `SpecError` if `ds` is no dataset, or the height is no number of pixels.
    """
    if isinstance(ds, xr.DataArray):
        ds = ds.to_dataset(name=ds.name or "values")
    if not isinstance(ds, xr.Dataset):
        raise SpecError(f"ps.view shows a dataset, such as of ps.run, got {type(ds).__name__}.")
    if type(height) is not int or not 100 <= height <= 10_000:
        raise SpecError(f"height is a number of pixels from 100 to 10000, got {height!r}.")
    return View(ds, height)


def _shown(ds: xr.Dataset) -> tuple[dict[str, Any], dict[str, str]]:
    """What is said of a run, and the numbers of its quantities as text, in so much room."""
    if ds.sizes.get("lane", 0) > MOST_LANES:
        ds = ds.isel(lane=slice(0, MOST_LANES))
    run = described_records(_fewer_records(ds))
    run |= {"id": plain(str(ds.attrs.get("id", ""))), "arms": [], "swept": _swept(ds)}
    run["phases"] = phases(ds)
    names = [one["name"] for one in run["variables"]]
    room = MOST_NUMBERS // max(len(names), 1)
    numbers = {}
    for name in names:
        points = _points(ds[name], room)
        if points is not None:
            sent = values(ds, name, points, None)
            numbers[name] = base64.b64encode(sent).decode()
    return run, numbers


def _points(x: xr.DataArray, room: int) -> int | None:
    """How many records of a quantity there is room for; None if it is too large."""
    axis = next((dim for dim in x.dims if dim in TIMES), None)
    if axis is None:
        return MOST_RECORDS if x.size <= room else None
    points = min(room // max(x.size // max(x.sizes[axis], 1), 1), MOST_RECORDS)
    return points if points >= min(4, x.sizes[axis]) else None


def _fewer_records(ds: xr.Dataset) -> xr.Dataset:
    """The records among which a cursor moves."""
    for dim in TIMES:
        if ds.sizes.get(dim, 0) > MOST_RECORDS:
            chosen = np.linspace(0, ds.sizes[dim] - 1, MOST_RECORDS).round().astype(int)
            ds = ds.isel({dim: chosen})
    return ds


def _swept(ds: xr.Dataset) -> dict[str, Any]:
    """What differs from lane to lane."""
    along = {str(name): x for name, x in ds.coords.items() if x.dims == ("lane",) and x.size}
    return {name: plain([x.values[0], x.values[-1]]) for name, x in along.items() if name != "lane"}
