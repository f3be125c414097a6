"""Maps of claims for the page: those that were kept, which claims have one, and new ones made behind the page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from ..claims.requests import Maps as MapRequest
from ..claims.requests import maps
from ..errors import SpecError, StoreError, nearest
from ..report.code_digest import study_digest
from ..report.kept_maps import KeptMap, KeptMaps
from ..spec import Spec
from ..store import Store
from ..study import Study
from ..verbs.context import Context
from ..verbs.map import RUNS, ZERO, resolve_map
from ..verbs.map_axes import map_axis
from ..verbs.map_cells import ASSUMPTION, LANE, RUN
from ..verbs.map_rows import MapRow, check_fields, map_row, mappable
from .studies import by_name, field_described
from .wire import over_two_axes, packed, plain

MARK = "claim-"  # with which the id of a claim's map begins
MOST_CELLS = 2**16  # of a map that is made from the page
MOST_CROSSINGS = 20_000
SHOWN = ("margin", "outcome")


class ClaimMaps:
    """The maps of claims of one store."""

    def __init__(self, store: Store) -> None:
        self.kept = KeptMaps(store.root)

    def to_json(self) -> list[dict[str, Any]]:
        """All of them for a list."""
        codes: dict[str, str] = {}
        return [_listed(one, _code_of(one, codes)) for one in self.kept.all()]

    def grid(self, id: str, asked: Mapping[str, str], held: Mapping[str, str]) -> bytes:
        """Margin, outcome or assumption over two axes of a map, as `packed` sends it.

        `held` are the indices at which the other axes are cut. With the numbers go the words of all cells, the runs, where
        assumptions end, and the zero line if it was located.
        """
        found = next((one for one in self.kept.all() if f"{MARK}{one.id}" == id), None)
        if found is None:
            raise StoreError(f'there is no map "{id[:100]}".')
        ds = found.dataset
        names = [str(dim) for dim in ds["margin"].dims]
        x = asked.get("x") or names[0]
        y = asked.get("y") or next((name for name in names if name != x), "")
        for name in (x, *filter(None, [y]), *held):
            if name not in names:
                raise SpecError(f'the map has no axis "{name[:100]}". {nearest(name[:100], names)}')
        if x == y:
            raise SpecError("a map has two different axes.")
        at = {
            name: _index(held.get(name, "0"), ds.sizes[name])
            for name in names
            if name not in (x, y)
        }
        return _packed(ds.isel(at), x, y, asked.get("value", ""), not at)


def claims_with_maps(study: Study) -> list[dict[str, Any]]:
    """The claims of which a map can be made, and the numbers it may vary, each with where it stands by itself."""
    found = []
    for claim in study.claims:
        names = mappable(study, claim)
        if not names:
            continue
        row = map_row(study, claim)
        spec = _numbers_of(study, row)
        found.append(
            {
                "id": claim.id,
                "cites": plain(claim.cites),
                "statement": plain(claim.statement),
                "fields": [field_described(spec, name) for name in names],
            }
        )
    return found


def asked_map(document: Any) -> tuple[Study, MapRequest]:
    """The map that a request describes, checked; nothing runs."""
    study = by_name(document.get("study"))
    claim = document.get("claim")
    fields = document.get("fields")
    if not isinstance(claim, str) or not isinstance(fields, dict):
        raise SpecError("a claim is an id, and fields are an object of ranges or numbers by name.")
    asked = study.claim(claim)
    row = map_row(study, asked)
    spec = _numbers_of(study, row)
    axes = {k: v for k, v in fields.items() if isinstance(v, str)}
    for name, value in fields.items():
        if type(value) not in (str, int, float) or len(str(value)) > 100:
            raise SpecError(f"{name[:100]} is a number, or a range lo:hi:n or lo:hi:n:log.")
    if not axes:
        raise SpecError("a map has one or more axes, such as eta=0.1:10:64:log; none was given.")
    check_fields(study, asked, row, fields)
    cells = math.prod(_points(text) for text in axes.values())
    if cells > MOST_CELLS:
        raise SpecError(f"the map has {cells} cells, more than {MOST_CELLS}: ask for fewer points.")
    for name, text in axes.items():
        map_axis(spec, name, text)
    return study, maps(asked, **fields)


def made(study: Study, request: MapRequest, context: Context) -> str:
    """Make a map and keep it, with its runs in the store; its id."""
    found = resolve_map(study, request, context)
    assert context.store is not None
    return f"{MARK}{KeptMaps(context.store.root).keep(found, study)}"


def told(request: MapRequest, study: Study) -> dict[str, Any]:
    """What the making of a map is, for a list of jobs."""
    return {
        "study": study.name,
        "arm": None,
        "map": request.claim.id,
        "fields": plain(dict(request.fields)),
    }


def _points(text: str) -> int:
    """How many points a range has at most; 256 where it does not say."""
    counts = [int(part) for part in text.split(":")[2:] if part.isdecimal() and len(part) < 10]
    return max(counts, default=256)


def _numbers_of(study: Study, row: MapRow) -> Spec:
    """The numbers of the first evidence of a row: those that a map goes around."""
    first = row.requests[0]
    return study.specify(first.preset, first.arm, **dict(first.changes))


def _listed(one: KeptMap, code: str) -> dict[str, Any]:
    ds = one.dataset
    said = ds.attrs
    words, counts = np.unique(ds["word"].values, return_counts=True)
    return {
        "id": f"{MARK}{one.id}",
        "study": plain(said.get("study")),
        "claim": plain(said.get("claim")),
        "cites": plain(said.get("cites")),
        "statement": plain(said.get("statement")),
        "row": plain(said.get("row")),
        "evidence": plain(str(said.get("request", "")).split("; ")),
        "judged": plain(said.get("judged")),
        "changes": plain(said.get("changes")),
        "words": {str(w): int(n) for w, n in zip(words, counts, strict=True)},
        "axes": [_axis(ds, str(dim)) for dim in ds["margin"].dims],
        "runs": plain(str(said.get(RUNS, "")).split()),
        "when": plain(one.when),
        "outdated": bool(code) and one.code != code,
    }


def _axis(ds: xr.Dataset, name: str) -> dict[str, Any]:
    attrs = ds[name].attrs
    return {
        "name": name,
        "values": plain(ds[name].values),
        "symbol": plain(str(attrs.get("symbol", ""))),
        "meaning": plain(str(attrs.get("long_name", ""))),
    }


def _code_of(one: KeptMap, known: dict[str, str]) -> str:
    """The digest of the study's code now; empty if nobody knows it."""
    name = str(one.dataset.attrs.get("study", ""))
    if name not in known:
        try:
            known[name] = study_digest(by_name(name)) or ""
        except Exception:  # it is not installed, or it is broken
            known[name] = ""
    return known[name]


