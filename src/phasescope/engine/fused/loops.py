"""The loop over steps: `while counter < stop`, one more of the counter each time, as the loop of a program.

What a step leaves as it was is not carried: inside the loop it is what it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .arrays import array_of, as_nodes
from .program import BEFORE, Builder, Carried, Loop, Node, Unfusable
from .values import Hidden, Value, first_hidden, scalars

Step = Callable[[list[Value]], list[Value]]


def loop_over_steps(
    builder: Builder, condition: Step, body: Step, first: Sequence[Value]
) -> list[Value]:
    """What the loop carries after its last step; the program then has this loop.

    `condition` and `body` are of what is carried, as in `jax.lax.while_loop`; `first` is what it begins with.
    """
    before = [x if isinstance(x, Hidden) else as_nodes(builder, x) for x in first]
    inside = _carried(builder, before)
    while True:
        after = [x if isinstance(x, Hidden) else as_nodes(builder, x) for x in body(inside)]
        settled = [_settled(*three) for three in zip(before, inside, after, strict=True)]
        if all(_is_same(a, b) for a, b in zip(inside, settled, strict=True)):
            break
        inside = settled
    [asked] = condition(inside)
    counter, stop = _counter_and_stop(asked)
    start: Node | None = None
    carried = []
    for first_value, now, following in _moving(before, inside, after):
        if now is counter:
            start = first_value
            _check_counts(following, counter)
        else:
            result = builder.result(now.value, now.dtype)
            carried.append(Carried(first_value, now, following, result))
    if start is None or start.operation != "input" or stop.operation != "input":
        raise Unfusable("its loop does not run from a given step to a given one")
    builder.loop = Loop(start, stop, counter, tuple(carried))
    return [_results(builder, x, counter) for x in inside]


def _carried(builder: Builder, before: Sequence[Value]) -> list[Value]:
    """What the loop carries, as it is inside a step."""
    count = 0
    found: list[Value] = []
    for x in before:
        if isinstance(x, Hidden):
            found.append(x)
            continue
        rows = enumerate(scalars(x), start=count)
        nodes = [builder.carry(position, node.dtype) for position, node in rows]
        count += x.size
        found.append(array_of(nodes, x.shape))
    return found


def _settled(before: Value, inside: Value, after: Value) -> Value:
    """`inside`, with what a step leaves as it was replaced by what it was before."""
    if isinstance(inside, Hidden):
        return inside
    hidden = first_hidden(after, before)
    if hidden is not None:
        return hidden
    three = zip(scalars(before), scalars(inside), scalars(after), strict=True)
    return array_of([a if c is b else b for a, b, c in three], inside.shape)


def _is_same(a: Value, b: Value) -> bool:
    if isinstance(a, Hidden) or isinstance(b, Hidden):
        return isinstance(a, Hidden) and isinstance(b, Hidden)
    return all(x is y for x, y in zip(scalars(a), scalars(b), strict=True))


def _moving(
    before: Sequence[Value], inside: Sequence[Value], after: Sequence[Value]
) -> list[tuple[Node, Node, Node]]:
    """Of every number that moves, what it is before the loop, inside a step, and at the end of the step."""
    found = []
    for three in zip(before, inside, after, strict=True):
        if first_hidden(*three) is None:
            rows = zip(*map(scalars, three), strict=True)
            found += [one for one in rows if one[1].operation == "carry"]
    return found


def _results(builder: Builder, inside: Value, counter: Node) -> Value:
    """What the loop carries, after its last step."""
    if isinstance(inside, Hidden):
        return inside
    if any(node is counter for node in scalars(inside)):
        return Hidden("it depends on the number of the last step")
    nodes = [
        builder.result(node.value, node.dtype) if node.operation == "carry" else node
        for node in scalars(inside)
    ]
    return array_of(nodes, inside.shape)


def _counter_and_stop(asked: Value) -> tuple[Node, Node]:
    """The counter and where it stops, of a condition `counter < stop`."""
    [node] = scalars(asked) or [None]
    if isinstance(node, Node) and node.operation == "lt":
        counter, stop = node.operands
        if counter.operation == "carry" and stop.period == BEFORE:
            return counter, stop
    raise Unfusable("its loop does not count steps")


def _check_counts(grown: Node, counter: Node) -> None:
    """Refuse a loop whose counter does not grow by one."""
    by_one = any(operand.equals(1) for operand in grown.operands)
    if grown.operation != "add" or counter not in grown.operands or not by_one:
        raise Unfusable("its loop does not count single steps")
