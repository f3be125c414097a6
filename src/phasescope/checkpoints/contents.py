"""What one pass over a checkpoint tells: the digest of every tensor, and sums of squares of groups of parameters."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..errors import ProbeError
from .folders import Place
from .groups import Member, Members
from .tensorfile import Tensor, tensors_of

Tensors = dict[str, Tensor]


@dataclasses.dataclass(frozen=True)
class Contents:
    """Of one checkpoint: the digest of every tensor, and by group the sums of squares of its parameters, and of how far they
    are from those of the first checkpoint.
    """

    digests: Mapping[str, str]
    squares: Mapping[str, float]
    distances: Mapping[str, float]

    @property
    def digest(self) -> str:
        """Of the whole checkpoint, in whatever order and files its tensors lie."""
        lines = [f"{name} {digest}\n" for name, digest in sorted(self.digests.items())]
        return hashlib.sha256("".join(lines).encode()).hexdigest()


def tensors_at(place: Place) -> Tensors:
    """The tensors of a checkpoint by name, of all its files."""
    if place.is_pickled:
        from .pickles import pickled_tensors

        return pickled_tensors(place.files[0])
    found: Tensors = {}
    for file in place.files:
        for name, tensor in tensors_of(file).items():
            if name in found:
                raise ProbeError(f"{place.path}: two of its files have a tensor {name}.")
            found[name] = tensor
    return found


def check_alike(tensors: Tensors, first: Tensors, path: Path, start: Path) -> None:
    """Refuse a series whose checkpoints are of different models."""
    shapes, wanted = ({n: t.shape for n, t in one.items()} for one in (tensors, first))
    if shapes != wanted:
        odd = min(name for name in {**shapes, **wanted} if shapes.get(name) != wanted.get(name))
        has, had = shapes.get(odd, "none"), wanted.get(odd, "none")
        raise ProbeError(
            f"{path} is not of the model of {start}: the shape of {odd} is {has} here, and {had} there."
        )


def contents(
    tensors: Tensors, members: Members, first: Tensors, known: Mapping[str, str]
) -> Contents:
    """One pass over a checkpoint. `known` has the digests of the first one: what is equal has not moved.

    **Raises:** `ProbeError` if a file cannot be read.
    """
    digests: dict[str, str] = {}
    squares: dict[str, float] = {}
    distances: dict[str, float] = {}
    for name, tensor in sorted(
        tensors.items()
    ):  # in one order of addition, however they lie in files
        of_tensor = members.get(name, ())
        digests[name], sums = _pass(tensor, of_tensor)
        moved = np.zeros(len(of_tensor))
        if of_tensor and known and known[name] != digests[name]:
            moved = _distance(tensor, first[name], of_tensor)
        for member, square, distance in zip(of_tensor, sums, moved, strict=True):
            squares[member.group] = squares.get(member.group, 0.0) + float(square)
            distances[member.group] = distances.get(member.group, 0.0) + float(distance)
    return Contents(digests, squares, distances)


def _pass(tensor: Tensor, members: Sequence[Member]) -> tuple[str, np.ndarray]:
    """The digest of a tensor, and the sum of squares of each of its members."""
    digest = hashlib.sha256(f"{tensor.dtype} {tensor.shape}\n".encode())
    sums = np.zeros(len(members))
    at = 0
    for piece in tensor.read():
        digest.update(piece)
        if members:
            x = tensor.as_numbers(piece)
            sums += [member.sum_of_squares(x, at) for member in members]
            at += x.size
    return digest.hexdigest(), sums


def _distance(tensor: Tensor, first: Tensor, members: Sequence[Member]) -> np.ndarray:
    sums = np.zeros(len(members))
    at = 0
    for x, start in _side_by_side(tensor, first):
        sums += [member.sum_of_squares(x - start, at) for member in members]
        at += x.size
    return sums


def _side_by_side(tensor: Tensor, first: Tensor) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pieces of the same numbers of two tensors, which may be of different precision."""
    return zip(tensor.numbers(), first.numbers(), strict=True)