def _index(word: str, size: int) -> int:
    if not word.isdecimal() or len(word) > 9 or int(word) >= size:
        raise SpecError(f"an axis is held at an index below {size}, got {word[:50]}.")
    return int(word)


def _packed(ds: xr.Dataset, x: str, y: str, value: str, whole: bool) -> bytes:
    """Two axes of a map with all that is drawn over them; `whole` if it has no other axes."""
    assumed = [str(name) for name in ds.data_vars if str(name).startswith(ASSUMPTION)]
    values = [*SHOWN, *assumed]
    value = value or SHOWN[0]
    if value not in values:
        raise SpecError(f'the map has no quantity "{value[:100]}". {nearest(value[:100], values)}')
    dims = [y, x] if y else [x]

    def over(name: str) -> np.ndarray:
        shown = ds[name].transpose(*dims).values
        return shown if y else shown[None]

    shown = over(value).astype(float)
    words, which = np.unique(over("word"), return_inverse=True)
    header = {
        **over_two_axes(shown, (y, ds[y].values if y else []), (x, ds[x].values), value, values),
        "claim": plain(ds.attrs.get("claim")),
        "words": plain(words),
        "word": which.reshape(shown.shape).tolist(),
        "assumptions": [
            {
                "name": name.removeprefix(ASSUMPTION).replace("_", " "),
                "offset": (i + 2) * shown.size,
            }
            for i, name in enumerate(assumed)
        ],
        "outcome": shown.size,
        "zero": _zero_line(ds, x, y) if whole else [],
        "runs": plain(str(ds.attrs.get(RUNS, "")).split()),
        "evidence": [_places(ds, n, over) for n in range(1, 1 + _evidence(ds))],
    }
    arrays = [over(name).astype(float) for name in ("outcome", *assumed)]
    return packed(header, shown, *arrays)


def _evidence(ds: xr.Dataset) -> int:
    return sum(str(name).startswith(RUN) for name in ds.data_vars)


def _places(ds: xr.Dataset, number: int, over: Any) -> dict[str, Any]:
    """Where the runs of one piece of evidence are stored, cell by cell: [number of the run, lane]."""
    both = np.stack([over(f"{RUN}{number}"), over(f"{LANE}{number}")], axis=-1)
    words = str(ds[f"{RUN}{number}"].attrs.get("long_name", ""))
    name = words.removeprefix("stored run of ").partition(": its number")[0]
    return {"name": plain(name), "cells": both.tolist()}


def _zero_line(ds: xr.Dataset, x: str, y: str) -> list[Any]:
    """Pieces of the located zero line as [x0, y0, x1, y1]."""
    if ZERO not in ds or not y:
        return []
    names = [str(name) for name in ds["axis"].values]
    ends = ds[ZERO].values[ds[f"{ZERO}_segments"].values][:MOST_CROSSINGS]
    both = ends[..., [names.index(x), names.index(y)]]
    return plain(both.reshape(len(both), -1))
