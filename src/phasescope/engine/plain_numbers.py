"""A number of the spec that an arm needs as a plain number, inside a program: which one, and where.

Floats, and integers that are marked `traced=True` or `continuous`, are arguments of the compiled program, so that
another value compiles nothing. JAX says so in its own words, which name neither the field nor the line.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import PhasescopeError, PlanError
from ..identity.places import Place, authors_place
from ..plan.plan import Arm, lane_fields
from ..spec import Spec
from .calls import Call
from .programs import Inputs, Program, advance_stage, begin_run, enter_stage

TRACED = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)
NOT_A_SHAPE = "Shapes must be 1D sequences of concrete values"
# What a program is made of: each is traced by itself.
Piece = Callable[[Inputs], Any]


@contextlib.contextmanager
def plain_numbers_named(arm: Arm, spec: Spec, inputs: Callable[[], Inputs]) -> Iterator[None]:
    """Say in place of JAX which field an arm uses as a plain number, and at which line of the author's.

    `spec` holds the plain numbers of the run, `inputs` gives what its programs are called with.
    """
    try:
        yield
    except (*TRACED, TypeError) as error:
        if isinstance(error, TypeError) and not _is_about_tracing(error):
            raise
        place = authors_place(error)
        field = None if place is None else _field_used(arm, spec, inputs(), place)
        raise PlanError(_sentence(arm, spec, field, place, error)) from None


@contextlib.contextmanager
def mistakes_placed(arm: Arm) -> Iterator[None]:
    """An arm that cannot be planned at all: say at which line of the author's it stumbles, and over what."""
    try:
        yield
    except (PhasescopeError, MemoryError):
        raise
    except Exception as error:
        place = authors_place(error)
        where = f" at {place}" if place else ""
        raise PlanError(
            f"{arm.__name__}: its plan cannot be made: {type(error).__name__}: {error}{where}."
        ) from error


def _is_about_tracing(error: Exception) -> bool:
    return isinstance(error, TRACED) or NOT_A_SHAPE in str(error)


def _field_used(arm: Arm, spec: Spec, inputs: Inputs, place: Place) -> str | None:
    """The field which alone, as an argument of the program, brings about the same error at the same line."""
    numbers = _arguments(arm, spec)
    numbers.sort(key=lambda name: name not in place.text)  # the likely ones first
    for piece in _pieces(arm, spec):
        if _fails_at(piece, None, spec, inputs) == place:
            return None  # whatever the fields are: it is the state, or what was computed with jnp
        for name in numbers:
            if _fails_at(piece, name, spec, inputs) == place:
                return name
    return None


def _arguments(arm: Arm, spec: Spec) -> list[str]:
    """The fields that a program receives as numbers."""
    traced = [f.name for f in dataclasses.fields(spec) if f.metadata.get("traced")]
    names = dict.fromkeys([*lane_fields(arm, spec), *traced])
    return [name for name in names if getattr(spec, name) is not None]


def _pieces(arm: Arm, spec: Spec) -> Iterator[Piece]:
    """The beginning of a run, then every stage with all that comes before it."""
    yield lambda inputs: begin_run(Program(arm), inputs)[1]
    for last, stage in enumerate(arm(spec).stages):
        start = jnp.zeros(1, int if stage.dynamics.divisible else float)
        yield lambda inputs, last=last, start=start: _through(arm, inputs, last, start)


def _through(arm: Arm, inputs: Inputs, last: int, start: jax.Array) -> Any:
    state = begin_run(Program(arm), inputs)[0]
    for index in range(last + 1):
        state = enter_stage(Program(arm, stage=index), inputs, state)
    yes = jnp.ones(1, bool)
    call = Call(starts=start, stops=start + 1, is_record=yes, asks_until=yes)
    return advance_stage(Program(arm, stage=last), inputs, state, jnp.zeros((), bool), call)[1]


def _fails_at(piece: Piece, name: str | None, spec: Spec, inputs: Inputs) -> Place | None:
    """The author's line at which a piece fails, if this field alone is an argument of the program, or none is."""

    def with_arguments(numbers: dict[str, jax.Array]) -> Any:
        return piece(dataclasses.replace(inputs, spec=spec.replace(**numbers)))

    numbers = {} if name is None else {name: jnp.asarray(getattr(spec, name))}
    try:
        eqx.filter_eval_shape(with_arguments, numbers)
    except (*TRACED, TypeError) as error:
        return authors_place(error) if _is_about_tracing(error) else None
    except Exception:  # of another sort: it tells nothing
        return None
    return None


def _sentence(
    arm: Arm, spec: Spec, field: str | None, place: Place | None, error: Exception
) -> str:
    what = f'the field "{field}"' if field else "a number that the program computes"
    used = "decides a branch" if isinstance(error, jax.errors.TracerBoolConversionError) else ""
    where = f" at {place}" if place else f" ({str(error).splitlines()[0]})"
    metadata = {f.name: f.metadata for f in dataclasses.fields(spec)}
    marked = field is not None and metadata[field].get("traced")
    otherwise = " or leave out traced=True," if marked else ""
    remedy = "use jnp in place of np and math, and jnp.where in place of if"
    if field is not None:
        remedy = (
            "It is an argument of the compiled program, so that other values compile nothing: "
            f"{remedy}, ps.linear_times or ps.log_times for record times,{otherwise} or make it a "
            "field that shapes the program (a plain int, bool or str)"
        )
    else:
        remedy = f"It is not known while the program is compiled: {remedy}"
    return f"{arm.__name__}: {what} {used or 'is used as a plain number'}{where}. {remedy}."
