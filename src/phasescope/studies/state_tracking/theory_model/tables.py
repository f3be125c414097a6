"""Datasets that theory computes without a run: identities against the full model, and accuracies at given attention."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import xarray as xr
from jaxtyping import Array

from .. import data
from ..spec import TheorySpec
from . import dense, feature_model, limits, routing_model
from .feature_model import Constants, Features
from .full import VALUE_SLOT
from .running_sums import accuracies


def gradient_identity(
    tasks: tuple[str, ...] = ("C3", "S3"), variables: tuple[int, ...] = (5, 4)
) -> xr.Dataset:
    """The gradient of the full blocks of Q over every chain of length 2, against that of the four scalars.

    `diagonal` and `off_diagonal` are largest departures of N and N (N - 1) times the full gradient from the scalars'.
    """
    with jax.enable_x64(True):
        rows = [
            _identity(group, N, step)
            for group, N in zip(tasks, variables, strict=True)
            for step in (1, 2)
        ]
    names = (
        "diagonal",
        "off_diagonal",
        "size_diagonal",
        "size_off_diagonal",
        "full_loss",
        "loss",
    )
    return xr.Dataset({n: ("case", np.array([r[i] for r in rows])) for i, n in enumerate(names)})


def _identity(group: str, N: int, step: int) -> tuple[float, ...]:
    """One row: departures of the scaled full gradient from the scalars', sizes of the latter, and
    both losses."""
    spec = TheorySpec(group=group, variables=N, power=4)
    numbers = feature_model.constants(spec, float(spec.tokens.size))
    V = _perturbed(limits.ideal_features(spec.action, 0.4 * numbers.clip))
    at = routing_model.Routing(*(jnp.asarray(x) for x in (0.7, 0.1, 0.4, -0.2)))
    loss, slope = _full_gradient(V, at, spec, numbers, step)
    cases = routing_model.every_case(spec.action, step)
    reduced_loss = jax.jit(
        jax.value_and_grad(lambda r: routing_model.step_loss(r, V, numbers, step, cases))
    )
    reduced, found = reduced_loss(at)
    on = np.eye(N, dtype=bool)
    blocks = ((slope.Q43, found.q43, found.o43), (slope.Q44, found.q44, found.o44))
    diagonal = max(float(np.abs(N * np.asarray(b)[on] - q).max()) for b, q, _ in blocks)
    off = max(float(np.abs(N * (N - 1) * np.asarray(b)[~on] - o).max()) for b, _, o in blocks)
    sizes = [max(float(abs(f[i])) for f in blocks) for i in (1, 2)]
    return diagonal, off, *sizes, float(loss), float(reduced)


def _perturbed(V: Features) -> Features:
    """Features without any symmetry."""
    return Features(
        V.g + 0.3 * jr.normal(jr.key(0), V.g.shape),
        V.y + 0.3 * jr.normal(jr.key(1), V.y.shape),
    )


def _full_gradient(
    V: Features, at: routing_model.Routing, spec: TheorySpec, numbers: Constants, step: int
) -> tuple[Array, dense.Dense]:
    """Loss and gradient of the full model over every chain of length 2, with the blocks of Q that
    the scalars stand for."""
    eye = jnp.eye(spec.variables)
    model = dense.Dense(
        W=dense.with_features(V, spec).W,
        Q43=(at.q43 - at.o43) * eye + at.o43,
        Q44=(at.q44 - at.o44) * eye + at.o44,
    )
    chain = data.every_chain(spec.action, spec.variables, 2)

    def loss(model: dense.Dense) -> Array:
        return dense.answer_loss(
            model=model,
            index=0,
            slot=VALUE_SLOT,
            chain=chain,
            tokens=spec.tokens,
            numbers=numbers,
            step=step,
        )

    return jax.jit(jax.value_and_grad(loss))(model)


def dilution_identity(
    q43: float = 2.3, o43: float = 0.0, q44: float = 2.1, o44: float = 0.0
) -> xr.Dataset:
    """The attention on wrong clauses as a sum over the softmax of all clauses, against its closed form."""
    lengths = np.array([2, 5, 20, 100, 1000, 10_000])
    summed = []
    closed = []
    for L in lengths:
        scores = np.concatenate([[q43], np.full(L - 1, o43), [q44], np.full(L - 1, o44)])
        p = np.exp(scores - scores.max())
        p /= p.sum()
        summed.append(p[1:L].sum() + p[L + 1 :].sum())
        with jax.enable_x64(True):
            scores_at = jnp.float64(q43), jnp.float64(o43), jnp.float64(q44), jnp.float64(o44)
            closed.append(float(limits.dilution(*scores_at, int(L), int(L))))
    weight = np.exp(q43) + np.exp(q44)
    odds = 2 * (lengths - 1) / weight
    return xr.Dataset(
        {"summed": ("length", summed), "closed": ("length", closed), "odds": ("length", odds)},
        {"length": lengths},
    )


def accuracy_by_length(
    group: str,
    lengths: tuple[int, ...],
    q43: float,
    q44: float,
    vocabulary: float = 1e6,
    power: int = 10,
    samples: int = 500,
) -> xr.Dataset:
    """Accuracies with the limit features at given diagonals of Q, off-diagonals 0, clip at 5 log d."""
    spec = TheorySpec(group=group, vocabulary=vocabulary, power=power)
    with jax.enable_x64(True):
        numbers = feature_model.constants(spec)
        V = limits.ideal_features(spec.action, numbers.clip)
        found = accuracies(
            key=jr.key(1),
            V=V,
            routing=routing_model.begin(q43, q44),
            action=spec.action,
            numbers=numbers,
            lengths=tuple(map(int, lengths)),
            count=samples,
        )
    columns = {"rollout": found.rollout, "forced": found.forced, "last": found.last}
    ds = xr.Dataset(
        {k: ("chain_length", np.asarray(v)) for k, v in columns.items()},
        {"chain_length": np.array(lengths)},
    )
    if spec.action.is_simply_transitive:
        ds = ds.assign(predicted=limits.critical_length(spec.action, spec.clip, q43, q44))
    return ds


def imbalance_by_values(values: tuple[int, ...]) -> xr.Dataset:
    """The limit V(g) of the symmetric group on n_y values as a part of 2B, and V(g) / V(y) as a part of n_y."""
    n = np.array(values, float)
    fibre = np.array([math.factorial(v - 1) for v in values], float)
    ratio = (1 + fibre * (n - 1)) / (n - 1 + fibre)
    columns = {"g": ratio / (1 + ratio), "ratio": ratio / n}
    return xr.Dataset({name: ("values", x) for name, x in columns.items()}, {"values": n})
