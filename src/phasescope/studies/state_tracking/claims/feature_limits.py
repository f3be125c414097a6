"""Stage 1: what the features end in (Theorems B.1 and C.1)."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..phases import (
    ran_to_the_end,
    shapes,
    spec_of,
)
from ..theory_model import limits
from . import evidence, premises

SLOW = "pulls die once a confounder is far below log d: after the updates that descent can pay, V is {value:.3g} from the limit"


CLOSE = ps.chosen(0.1, "7 b: the theorem has O(d^c b)")


NEAR = ps.chosen(0.05, "4 b: the theorem has O(d^c b)")


SIGNS = {"g": 1, "y": 1, "other_g": -1, "other_y": -1}


def _last_shapes(run: xr.Dataset) -> tuple[dict[str, xr.DataArray], float]:
    """The weights of active neurons at the end, and where their mean meets the clip.

    sReLU(V + b) = B at V = B + rho (1 - 1/q) - b: B up to what the theorems neglect.
    """
    spec = spec_of(run)
    log_d = np.log(spec.vocabulary)
    knee = 1 / log_d if spec.knee is None else spec.knee
    bias = spec.vocabulary**-0.5 * log_d if spec.bias is None else spec.bias
    found = shapes(run.isel(time=-1).assign_attrs(run.attrs))
    return found, float(spec.clip * log_d + knee * (1 - 1 / spec.power) - bias)


def _mostly_alone(found: dict[str, xr.DataArray]) -> ps.Verdict:
    most = ps.chosen(0.85, "8 of the 9 features of three values")
    return ps.guard(ps.at_least(found["alone"].mean(), most, "share of features with one neuron"))


@claim(
    "Theorem B.1 A, C; equations (17a), (17b)",
    on("population", evidence.limit_C3),
    on("population", evidence.learning_C3, expect="outside", because=SLOW),
    id="thmB.1-AC",
    aliases=("17ab",),
    kind="approx",
    tex=r"V_{j,r}(g), V_{j,r}(y) \approx B, \quad V_{j,r}(g'), V_{j,r}(y') \approx -B",
    page="Appendix B.1.1, Theorem B.1 A and C; Section 6.1.2, eq. (17a), (17b)",
    assumes=premises.end_of_stage_1,
)
def cyclic_features_tend_to_the_clip(run):
    """Active neurons end at V(g), V(y) = B and V(g'), V(y') = -B, within 0.05 and up to rho (1 - 1/q) - b, but for a feature that
    two neurons share."""
    found, B = _last_shapes(run)
    near = [ps.within(sign * found[k] - B, -NEAR, NEAR, f"|{k}| - B") for k, sign in SIGNS.items()]
    return ps.all_of(near) & _mostly_alone(found) & ran_to_the_end(run)


@claim(
    "Theorem B.1 B, equation (17c)",
    on("population", evidence.limit_C3),
    on("population", evidence.learning_C3, expect="outside", because=SLOW),
    id="thmB.1-B",
    aliases=("17c",),
    kind="approx",
    tex=r"V_{j,r}(g) + V_{j,r}(y') \le o(1), \quad V_{j,r}(g') + V_{j,r}(y) \le o(1)",
    page="Appendix B.1.1, Theorem B.1 B; Section 6.1.2, eq. (17c)",
    assumes=premises.end_of_stage_1,
)
def confounders_cancel(run):
    """V(g) + V(y') and V(g') + V(y) vanish for active neurons, within 0.1."""
    found, _ = _last_shapes(run)
    near = [ps.within(found[k], -CLOSE, CLOSE, k) for k in ("conf_y", "conf_g")]
    return ps.all_of(near) & _mostly_alone(found) & ran_to_the_end(run)


@claim(
    "Theorem B.1 E, Lemma B.7",
    on("population", evidence.limit_C3),
    id="lemB.7",
    kind="approx",
    tex=r"|V_{j,r}(g) - V_{j,r}(y)| \le O(\delta_2)",
    page="Appendix B.3, Lemma B.7; Theorem B.1 E",
    assumes=premises.end_of_stage_1,
)
def both_halves_of_a_feature_are_equal(run):
    """Where confounders have cancelled, V(g) and V(y) of an active neuron agree within 0.1."""
    found, B = _last_shapes(run)
    apart = found["g"] - found["y"]
    return (
        ps.within(apart, -CLOSE, CLOSE, "V(g) - V(y)")
        & ps.guard(ps.positive(found["g"] - B / 2, "V(g) - B / 2"))
        & _mostly_alone(found)
        & ran_to_the_end(run)
    )


@claim(
    "Theorem C.1 A, C",
    on("population", evidence.limit_S3),
    on(
        "population",
        evidence.learning_S3,
        expect="outside",
        because="at affordable times the imbalance is reversed: {where}, {value:.2g} of its limit",
    ),
    id="thmC.1-AC",
    aliases=("18",),
    kind="approx",
    tex=r"V_{j,r}(g) \approx C_\alpha V_{j,r}(y), \quad \tfrac12 (V_{j,r}(g) + V_{j,r}(y)) \approx B",
    page="Appendix C.1, Theorem C.1 A and C; C_alpha = (1 + n_G (n_y - 1) / n_y) / (n_y - 1 + n_G / n_y)",
    assumes=premises.symmetric_end_of_stage_1,
)
def symmetric_features_are_imbalanced(run):
    """Active neurons end at V(g) = 2 B C / (1 + C), V(y) = 2 B / (1 + C) and their negatives, within 0.2%."""
    found, B = _last_shapes(run)
    v_g, v_y = (float(v) for v in limits.limit_sizes(spec_of(run).action, B))
    wanted = {"g": v_g, "y": v_y, "other_g": -v_y, "other_y": -v_g}
    part = ps.chosen(0.002, "0.2 %: twice b over B")
    near = [
        ps.within(found[k].mean() / w, 1 - part, 1 + part, f"{k} / limit")
        for k, w in wanted.items()
    ]
    return ps.all_of(near) & _mostly_alone(found) & ran_to_the_end(run)


@claim(
    "Theorem C.1 B, equation (18c)",
    on("population", evidence.limit_S3),
    id="thmC.1-B",
    kind="approx",
    tex=r"|V_{j,r}(g) + V_{j,r}(y')| \le O(\varpi^{1/(q-1)})",
    page="Appendix C.1, Theorem C.1 B; Section 6.1.2, eq. (18c)",
    assumes=premises.symmetric_end_of_stage_1,
)
def symmetric_confounders_cancel(run):
    """V(g) + V(y') and V(g') + V(y) vanish for active neurons of the symmetric task, within 0.1 in the mean."""
    found, _ = _last_shapes(run)
    near = [ps.within(found[k].mean(), -CLOSE, CLOSE, k) for k in ("conf_y", "conf_g")]
    return ps.all_of(near) & _mostly_alone(found) & ran_to_the_end(run)


@claim(
    "Equations (18a), (18b)",
    on("closed form", evidence.imbalance),
    id="eq18",
    aliases=("18-main",),
    kind="limit",
    tex=r"V_{j,r}(g) \to 2B, \quad V_{j,r}(y) \to 2B / n_y",
    page="Section 6.1.2, eq. (18a), (18b)",
    as_=("n_y", "inf"),
)
def symmetric_features_have_the_factors_of_the_main_text(table):
    """By the exact C_alpha of Theorem C.1, V(g) / 2B and V(g) / (n_y V(y)) tend to 1 as n_y grows, from 5 to 100."""
    near = ps.chosen(0.1, "a tenth")
    return ps.tends_to(table.g, 1.0, along="values", within=near, what="V(g) / 2B") & ps.tends_to(
        table.ratio, 1.0, along="values", within=near, what="V(g) / (n_y V(y))"
    )


@claim(
    "ours: reversal at finite time",
    on("population", evidence.learning_S3),
    id="ours-reversal",
    aliases=("18-reversed",),
    kind="order",
    whose="ours",
    tex=r"V_{j,r}(g) < V_{j,r}(y) \text{ before } T_1",
    page="Appendix C.1, Theorem C.1 C, which has V(g) > V(y) at T_1",
)
def the_imbalance_is_reversed_at_first(run):
    """After the updates that descent can pay the symmetric task has V(g) < V(y) in every active neuron, opposite to its limit."""
    found, _ = _last_shapes(run)
    if not found["y"].size:
        return ps.undecided("no neuron is active", "active neurons")
    apart = found["y"].min() - found["g"].max()
    return ps.positive(apart, "least V(y) - largest V(g)") & ran_to_the_end(run)


claims = (
    cyclic_features_tend_to_the_clip,
    confounders_cancel,
    both_halves_of_a_feature_are_equal,
    symmetric_features_are_imbalanced,
    symmetric_confounders_cancel,
    symmetric_features_have_the_factors_of_the_main_text,
    the_imbalance_is_reversed_at_first,
)
