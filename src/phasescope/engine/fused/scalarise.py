"""scalarise: a function on small arrays as a program of scalar operations.

The function is traced once, for one run. What it computes of numbers that are known is worked out at once; what only moves
numbers about vanishes; its one loop over steps becomes the loop of the program. A part that cannot be written so, such as a
draw of random numbers, is `Hidden`, and matters only if an output depends on it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal
from jaxtyping import PyTree

from . import arrays
from .expansions import EXPANSIONS, convert
from .loops import loop_over_steps
from .operations import OPERATIONS
from .program import Builder, Node, Program, Unfusable, finished
from .values import KINDS, Hidden, Value, first_hidden, is_known, known, scalars

IDENTITIES = ("copy", "copy_p", "stop_gradient", "sharding_constraint")
# Calls of another function, and the parameters in which they keep it.
CALLS = (
    "pjit",
    "jit",
    "closed_call",
    "core_call",
    "custom_jvp_call",
    "custom_vjp_call",
    "custom_vjp_call_jaxpr",
    "remat",
    "remat2",
    "checkpoint",
)
CALLED = ("jaxpr", "call_jaxpr", "fun_jaxpr")
# What a product of matrices is made of: of numbers, and of truth values.
PRODUCTS = {False: ("mul", "add"), True: ("and", "or")}
SAME_AS = {"add_any": "add", "select_n": "select"}


@dataclasses.dataclass(frozen=True)
class Scalarised:
    """A function as a program: its outputs, in order, are the scalars of `like`, a tree of shapes."""

    program: Program
    like: PyTree


def scalarise(function: Callable[..., PyTree], *examples: PyTree) -> Scalarised:
    """The program of `function(*examples)`, whose arguments are trees of shapes; its inputs are their scalars in order.

    If it has a loop over steps, the last two of them say from which step to which. Raises `Unfusable` if it has no program.
    """
    closed, like = jax.make_jaxpr(function, return_shape=True)(*examples)
    builder = Builder()
    count = 0
    arguments: list[Value] = []
    for leaf in jax.tree.leaves(examples):
        if str(leaf.dtype) in KINDS:
            positions = range(count, count + leaf.size)
            nodes = [builder.input(position, leaf.dtype) for position in positions]
            arguments.append(arrays.array_of(nodes, leaf.shape))
        else:
            arguments.append(Hidden(f"it depends on an argument of {leaf.dtype}"))
        count += leaf.size
    outputs: list[Node] = []
    for value in _Walk(builder).closed(closed, arguments):
        if isinstance(value, Hidden):
            raise Unfusable(value.why)
        outputs += scalars(arrays.as_nodes(builder, value))
    program = finished(builder, outputs)
    if program.loop is not None and program.loop.steps != (count - 2, count - 1):
        raise Unfusable("its loop does not run over the steps that are asked for")
    return Scalarised(program, like)


@dataclasses.dataclass(frozen=True)
class _Walk:
    """From equation to equation of a traced function. `inside` says whether that is inside the loop over steps."""

    builder: Builder
    inside: bool = False

    def closed(self, closed: Any, inputs: Sequence[Value]) -> list[Value]:
        """What a traced function gives for some inputs."""
        jaxpr = getattr(closed, "jaxpr", closed)
        values: dict[Any, Value] = {}
        for variable, constant in zip(jaxpr.constvars, getattr(closed, "consts", ()), strict=True):
            values[variable] = known(constant)
        values |= dict(zip(jaxpr.invars, inputs, strict=True))

        def read(variable: Any) -> Value:
            if isinstance(variable, Literal):
                aval: Any = variable.aval
                return np.asarray(variable.val, aval.dtype)
            return values[variable]

        for eqn in jaxpr.eqns:
            found = self.equation(eqn, [read(variable) for variable in eqn.invars])
            values |= dict(zip(eqn.outvars, found, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    def equation(self, eqn: Any, inputs: list[Value]) -> list[Value]:
        """What one equation gives."""
        name = eqn.primitive.name
        if name in IDENTITIES:
            return inputs
        if name == "optimization_barrier":
            return self._plain(inputs)
        if name in CALLS:
            return self.closed(
                next(eqn.params[word] for word in CALLED if word in eqn.params), inputs
            )
        if all(map(is_known, inputs)):
            return [known(x) for x in arrays.evaluate(eqn.primitive, inputs, eqn.params)]
        if name == "while":
            return self.steps(eqn, inputs)
        if name == "scan":
            return self.unrolled(eqn, inputs)
        if name == "cond":
            return self.branches(eqn, inputs)
        hidden = first_hidden(*inputs)
        if hidden is not None:
            return [hidden] * len(eqn.outvars)
        if any(str(variable.aval.dtype) not in KINDS for variable in eqn.outvars):
            return _hidden(eqn, f"it computes with {eqn.outvars[0].aval.dtype}")
        return self.on_nodes(eqn, [x for x in inputs if isinstance(x, np.ndarray)])

    def on_nodes(self, eqn: Any, inputs: list[np.ndarray]) -> list[Value]:
        """What an equation gives for arrays of which one at least is not known."""
        name = eqn.primitive.name
        if name in arrays.MOVES:
            data = arrays.MOVES[name]
            if data and any(x.dtype == object for i, x in enumerate(inputs) if i not in data):
                return _hidden(eqn, f"`{name}` is by indices that are not known beforehand")
            return list(arrays.moved(self.builder, eqn, inputs))
        dtype = eqn.outvars[0].aval.dtype
        nodes = [arrays.as_nodes(self.builder, x) for x in inputs]
        if name in arrays.REDUCTIONS:
            combine = self._combining(arrays.REDUCTIONS[name], dtype)
            return [arrays.reduced(combine, nodes[0], eqn.params["axes"])]
        if name in arrays.CUMULATIONS:
            combine = self._combining(arrays.CUMULATIONS[name], dtype)
            axis = eqn.params["axis"]
            return [arrays.accumulated(combine, nodes[0], axis, eqn.params["reverse"])]
        if name == "dot_general":
            multiply, add = (self._combining(word, dtype) for word in PRODUCTS[dtype.kind == "b"])
            (summed, _), (shared, _) = eqn.params["dimension_numbers"]
            factors = [self._converted(x, dtype) for x in nodes]
            are_vectors = all(x.ndim == len(summed) + len(shared) for x in nodes)
            if not are_vectors:  # of vectors XLA makes products and their sum
                factors = self._plain(factors)
            x, y = factors
            return [arrays.contracted(multiply, add, x, y, eqn.params["dimension_numbers"])]
        if name in ("scatter_add", "scatter-add") and inputs[1].dtype != object:
            combine = self._combining("add", dtype)
            return [arrays.scattered(combine, eqn, nodes[0], inputs[1], nodes[2])]
        return self.elementwise(eqn, nodes)

    def elementwise(self, eqn: Any, inputs: list[np.ndarray]) -> list[Value]:
        """The same scalar operation at every place."""
        name = SAME_AS.get(eqn.primitive.name, eqn.primitive.name)
        if name not in EXPANSIONS and name not in OPERATIONS:
            return _hidden(eqn, f"a kernel has no `{name}`")
        if name == "select" and len(inputs) != 3:
            return _hidden(eqn, "it selects among more than two")
        [out] = eqn.outvars
        shape = out.aval.shape
        inputs = [x if x.size == math.prod(shape) else self._plain_array(x) for x in inputs]
        columns = [np.broadcast_to(x, shape).ravel() for x in inputs]
        rows = zip(*columns, strict=True)
        if name in EXPANSIONS:
            expand = EXPANSIONS[name]
            nodes = [expand(self.builder, *row, **eqn.params) for row in rows]
        else:
            nodes = [self.builder.apply(name, row, out.aval.dtype) for row in rows]
        return [arrays.array_of(nodes, shape)]

    def unrolled(self, eqn: Any, inputs: list[Value]) -> list[Value]:
        """A scan, step by step."""
        parameters = eqn.params
        inputs = self._plain(inputs)
        first, carried = _constants_and_carried(parameters)
        last = first + carried
        constants = inputs[:first]
        carry = inputs[first:last]
        rows: list[list[Value]] = []
        order = list(range(parameters["length"]))
        if parameters["reverse"]:
            order.reverse()
        for index in order:
            given = [x if isinstance(x, Hidden) else x[index] for x in inputs[last:]]
            given = [x if isinstance(x, Hidden) else np.asarray(x) for x in given]
            found = self._plain(self.closed(parameters["jaxpr"], [*constants, *carry, *given]))
            carry = found[: last - first]
            rows.append(found[last - first :])
        if parameters["reverse"]:
            rows.reverse()
        if not rows:
            return _hidden(eqn, "it scans over nothing")
        return [*carry, *(self._stacked(column) for column in zip(*rows, strict=True))]

    def branches(self, eqn: Any, inputs: list[Value]) -> list[Value]:
        """A branch that is known, or both of two, of which the right one is selected."""
        chosen, *rest = inputs
        branches = eqn.params["branches"]
        if isinstance(chosen, Hidden):
            return [chosen] * len(eqn.outvars)
        if chosen.dtype != object:
            return self.closed(branches[min(max(int(chosen), 0), len(branches) - 1)], rest)
        if len(branches) != 2:
            return _hidden(eqn, "it has more than two branches")
        condition = convert(self.builder, chosen.item(), new_dtype=bool)
        rest = self._plain(rest)
        pairs = zip(*(self.closed(branch, rest) for branch in branches), strict=True)
        return [self._selected(condition, *pair) for pair in pairs]

    def steps(self, eqn: Any, inputs: list[Value]) -> list[Value]:
        """The loop over steps."""
        if self.inside or self.builder.loop is not None:
            return _hidden(eqn, "it has a loop inside a step, or two loops")
        inputs = self._plain(inputs)
        split = eqn.params["cond_nconsts"]
        fixed = split + eqn.params["body_nconsts"]
        within = _Walk(self.builder, inside=True)

        def condition(carried: list[Value]) -> list[Value]:
            return within.closed(eqn.params["cond_jaxpr"], [*inputs[:split], *carried])

        def body(carried: list[Value]) -> list[Value]:
            return within.closed(eqn.params["body_jaxpr"], [*inputs[split:fixed], *carried])

        return loop_over_steps(self.builder, condition, body, inputs[fixed:])

    def _plain(self, values: Sequence[Any]) -> list[Any]:
        """The values as they are on the other side of what XLA does not look through."""
        return [x if isinstance(x, Hidden) or is_known(x) else self._plain_array(x) for x in values]

    def _plain_array(self, x: np.ndarray) -> np.ndarray:
        return arrays.array_of([self.builder.plain(node) for node in x.ravel()], x.shape)

    def _converted(self, x: np.ndarray, dtype: Any) -> np.ndarray:
        nodes = [convert(self.builder, node, new_dtype=dtype) for node in x.ravel()]
        return arrays.array_of(nodes, x.shape)

    def _combining(self, operation: str, dtype: Any) -> arrays.Combine:
        def combine(x: Node, y: Node) -> Node:
            return self.builder.apply(operation, (x, y), dtype)

        return combine

    def _stacked(self, column: Sequence[Value]) -> Value:
        """The rows of a scan as one array."""
        hidden = first_hidden(*column)
        if hidden is not None:
            return hidden
        rows = [x for x in column if isinstance(x, np.ndarray)]
        return np.stack([arrays.as_nodes(self.builder, x) for x in rows])

    def _selected(self, condition: Node, if_false: Value, if_true: Value) -> Value:
        """One of two arrays, by a truth value."""
        if isinstance(if_false, Hidden) or isinstance(if_true, Hidden):
            return if_false if isinstance(if_false, Hidden) else if_true
        two = [arrays.as_nodes(self.builder, x) for x in (if_false, if_true)]
        rows = zip(two[0].ravel(), two[1].ravel(), strict=True)
        nodes = [self.builder.apply("select", (condition, a, b), a.dtype) for a, b in rows]
        return arrays.array_of(nodes, two[0].shape)


def _hidden(eqn: Any, why: str) -> list[Value]:
    return [Hidden(why) for _ in eqn.outvars]


def _constants_and_carried(parameters: dict[str, Any]) -> tuple[int, int]:
    """How many of the inputs of a scan are constants, and how many are carried from step to step."""
    if "num_consts" in parameters:
        return parameters["num_consts"], parameters["num_carry"]
    constants, carried, _ = parameters["ft_in"].unpack()  # from jax 0.12 on
    return len(constants), len(carried)
