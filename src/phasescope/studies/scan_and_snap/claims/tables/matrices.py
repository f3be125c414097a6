"""Overlaps of random directions, small enough for Assumption 2, and the matrix E' of Lemmas 13 to 17."""

from __future__ import annotations

import numpy as np
import xarray as xr


def directions(
    generator: np.random.Generator, classes: int, shared: int, strength: float
) -> np.ndarray:
    """Non-negative unit vectors as columns: a token of their own each, and some that several classes share."""
    common = strength * generator.random((shared, classes))
    common = common * (generator.random((shared, classes)) < 0.5)
    common[0] = strength * (0.1 + generator.random(classes))  # no class is without overlap
    F = np.concatenate([np.eye(classes), common])
    return F / np.linalg.norm(F, axis=0)


def weak_overlaps(sets: int, classes: int, shared: int) -> xr.Dataset:
    r"""E and E' of random directions with $|\lambda_1| < 1/K$.

    `spectral` is E' by the eigenvalues $\lambda/(1+\lambda)$ of Lemma 14, `inverse` is $I - (I+E)^{-1}$.
    """
    generator = np.random.default_rng(5)
    found = []
    while len(found) < sets:
        strength = 10 ** generator.uniform(-1.5, 0.0)
        F = directions(generator, classes, shared, strength)
        E = F.T @ F - np.eye(classes)
        if np.abs(np.linalg.eigvalsh(E)).max() < 1 / classes:
            found.append(E)
    E = np.stack(found)
    eigenvalues, vectors = np.linalg.eigh(E)
    mapped = eigenvalues / (1 + eigenvalues)
    spectral = np.einsum("sik,sk,sjk->sij", vectors, mapped, vectors)
    inverse = np.eye(classes) - np.linalg.inv(np.eye(classes) + E)
    square = ("set", "class", "other")
    values = {
        "E": (square, E),
        "spectral": (square, spectral),
        "inverse": (square, inverse),
        "diagonal": (("set", "class"), np.diagonal(inverse, axis1=1, axis2=2)),
        "lambda_1": ("set", np.abs(eigenvalues).max(axis=1)),
        "lambda_1_inverse": ("set", np.abs(np.linalg.eigvalsh(inverse)).max(axis=1)),
    }
    names = np.arange(classes)
    return xr.Dataset(values, {"set": np.arange(sets), "class": names, "other": names})


def modification(classes: int, shared: int, strengths: tuple[float, ...]) -> xr.Dataset:
    r"""Length of $F E' e_n$, by which Lemma 3 changes the gradient of unit length, over $1/\lambda_1$."""
    lengths = []
    largest = []
    for strength in strengths:
        F = directions(np.random.default_rng(6), classes, shared, strength)
        gram = F.T @ F
        change = F @ (np.eye(classes) - np.linalg.inv(gram))
        lengths.append(np.linalg.norm(change, axis=0))
        largest.append(np.abs(np.linalg.eigvalsh(gram - np.eye(classes))).max())
    coords = {"weakness": 1 / np.array(largest), "class": np.arange(classes)}
    return xr.Dataset({"length": (("weakness", "class"), np.stack(lengths))}, coords)
