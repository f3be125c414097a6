"""A program of scalar operations: what is left of a function on small arrays once shapes and indices are worked out.

A `Node` is one scalar. Equal operations on equal operands are one node. Nodes belong to one of three periods: before the loop
over steps, inside it, and after it; what does not depend on anything that moves is before the loop, wherever it was written.

Nothing is simplified that could hide a number which is not finite: 0 * x stays, since it is NaN where x is infinite. An array
of truth values times x is the one exception: XLA makes a choice between x and 0 of it, and so do we, or paths would differ.
It does not if they were broadcast, cut or otherwise moved as numbers: `Builder.plain`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

BEFORE = 0
INSIDE = 1
AFTER = 2

TRUTH = "truth"  # what says of a node that it is a truth value which has just become a number
LARGEST = (
    20_000  # nodes that are ever made, dead ones included: beyond, no kernel would be small enough
)


class Unfusable(Exception):
    """This function cannot be carried out as fused lanes; the message says why. The ordinary path can."""


@dataclasses.dataclass(frozen=True, eq=False)
class Node:
    """One scalar of the program.

    - `number`: nodes are numbered as they are made, operands before what is made of them.
    - `operation`: a word of `operations.OPERATIONS`, or one of `constant`, `input`, `carry` and `result`.
    - `value`: of a constant; of what is given or carried, the position among the inputs, or among the numbers that the loop
      carries; of a truth value that has just become a number, `TRUTH`.
    - `period`: before the loop, inside it or after it.
    """

    number: int
    operation: str
    operands: tuple[Node, ...]
    dtype: np.dtype
    value: Any = None
    period: int = BEFORE

    @property
    def is_constant(self) -> bool:
        """Whether its value is known."""
        return self.operation == "constant"

    @property
    def is_given(self) -> bool:
        """Whether nothing is computed for it."""
        return self.operation in ("constant", "input")

    @property
    def is_truth(self) -> bool:
        """Whether it is a truth value that has just become a number, 0 or 1."""
        return self.operation == "convert" and self.value == TRUTH

    def equals(self, number: float) -> bool:
        """Whether it is this constant."""
        return self.is_constant and bool(self.value == number)


@dataclasses.dataclass(frozen=True)
class Carried:
    """One number that the loop carries: what it is before, inside and after a step."""

    first: Node
    inside: Node
    following: Node
    result: Node


@dataclasses.dataclass(frozen=True)
class Loop:
    """The loop over steps: from the step `start` up to `stop`, both inputs; `counter` is the step inside it."""

    start: Node
    stop: Node
    counter: Node
    carried: tuple[Carried, ...]

    @property
    def steps(self) -> tuple[int, int]:
        """The positions of `start` and `stop` among the inputs."""
        return self.start.value, self.stop.value


@dataclasses.dataclass
class Builder:
    """Makes the nodes of one program."""

    known: dict[Hashable, Node] = dataclasses.field(default_factory=dict)
    loop: Loop | None = None

    def constant(self, value: Any, dtype: Any) -> Node:
        """A number that is known."""
        number = np.asarray(value, dtype)
        return self._node("constant", (), number.dtype, number[()], BEFORE)

    def input(self, position: int, dtype: Any) -> Node:
        """A number that is given when the program is carried out."""
        return self._node("input", (), np.dtype(dtype), position, BEFORE)

    def carry(self, position: int, dtype: Any) -> Node:
        """A number that the loop carries, inside a step."""
        return self._node("carry", (), np.dtype(dtype), position, INSIDE)

    def result(self, position: int, dtype: Any) -> Node:
        """A number that the loop carries, after the last step."""
        return self._node("result", (), np.dtype(dtype), position, AFTER)

    def truth(self, x: Node, dtype: Any) -> Node:
        """A truth value as a number, 0 or 1."""
        return self._node("convert", (x,), np.dtype(dtype), TRUTH, x.period)

    def plain(self, x: Node) -> Node:
        """The same number; of a truth value that was moved about, a product is a product."""
        return self.apply("convert", x.operands, x.dtype) if x.is_truth else x

    def apply(self, operation: str, operands: Sequence[Node], dtype: Any) -> Node:
        """An operation on scalars."""
        simple = simplified(operation, operands)
        if simple is not None:
            return simple
        if operation == "mul":
            for truth, x in (operands, operands[::-1]):
                if truth.is_truth:
                    return self.apply(
                        "select", (truth.operands[0], self.constant(0, dtype), x), dtype
                    )
        period = max(operand.period for operand in operands)
        return self._node(operation, tuple(operands), np.dtype(dtype), None, period)

    def _node(
        self, operation: str, operands: tuple[Node, ...], dtype: np.dtype, value: Any, period: int
    ) -> Node:
        written = value.tobytes() if isinstance(value, np.generic) else value
        name = (operation, tuple(x.number for x in operands), dtype.str, written)
        if name not in self.known:
            if len(self.known) >= LARGEST:
                raise Unfusable(f"it is a program of more than {LARGEST} scalar operations")
            self.known[name] = Node(len(self.known), operation, operands, dtype, value, period)
        return self.known[name]


def simplified(operation: str, operands: Sequence[Node]) -> Node | None:
    """The operand that the result equals whatever the others are, NaN and infinity included; None if there is none.

    Only the sign of a zero may differ: x + 0 is taken to be x, as XLA does.
    """
    if operation == "select":
        return _selected(*operands)
    if len(operands) != 2 or operands[0].dtype.kind != "f":
        return None
    x, y = operands
    if operation == "add" and x.equals(0):
        return y
    if operation in ("add", "sub") and y.equals(0):
        return x
    if operation == "mul" and x.equals(1):
        return y
    if operation in ("mul", "div") and y.equals(1):
        return x
    limit = {"max": -np.inf, "min": np.inf}.get(operation)
    if limit is not None and x.equals(limit):
        return y
    if limit is not None and y.equals(limit):
        return x
    return None


def _selected(chosen: Node, if_false: Node, if_true: Node) -> Node | None:
    if chosen.is_constant:
        return if_true if chosen.value else if_false
    return if_false if if_false is if_true else None


@dataclasses.dataclass(frozen=True)
class Program:
    """Scalar operations from inputs to outputs, without those that no output needs.

    `nodes` are in an order in which they can be carried out; `loop` carries only what is needed.
    """

    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    loop: Loop | None

    @property
    def size(self) -> int:
        """How many scalar operations there are."""
        free = ("constant", "input", "carry", "result")
        return sum(node.operation not in free for node in self.nodes)

    def in_period(self, period: int) -> list[Node]:
        """The nodes before, inside or after the loop."""
        return [node for node in self.nodes if node.period == period]


def finished(builder: Builder, outputs: Iterable[Node]) -> Program:
    """The program that gives the outputs."""
    outputs = tuple(outputs)
    loop = builder.loop
    live = _reached(outputs, set())
    if loop is not None and any(node.operation == "result" for node in live):
        loop = dataclasses.replace(loop, carried=_needed(loop, live))
    else:
        loop = None
    nodes = tuple(sorted(live, key=_number))
    inputs = tuple(node for node in nodes if node.operation == "input")
    return Program(inputs, outputs, nodes, loop)


def _needed(loop: Loop, live: set[Node]) -> tuple[Carried, ...]:
    """The numbers that the loop must carry; what they are made of is added to `live`."""
    chosen: list[Carried] = []
    while True:
        found = [
            one
            for one in loop.carried
            if one not in chosen and (one.result in live or one.inside in live)
        ]
        if not found:
            return tuple(sorted(chosen, key=lambda one: one.inside.number))
        chosen += found
        for one in found:
            _reached((one.first, one.following), live)


def _reached(wanted: Iterable[Node], live: set[Node]) -> set[Node]:
    """`live`, with the wanted nodes and all that they are made of."""
    waiting = list(wanted)
    while waiting:
        node = waiting.pop()
        if node not in live:
            live.add(node)
            waiting.extend(node.operands)
    return live


def _number(node: Node) -> int:
    return node.number
