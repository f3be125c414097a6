"""Spec: the numbers of one run, a flat frozen record.

Floats may be swept inside one compiled program, and so may the seed; every other field shapes the program.
An integer that only says *when* (how many steps, where a stage ends) is marked `traced=True`: the program
receives it as a number, so that changing it compiles nothing anew.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import equinox as eqx
import jax
import numpy as np

from .errors import SpecError, nearest
from .shown import spec_html, spec_text

if TYPE_CHECKING:
    import xarray as xr

Value = bool | int | float | str | None
_NO_DEFAULT: Any = dataclasses.MISSING


def field(
    default: Any = _NO_DEFAULT,
    *,
    symbol: str = "",
    doc: str = "",
    unit: str = "",
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    below: float | None = None,
    choices: Sequence[str] = (),
    infinite: bool = False,
    traced: bool = False,
) -> Any:
    """A field of a Spec (with its range) or of Observables (with what a dataset says of it).

        >>> class Spec(ps.Spec):
        ...     steps: int = ps.field(1000, at_least=1, traced=True, symbol="T", doc="updates")
        >>> Spec(steps=0)
        Traceback (most recent call last):
            ...
        phasescope.errors.SpecError: steps must be at least 1 (updates), got steps=0.

    **Arguments:**

    - `default`: without it, a field of a Spec must be given and one of Observables is None.
    - `symbol`, `doc`, `unit`: the paper's letter, the meaning, and the unit.
    - `at_least`, `above`, `at_most`, `below`: the range of a number; `above` and `below` leave the
      bound itself out.
    - `choices`: the values of a word.
    - `infinite`: an infinite number is allowed.
    - `traced`: an integer that only says *when*: the program receives it as a number, and another
      value compiles nothing.

    **Returns:** a field of the class.
    """
    metadata = {
        "symbol": symbol,
        "doc": doc,
        "unit": unit,
        "at_least": at_least,
        "above": above,
        "at_most": at_most,
        "below": below,
        "choices": tuple(choices),
        "infinite": infinite,
        "traced": traced,
    }
    return (
        eqx.field(metadata=metadata)
        if default is _NO_DEFAULT
        else eqx.field(default=default, metadata=metadata)
    )


class Spec(eqx.Module):
    """The numbers of one run, flat and frozen. Subclass it with annotated defaults.

        >>> class Spec(ps.Spec):
        ...     length: int = 8
        ...     eta: float = ps.field(0.1, above=0, doc="step size")
        >>> Spec().replace(eta=0.2).to_json()
        {'length': 8, 'eta': 0.2}

    A field is a bool, int, float or str, or one of these or None. Floats may be swept inside one
    compiled program, every other field shapes it.

    **Raises:** `SpecError` for a field that does not exist, or a value it cannot take.
    """

    def __post_init__(self) -> None:
        kinds = field_types(type(self))
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(
                value, jax.Array
            ):  # a swept column or a tracer: checked before it was made
                continue
            value = _coerce(f, kinds[f.name], value)
            _check_range(f, value)
            object.__setattr__(self, f.name, value)

    def __repr__(self) -> str:
        return spec_text(self)

    def _repr_html_(self) -> str:
        return spec_html(self)

    def replace(self, **changes: Any) -> Self:
        """The same numbers but for `changes`; an unknown name is an error that suggests the nearest one."""
        known = [f.name for f in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                raise SpecError(f'there is no field "{name}". {nearest(name, known)}')
        return dataclasses.replace(self, **changes)

    def to_json(self) -> dict[str, Value]:
        """Plain values by name; infinities as strings, so that the text is strict JSON."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {
            k: str(v) if isinstance(v, float) and math.isinf(v) else v for k, v in values.items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Value]) -> Self:
        """The inverse of `to_json`."""
        return cls().replace(**values)

    @classmethod
    def of(cls, run: xr.Dataset) -> Self:
        """The numbers that a dataset was run with; of a sweep, those that its runs share.

        What the dataset has beyond the fields of this class is left out: it may be older than the class.
        """
        return _read(cls, run.attrs["spec"])

    def traced(self, continuous: Collection[str] = ()) -> Self:
        """The spec as an argument of a compiled program: floats and traced integers become arrays.

        Integers that are `continuous` to an arm become floats.
        """
        kinds = field_types(type(self))
        numbers: dict[str, Any] = {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if isinstance(value, jax.Array) or value is None:
                continue
            if float in kinds[f.name] or f.name in continuous:
                numbers[f.name] = np.float64(value)
            elif f.metadata.get("traced"):
                numbers[f.name] = np.int64(value)
        return dataclasses.replace(self, **jax.device_put(numbers))


@functools.lru_cache(maxsize=1024)
def _read(cls: type[Any], text: str) -> Any:
    """Claims ask a run for its numbers again and again."""
    known = {f.name for f in dataclasses.fields(cls)}
    values = json.loads(text)
    return cls.from_json({name: value for name, value in values.items() if name in known})


def number(ds: xr.Dataset, name: str) -> Any:
    """A field of the Spec that a dataset was run with: of every lane, if it was swept.

        >>> sw = ps.sweep("linear_modes", "logistic", epsilon=[1e-3, 1e-4], store=False)
        >>> ps.number(sw, "epsilon").dims, ps.number(sw, "steps")
        (('epsilon',), 1500)

    **Arguments:** `ds`: a run, a sweep, or lanes chosen from one. `name`: the field.

    **Returns:** the axis if the field was swept, the number of its lane if one was chosen, else the
    value that all runs share.

    **Raises:** `SpecError` if there is no such field, or if the dataset does not say.
    """
    if name in ds.coords:
        return ds[name]
    if "spec" not in ds.attrs:
        raise SpecError(
            f'the dataset does not say what "{name}" was: it has no such axis, and its runs share no '
            "spec. Choose a run of it."
        )
    shared = _shared(ds.attrs["spec"])
    if name not in shared:
        raise SpecError(f'there is no field "{name}". {nearest(name, list(shared))}')
    return shared[name]


@functools.lru_cache(maxsize=1024)
def _shared(text: str) -> dict[str, Value]:
    """The fields in the text that `to_json` gave; infinite numbers are words there."""
    infinite = {"inf": math.inf, "-inf": -math.inf}
    return {k: infinite.get(v, v) if isinstance(v, str) else v for k, v in json.loads(text).items()}


def float_fields(spec: type[Spec] | Spec) -> list[str]:
    """Names of the fields that may be swept inside one program."""
    cls = spec if isinstance(spec, type) else type(spec)
    return [name for name, kinds in field_types(cls).items() if float in kinds]


@functools.cache
def field_types(cls: type[Spec]) -> dict[str, tuple[type, ...]]:
    """The plain types that each field admits: `int | None` gives (int, NoneType)."""
    hints = typing.get_type_hints(cls)
    out = {}
    for f in dataclasses.fields(cls):
        hint = hints[f.name]
        union = typing.get_origin(hint) in (typing.Union, types.UnionType)
        kinds = typing.get_args(hint) if union else (hint,)
        if not set(kinds) <= {bool, int, float, str, type(None)}:
            raise SpecError(
                f"{cls.__name__}.{f.name}: a field is a bool, int, float or str, got {hint}."
            )
        out[f.name] = kinds
    return out


def _coerce(f: dataclasses.Field, kinds: tuple[type, ...], value: Any) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None and type(None) in kinds:
        return None
    if isinstance(value, bool):
        if bool in kinds:
            return value
    elif isinstance(value, int):
        if int in kinds:
            return value
        if float in kinds:
            return _as_float(f, value)
    elif isinstance(value, float):
        if float in kinds:
            return value
        if int in kinds and value.is_integer():
            return int(value)
    elif isinstance(value, str):
        if str in kinds:
            return value
        if float in kinds and value in ("inf", "-inf"):
            return float(value)
    raise SpecError(f"{f.name} must be {kind_words(kinds)}, got {f.name}={value!r}.")


def _as_float(f: dataclasses.Field, value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        raise _too_large(f, value) from None


def _too_large(f: dataclasses.Field, value: int) -> SpecError:
    short = value.bit_length() < 2**13  # Python refuses to write out what is longer
    digits = len(str(abs(value))) if short else math.floor(math.log10(abs(value))) + 1
    return SpecError(f"{f.name} is too large for a number of 64 bits: it has {digits} digits.")


def _check_range(f: dataclasses.Field, value: Value) -> None:
    rule, why = f.metadata, f" ({f.metadata['doc']})" if f.metadata.get("doc") else ""
    if isinstance(value, str):
        if rule.get("choices") and value not in rule["choices"]:
            raise SpecError(
                f'{f.name}="{value}" is not one of its values. {nearest(value, rule["choices"])}'
            )
    elif isinstance(value, int | float) and not isinstance(value, bool):
        if isinstance(value, int) and value >= 2**63:
            raise _too_large(f, value)
        if math.isnan(value) or (math.isinf(value) and not rule.get("infinite")):
            raise SpecError(f"{f.name} must be a finite number{why}, got {f.name}={value}.")
        for bound, broken, words in (
            ("at_least", lambda b: value < b, "at least"),
            ("above", lambda b: value <= b, "above"),
            ("at_most", lambda b: value > b, "at most"),
            ("below", lambda b: value >= b, "below"),
        ):
            if rule.get(bound) is not None and broken(rule[bound]):
                raise SpecError(
                    f"{f.name} must be {words} {rule[bound]:g}{why}, got {f.name}={value}."
                )
        if isinstance(value, int) and value < -(2**63):
            raise _too_large(f, value)


def kind_words(kinds: tuple[type, ...]) -> str:
    """The types that a field admits, in the words of an error message."""
    names = {
        bool: "true or false",
        int: "an integer",
        float: "a number",
        str: "a word",
        type(None): "none",
    }
    return " or ".join(names[k] for k in kinds)
