"""How groups of parameters grow: norms relative to the start, distance from it, and which group is ahead."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ProbeError, nearest
from .arrays import Array, as_array

Parameters = Mapping[str, Array]


def group_norms(parameters: Parameters, groups: Mapping[str, str]) -> dict[str, float]:
    """The Euclidean norm of all parameters of a group together.

        >>> from phasescope import probes
        >>> weights = {"h.0.attn.q": np.array([3.0]), "h.1.attn.q": np.array([4.0]), "head": np.ones(2)}
        >>> probes.group_norms(weights, {"attention": r"attn"})
        {'attention': 5.0}

    **Arguments:** `parameters`: arrays by name. `groups`: for each group a regular expression that is found
    in the names of its parameters.

    **Returns:** one number for each group.

    **Raises:** `ProbeError` if a group has no parameter, or an expression is none.
    """
    members = {group: _members(parameters, group, rule) for group, rule in groups.items()}
    return {
        group: float(np.sqrt(sum(_squares(parameters[name]) for name in names)))
        for group, names in members.items()
    }


def relative_norms(
    series: Sequence[Parameters], groups: Mapping[str, str]
) -> dict[str, np.ndarray]:
    """The norm of every group at every time, relative to the first.

        >>> from phasescope import probes
        >>> probes.relative_norms([{"w": np.ones(4)}, {"w": 3 * np.ones(4)}], {"all": "w"})
        {'all': array([1., 3.])}

    **Arguments:** `series`: the parameters at some times. `groups`: as for `group_norms`.

    **Returns:** one array over the times for each group; NaN if the group begins at zero.
    """
    norms = [group_norms(one, groups) for one in _alike(series)]
    return {
        group: _relative(np.array([one[group] for one in norms]), norms[0][group])
        for group in groups
    }


def moved(series: Sequence[Parameters], groups: Mapping[str, str]) -> dict[str, np.ndarray]:
    """How far every group is from where it began, relative to its norm there.

        >>> from phasescope import probes
        >>> probes.moved([{"w": np.ones(4)}, {"w": -np.ones(4)}], {"all": "w"})
        {'all': array([0., 2.])}

    **Arguments:** `series`: the parameters at some times. `groups`: as for `group_norms`.

    **Returns:** one array over the times for each group; NaN if the group begins at zero.
    """
    listed = _alike(series)
    start = listed[0]
    begin = group_norms(start, groups)
    steps = [
        group_norms({name: _wide(one[name]) - _wide(start[name]) for name in start}, groups)
        for one in listed
    ]
    return {group: _relative(np.array([s[group] for s in steps]), begin[group]) for group in groups}


def lead_of_readout(readout: Array, attention: Array) -> np.ndarray:
    """By how much the read-out is ahead of attention: the logarithm of its growth over that of attention.

        >>> from phasescope import probes
        >>> probes.lead_of_readout([1.0, 2.0], [10.0, 10.0]).round(3)
        array([0.   , 0.693])

    **Arguments:** `readout`, `attention`: norms over the same times, the first of which is the start.

    **Returns:** an array over the times: 0 at the start, positive while the read-out has grown by the larger
    factor; NaN if one of them begins at zero.
    """
    r = np.asarray(readout, float)
    a = np.asarray(attention, float)
    if r.ndim != 1 or r.shape != a.shape or not r.size:
        raise ProbeError(
            f"norms of read-out and attention are over the same times, got shapes {r.shape} and {a.shape}."
        )
    with np.errstate(divide="ignore"):
        return np.log(_relative(r, r[0])) - np.log(_relative(a, a[0]))


def _members(parameters: Parameters, group: str, rule: str) -> list[str]:
    try:
        found = [name for name in parameters if re.search(rule, name)]
    except re.error as problem:
        raise ProbeError(f"group {group}: {rule!r} is no regular expression: {problem}.") from None
    if not found:
        raise ProbeError(
            f"group {group}: no parameter has {rule!r} in its name. {nearest(rule, parameters)}"
        )
    return found


def _alike(series: Sequence[Parameters]) -> Sequence[Parameters]:
    """The series, if its parameters have the same names and shapes at all times."""
    if not series:
        raise ProbeError("there are no parameters in an empty series.")
    shapes = [{name: tuple(x.shape) for name, x in one.items()} for one in series]
    for number, found in enumerate(shapes):
        if found != shapes[0]:
            odd = min(dict(found.items() ^ shapes[0].items()))
            raise ProbeError(f"number {number} of the series differs from the first in {odd}.")
    return series


def _wide(x: Array) -> np.ndarray:
    """In double precision: the square of a half-precision number overflows."""
    return np.asarray(as_array(x), np.float64)


def _squares(x: Array) -> float:
    return float(np.sum(_wide(x) ** 2))


def _relative(values: np.ndarray, start: float) -> np.ndarray:
    return values / start if start else np.full(values.shape, np.nan)
