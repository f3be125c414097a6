"""given: an arm that begins from arrays of the caller's: weights, a dataset, the batches of an author's own run."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..errors import PlanError, nearest
from ..tensors import without_gradient
from .dynamics import Dynamics, State, Supplied, formula
from .plan import Arm, DeclaredArm, Plan, Stage

PARTS = ("params", "memory", "batches")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class GivenArm(DeclaredArm):
    """An arm with arrays of the caller's in place of some of its own; made by `given`.

    `arrays` are by part and name, such as `params.weight`.
    """

    arrays: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def __call__(self, spec: Any, /) -> Plan:
        plan = self.function(spec)
        return _with_arrays(plan, self) if isinstance(plan, Plan) else plan

    @functools.cached_property
    def digests(self) -> dict[str, str]:
        """For each array its shape and the SHA-256 of its numbers."""
        return {name: _digest(array) for name, array in self.arrays.items()}

    def of_part(self, part: str) -> dict[str, np.ndarray]:
        """The arrays of a part by their names in it; a part that is one array has the name ''."""
        prefix = f"{part}."
        found = {k.removeprefix(prefix): v for k, v in self.arrays.items() if k.startswith(prefix)}
        return {"": self.arrays[part]} if part in self.arrays else found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GivenArm) or self.function != other.function:
            return False
        return self.digests == other.digests

    def __hash__(self) -> int:
        return hash((self.function, tuple(self.digests.items())))

    def __reduce__(self) -> Any:
        return with_arrays, (self.function, dict(self.arrays))


def given(
    arm: Arm | str,
    state: Mapping[str, Any] | None = None,
    *,
    params: PyTree = None,
    memory: PyTree = None,
    batches: PyTree = None,
) -> Arm:
    """An arm that begins from your own arrays: weights, a dataset, or the batches of another program.

        >>> descent = ps.find("linear_modes").arm("descent")
        >>> mine = ps.given(descent, params={"a": np.array([1.0, 0.5, 0.1])})
        >>> ds = ps.run("linear_modes", mine, steps=1, eta=0.5, epsilon=1.0, store=False)
        >>> ds.progress.isel(time=0).round(3).values.tolist()
        [0.333, 0.25, 0.1]

    The result is an arm, for `ps.run` and `ps.sweep` as for requests of evidence. What was given is
    part of a run's identity by its numbers, and is stored with the run: the same call finds it, or
    goes on with it.

    **Arguments:**

    - `arm`: one of a study, such as `study.arm("descent")`; a name alone does not say of which study.
    - `state`: arrays of params and memory as `ps.state` names them (`params.a`): to go on from the end
      of another run. What a dynamics carries begins anew.
    - `params`: what is trained, at the start: an array if the arm has one, else arrays by name. Those
      that are not named are the arm's own.
    - `memory`: what is held fixed (a dataset, a teacher), likewise.
    - `batches`: one for each step, along the first axis of every array, in place of those that the arm
      draws (`ps.descent(sample=...)`): an array, or all arrays of a batch by name.

    **Returns:** an arm of the same name, which reads the same fields.

    **Raises:** `PlanError` if nothing is given, for the name of an arm in place of the arm, for a number that is
    not finite, and, when it is run, for a name that the arm does not have, a shape that does not fit, too
    few batches, or an arm that has no use for them.
    """
    if not callable(arm):
        raise PlanError(
            f"the arm that arrays are given to is a function of a study, got {arm!r}: take it from its study, as in "
            'ps.find("my_study").arm("my_arm").'
        )
    arrays: dict[str, Any] = dict(state or {})
    for part, tree in zip(PARTS, (params, memory, batches), strict=True):
        if tree is not None:
            arrays |= {_joined(part, name): leaf for name, leaf in _named(tree).items()}
    return with_arrays(arm, arrays)


def with_arrays(arm: Arm, arrays: Mapping[str, Any]) -> GivenArm:
    """An arm with arrays by part and name, such as `params.weight`; what a dynamics carries is left out."""
    used = {name: array for name, array in arrays.items() if name.partition(".")[0] != "carry"}
    found = {name: np.asarray(without_gradient(array)) for name, array in used.items()}
    if not found:
        raise PlanError(f"{arm.__name__}: nothing is given: name params, memory or batches.")
    for name, array in found.items():
        if name.partition(".")[0] not in PARTS:
            raise PlanError(
                f'{arm.__name__}: "{name}" is given, but names begin with params, memory or batches, '
                'as in "params.weight".'
            )
        if array.dtype.kind not in "biuf":
            raise PlanError(f'{arm.__name__}: "{name}" holds {array.dtype}, not numbers.')
        if not np.isfinite(array).all():
            raise PlanError(f'{arm.__name__}: "{name}" holds numbers that are not finite.')
    if isinstance(arm, GivenArm):
        return GivenArm(arm.function, arm.reads, arm.continuous, arm.spec, {**arm.arrays, **found})
    if isinstance(arm, DeclaredArm):
        return GivenArm(arm, arm.reads, arm.continuous, arm.spec, found)
    return GivenArm(arm, arrays=found)


def _with_arrays(plan: Plan, arm: GivenArm) -> Plan:
    """The plan with the arrays that were given, which the program receives as tables."""
    _check_use(plan, arm)
    batches = bool(arm.of_part("batches"))
    stages = plan.stages

    def tables() -> PyTree:
        own = None if plan.tables is None else plan.tables()
        if batches:
            _check_count(plan.stages[0], arm)
        return {"own": own, **{part: arm.of_part(part) for part in PARTS}}

    def init(key: Array, tables: Any) -> State:
        own = () if plan.tables is None else (tables["own"],)
        made = plan.init(key, *own)
        state = made if isinstance(made, State) else State(made)
        params = _put(state.params, tables["params"], arm, "params")
        memory = _put(state.memory, tables["memory"], arm, "memory")
        if batches:
            memory = Supplied(memory, _batches(plan, key, memory, tables["batches"], arm))
        return State(params, memory, state.carry)

    if batches:
        stages = (_supplied_stage(plan.stages[0]),)
    return dataclasses.replace(plan, init=init, stages=stages, tables=tables)


def _check_use(plan: Plan, arm: GivenArm) -> None:
    """An arm must have a use for what is given."""
    kinds = [stage.dynamics for stage in plan.stages]
    if arm.of_part("params") and any(isinstance(kind, formula) for kind in kinds):
        raise PlanError(
            f"{arm.__name__} is a closed form, which begins from no params: give them to an arm that moves them."
        )
    if arm.of_part("batches") and (len(kinds) != 1 or not _draws(kinds[0])):
        raise PlanError(
            f"{arm.__name__} cannot take batches: that is for an arm of one stage whose dynamics draws them, such as "
            "ps.descent(sample=...)."
        )


def _draws(dynamics: Dynamics) -> bool:
    """Whether a dynamics draws batches, and takes them in the way that lets others be put in their place."""
    return dynamics.sampler() is not None and type(dynamics).batch is Dynamics.batch


def _check_count(stage: Stage, arm: GivenArm) -> None:
    steps = int(stage.lay_out()[-1])
    for name, array in arm.of_part("batches").items():
        if array.ndim < 1 or len(array) < steps:
            raise PlanError(
                f'{arm.__name__}: "{_joined("batches", name)}" has {len(array) if array.ndim else 0} '
                f"batches, and the run takes {steps} steps: give more of them, or ask for fewer steps."
            )


def _supplied_stage(stage: Stage) -> Stage:
    """The stage with batches from its memory; what it does on entering does not see them."""

    def enter(key: Array, state: State) -> State:
        entered = stage.enter(key, State(state.params, state.memory.memory, state.carry))
        return State(entered.params, Supplied(entered.memory, state.memory.batches), entered.carry)

    return dataclasses.replace(stage, enter=enter)


def _batches(plan: Plan, key: Array, memory: PyTree, arrays: Any, arm: GivenArm) -> PyTree:
    """The batches in the form that the arm draws them, steps first."""
    sampler = plan.stages[0].dynamics.sampler()
    assert sampler is not None
    drawn = jax.eval_shape(sampler, key, memory)
    missing = [name for name in _named(drawn) if name not in arrays]
    if missing:
        names = ", ".join(_joined("batches", name) for name in missing)
        raise PlanError(
            f"{arm.__name__}: a batch of this arm also has {names}, which is not given. Given: {_told(arrays)}."
        )
    return _put(drawn, arrays, arm, "batches", steps_first=True)


def _put(
    tree: PyTree, arrays: Mapping[str, Any], arm: GivenArm, part: str, steps_first: bool = False
) -> PyTree:
    """The tree with some of its arrays replaced by others of the same shape."""
    known = _named(tree)
    for name in arrays:
        if name not in known:
            has = f"Known: {', '.join(known) or 'none'}."
            hint = nearest(name, known) if name and "" not in known else has
            raise PlanError(f'{arm.__name__}: its {part} have no "{name}". {hint}')

    def replaced(path: Any, leaf: Any) -> Any:
        name = _name(path)
        if name not in arrays:
            return leaf
        array = arrays[name]
        shape = array.shape[1:] if steps_first else array.shape
        wanted = np.shape(leaf)
        if shape != wanted:
            each = " a batch" if steps_first else ""
            raise PlanError(
                f'{arm.__name__}: "{_joined(part, name)}" has the shape {shape}{each}, and this arm '
                f"needs {wanted}."
            )
        return jnp.asarray(array, jnp.result_type(leaf))

    return jax.tree_util.tree_map_with_path(replaced, tree)


def _named(tree: PyTree) -> dict[str, Any]:
    """The arrays of a tree by name: keys and attributes, joined by dots."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree, is_leaf=_is_written_out)
    return {_name(path): leaf for path, leaf in leaves if not callable(leaf)}


def _is_written_out(x: Any) -> bool:
    """Whether it is an array in the form of a list of numbers."""
    return isinstance(x, list) and all(isinstance(y, int | float | list) for y in x)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")


def _joined(part: str, name: str) -> str:
    return f"{part}.{name}" if name else part


def _told(arrays: Mapping[str, Any]) -> str:
    return ", ".join(_joined("batches", name) for name in arrays)


def _digest(array: np.ndarray) -> str:
    data = np.ascontiguousarray(array)
    text = f"{data.dtype.str}{data.shape}".encode()
    return f"{data.shape} {hashlib.sha256(text + data.tobytes()).hexdigest()[:16]}"
