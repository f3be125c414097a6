"""Observables: what the theorems talk about. A field's shape annotation names its axes and is the dataset's schema."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr

from ..errors import PlanError


class Observables(eqx.Module):
    """What the theorems talk about. Subclass it with shapes: the annotation names the axes of the dataset.

        >>> from jaxtyping import Array, Float
        >>> class Seen(ps.Observables):
        ...     loss: Float[Array, ""] = ps.field(symbol="L", doc="population loss")
        ...     attention: Float[Array, "query key"]
        >>> Seen(loss=0.5).attention is None
        True

    Every field without a default has the default None. An arm that does not know a quantity leaves
    it out of the call, and its dataset is without it.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _default_to_none(cls)  # equinox makes the dataclass afterwards


def _default_to_none(cls: type) -> None:
    """Give every field that the class itself annotates, and that has no default, the default None."""
    for name, annotation in inspect.get_annotations(cls).items():
        if "ClassVar" in str(annotation):
            continue
        value = cls.__dict__.get(name, dataclasses.MISSING)
        if value is dataclasses.MISSING:
            setattr(cls, name, None)
        elif isinstance(value, dataclasses.Field) and not _has_default(value):
            value.default = None
        else:
            continue
        cls.__annotations__[name] = _or_none(annotation)


def _has_default(field: dataclasses.Field) -> bool:
    given = (field.default, field.default_factory)
    return any(default is not dataclasses.MISSING for default in given)


def _or_none(annotation: Any) -> Any:
    """The annotation, which may be a string, with None allowed."""
    if isinstance(annotation, str):
        return f"{annotation} | None"
    return annotation | None


def known(seen: Observables) -> dict[str, Any]:
    """What was measured, by name."""
    found = {f.name: getattr(seen, f.name) for f in dataclasses.fields(seen)}
    return {name: x for name, x in found.items() if x is not None}


def only(seen: Observables, names: Collection[str] | None) -> Observables:
    """The observables of these names; the others are None, as if the arm did not know them. None: all of them."""
    if names is None:
        return seen
    chosen = object.__new__(
        type(seen)
    )  # as a tree is rebuilt: arrays may have lanes, which no annotation has
    for f in dataclasses.fields(seen):
        value = getattr(seen, f.name) if f.name in names else None
        object.__setattr__(chosen, f.name, value)
    return chosen


def axes(cls: type[Observables]) -> dict[str, tuple[str, ...]]:
    """The names of the axes of every observable, read off the annotations."""
    hints = typing.get_type_hints(cls)
    out = {}
    for f in dataclasses.fields(cls):
        options = (hints[f.name], *typing.get_args(hints[f.name]))
        shaped = next((h for h in options if hasattr(h, "dim_str")), None)
        if shaped is None:
            raise PlanError(
                f'{cls.__name__}.{f.name} has no shape: annotate it as Float[Array, "axis ..."].'
            )
        out[f.name] = tuple(shaped.dim_str.split())
    return out


def to_dataset(
    cls: type[Observables],
    records: Mapping[str, np.ndarray],
    time: np.ndarray,
    stage: np.ndarray,
    stage_names: Sequence[str],
    coords: Mapping[str, Any],
    lead: tuple[str, ...] = (),
) -> xr.Dataset:
    """Records (lead axes, time, then the observable's own axes) as a labelled dataset.

    Every dim has an integer coordinate, or sweeps that change a shape could not be aligned. `stage` is stored as
    integers with CF flags, since the stores below know no stable fixed-width strings.
    """
    dims, variables = axes(cls), {}
    fields = fields_of(cls)
    for name, values in records.items():
        shape = (*lead, "time", *dims[name])
        if values.ndim != len(shape):
            raise PlanError(
                f'observable "{name}" is declared with axes {dims[name]} but was measured with '
                f"{values.ndim - len(lead) - 1}; make measure() return what the annotation says."
            )
        variables[name] = (shape, values, caption(fields[name]))
    flags = {
        "flag_values": list(range(len(stage_names))),
        "flag_meanings": " ".join(map(flag_word, stage_names)),
    }
    ds = xr.Dataset(
        variables, coords={"time": time, "stage": ("time", stage.astype(np.int32), flags)}
    )
    missing = {d: np.arange(ds.sizes[d]) for d in ds.dims if d not in ds.coords and d not in lead}
    given = {d: np.asarray(c) for d, c in coords.items() if d in ds.dims}
    return ds.assign_coords(missing | given)


def fields_of(cls: type[Observables]) -> dict[str, Mapping[str, Any]]:
    """What is said of every observable: symbol, meaning and unit."""
    return {f.name: f.metadata for f in dataclasses.fields(cls)}


def flag_word(name: str) -> str:
    """A stage name as one word, as CF wants in `flag_meanings`."""
    return "_".join(name.split())


def stage_names(ds: xr.Dataset) -> list[str]:
    """The names of the stages of a run, in order.

        >>> ps.stage_names(ps.run("linear_modes", "logistic", store=False))
        ['training']

    **Arguments:** `ds`: a run or a sweep.

    **Returns:** a list of words.
    """
    return ds["stage"].attrs["flag_meanings"].split()


def in_stage(ds: xr.Dataset, name: str) -> xr.Dataset:
    """The records of one stage.

        >>> ds = ps.run("linear_modes", "logistic", store=False)
        >>> bool(ps.in_stage(ds, "training").sizes["time"] > 0)
        True

    **Arguments:** `ds`: a run or a sweep. `name`: of the stage.

    **Returns:** the dataset of these records; in a sweep whose runs change stage at different times,
    with nan where a run is elsewhere.

    **Raises:** `ValueError` if there is no such stage.
    """
    inside = ds["stage"] == stage_names(ds).index(flag_word(name))
    return (
        ds.isel(time=np.flatnonzero(inside.values))
        if inside.ndim == 1
        else ds.where(inside, drop=True)
    )


def caption(metadata: Mapping[str, Any]) -> dict[str, str]:
    """What a dataset says of an observable, from its field; xarray labels plots by `long_name` and `units`."""
    names = {"symbol": "symbol", "doc": "long_name", "unit": "units"}
    return {names[k]: metadata[k] for k in names if metadata.get(k)}
