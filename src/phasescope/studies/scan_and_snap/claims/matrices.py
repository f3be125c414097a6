"""Appendix B.5: the matrices E and E' of weak correlation (Lemmas 13 to 17)."""

from __future__ import annotations

import numpy as np

import phasescope as ps
from phasescope import claim, on

from . import tables
from .bounds import EXACT

WEAK = ps.tables(tables.matrices.weak_overlaps, sets=200, classes=5, shared=12)


def really_weak(table) -> ps.Verdict:
    """Assumption 2's upper bound holds, and the overlaps are not nothing."""
    largest = table.lambda_1 * table.sizes["class"]
    wide = ps.chosen(5.0, "weak and weaker ones")
    return (
        ps.guard(ps.at_most(largest, ps.stated(1.0, "Assumption 2"), "K lambda_1"))
        & ps.guard(ps.positive(table.lambda_1, "lambda_1"))
        & ps.guard(ps.at_least(largest.max() / largest.min(), wide, "K lambda_1, widest"))
    )


@claim(
    "Lemma 13",
    on("closed form", WEAK),
    id="lem13",
    kind="upper",
    tex=r"\max_{ij} |E_{ij}| \le |\lambda_1|",
    page="Appendix B.5, Lemma 13, (74)",
)
def no_overlap_is_above_the_largest_eigenvalue(table):
    """No entry of E is above its largest eigenvalue, in 200 sets of random directions."""
    one = ps.stated(1.0, "Lemma 13")
    ratio = abs(table.E).max(("class", "other")) / table.lambda_1
    return ps.at_most(ratio, one, "largest |E| / lambda_1") & really_weak(table)


@claim(
    "Lemma 14",
    on("closed form", WEAK),
    id="lem14",
    kind="identity",
    tex=r"(I + E)^{-1} = I - E',\ E' = U^\top D' U,\ \lambda'_i = \lambda_i / (1 + \lambda_i)",
    page="Appendix B.5, Lemma 14, (75) to (77)",
)
def the_inverse_has_the_mapped_eigenvalues(table):
    """E' = I - (I + E)^-1 has the eigenvectors of E and the eigenvalues lambda / (1 + lambda)."""
    if not (np.isfinite(table.E).all() and np.isfinite(table.inverse).all()):
        return ps.undecided("E or E' is no number", "the eigenvalues of E and E'")
    square = np.linalg.eigvalsh(table.E.values)
    mapped = np.linalg.eigvalsh(table.inverse.values)
    diagonal = np.diagonal(table.inverse.values, axis1=1, axis2=2)
    return (
        ps.agree(table.spectral, table.inverse, atol=EXACT, what="E' by eigenvalues")
        & ps.agree(table.lambda_1.values, abs(square).max(1), atol=EXACT, what="lambda_1")
        & ps.agree(table.lambda_1_inverse.values, abs(mapped).max(1), atol=EXACT, what="of E'")
        & ps.agree(table.diagonal.values, diagonal, atol=EXACT, what="diagonal of E'")
        & really_weak(table)
    )


@claim(
    "Lemma 15",
    on("closed form", WEAK),
    id="lem15",
    kind="upper",
    tex=r"\max_i |\lambda_i(E')| \le |\lambda_1| / (1 - |\lambda_1|)",
    page="Appendix B.5, Lemma 15, (78)",
)
def eigenvalues_of_the_inverse_are_bounded(table):
    """The eigenvalues of E' are at most lambda_1 / (1 - lambda_1)."""
    one = ps.stated(1.0, "Lemma 15")
    ratio = table.lambda_1_inverse * (1 - table.lambda_1) / table.lambda_1
    return ps.at_most(ratio, one, "largest eigenvalue of E' / bound") & really_weak(table)


@claim(
    "Lemma 16",
    on("closed form", WEAK),
    id="lem16",
    kind="sign",
    tex=r"E'_{ii} < 0 \text{ if } E_{ki} > 0 \text{ for some } k",
    page="Appendix B.5, Lemma 16, (79)",
)
def diagonals_of_the_inverse_are_negative(table):
    """The diagonal elements of E' are negative where a class overlaps with another."""
    overlaps = table.E.max("other")
    return (
        ps.negative(table.diagonal, "E'_ii")
        & ps.guard(ps.positive(overlaps, "largest overlap of a class"))
        & really_weak(table)
    )


@claim(
    "Lemma 17",
    on("closed form", WEAK),
    id="lem17",
    kind="upper",
    tex=r"|E'_{nn'} - E_{nn'}| \le |\lambda_1|^2 / (1 - |\lambda_1|)",
    page="Appendix B.5, Lemma 17, (80)",
)
def the_inverse_is_the_overlap_to_first_order(table):
    """E' differs from E by at most lambda_1^2 / (1 - lambda_1)."""
    one = ps.stated(1.0, "Lemma 17")
    off = abs(table.inverse - table.E).max(("class", "other"))
    ratio = off * (1 - table.lambda_1) / table.lambda_1**2
    return ps.at_most(ratio, one, "|E' - E| / bound") & really_weak(table)


claims = (
    no_overlap_is_above_the_largest_eigenvalue,
    the_inverse_has_the_mapped_eigenvalues,
    eigenvalues_of_the_inverse_are_bounded,
    diagonals_of_the_inverse_are_negative,
    the_inverse_is_the_overlap_to_first_order,
)
