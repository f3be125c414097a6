"""Section 3 and Appendix B: Figures 1 and 3, descent on samples against the exact flow."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps
from phasescope import claim, on

from ..event_times import SMOOTH, value_at
from ..phases import phase_times, ran_to_the_end, spec_of
from . import evidence
from .premises import theorem_4

# Before, one batch can move the escape of the 4-gram from its start by a good part of a unit of time.
SETTLED = 100.0
CLOSE = ps.chosen(0.005, "a hundredth of g* and h*")
ONE = ps.chosen(0.01, "1 %: what a batch moves w by")
TWO = ps.chosen(0.02, "2 %: records are 10 apart")
TIMES = ("T_I", "T_half_w", "T_II", "T_50", "T_III")


def at_times_of(flow: xr.Dataset, run: xr.Dataset, name: str) -> xr.DataArray:
    """An observable of the flow at the record times of a run, from `SETTLED` on."""
    times = run.time.values[run.time >= SETTLED]
    found = value_at(flow[name], xr.DataArray(times, dims="record"), SMOOTH)
    return found.rename(record="time").assign_coords(time=times).rename(name)


def overlays(run: xr.Dataset, flow: xr.Dataset) -> ps.Verdict:
    """The run stays on the flow: w within 1 %, the others by a hundredth of their targets; and so do its phase times."""
    late = run.sel(time=slice(SETTLED, None)).reset_coords(drop=True)
    run_times = phase_times(run)
    flow_times = phase_times(flow)
    return (
        ps.agree(late["w_kq"], at_times_of(flow, run, "w_kq"), rtol=ONE, what="w")
        & ps.all_of(
            ps.agree(late[name], at_times_of(flow, run, name), atol=CLOSE, what=name)
            for name in ("p", "g", "h")
        )
        & ps.all_of(
            ps.agree(run_times[name], flow_times[name], rtol=TWO, what=name) for name in TIMES
        )
        & ran_to_the_end(run)
    )


@claim(
    "Figure 1: four phases",
    on("training", evidence.figure_1, expect="reproduced"),
    on("population", evidence.true, expect="reproduced"),
    id="fig1-phases",
    kind="figure",
    tex=r"T_I < T_{II} < T_{III};\quad \mathcal L_{G_4}, \mathcal L_{IH_2} \to 0",
    page="Section 3.2, Figure 1 and its caption: the entire dynamics unfold in four distinct phases",
    assumes=theorem_4,
    varies=("alpha", "sigma", "w_star", "length"),
)
def figure_1_has_four_phases(run):
    """Given a sharp first layer, the 4-gram is learned to 1 %, then the plateau of the induction head ends, then the
    induction head is learned to 1 % of the plateau, and both losses go on falling to the end."""
    return _four_phases(run)


def _four_phases(run: xr.Dataset) -> ps.Verdict:
    times = phase_times(run)
    late = run.sel(time=slice(float(times.T_III), None))
    part = ps.stated(0.01, "Theorem 4: 1 %")
    left = run.isel(time=-1) / run.isel(time=0)
    return (
        ps.ordered(times.T_I, times.T_II, times.T_III, what="T_I, T_II, T_III")
        & ps.at_most(left.loss_g4, part, "4-gram's loss at the end over its start")
        & ps.at_most(left.loss_ih, part, "induction head's loss at the end over its start")
        & ps.negative(late.loss_g4.diff("time"), "change of the 4-gram's loss after T_III")
        & ran_to_the_end(run)
    )


@claim(
    "Figure 1 is the exact flow (ours)",
    on("training", evidence.figure_1, evidence.true),
    id="ours-fig1-flow",
    aliases=("C-F1",),
    kind="approx",
    whose="ours",
    tex=r"\theta_{SGD}(t) \simeq \theta_{flow}(t)",
    page="Section 3.2, Figure 1",
)
def figure_1_is_the_exact_flow(run, flow):
    """Stochastic descent of Figure 1, given a sharp first layer, stays on the exact population flow from t = 100 on: w within
    1 %, p, g and h within 0.005, phase times within 2 %."""
    return overlays(run, flow)


@claim(
    "Figure 1 against the closed form of many keys (ours)",
    on("training", evidence.figure_1, evidence.limit),
    id="ours-fig1-many-keys",
    aliases=("C-F1-paper",),
    kind="approx",
    whose="ours",
    tex=r"T_{III}^{SGD} \simeq T_{III}^{N \to \infty}",
    page="Section 3.2, Figure 1",
)
def figure_1_follows_the_limit_of_many_keys(run, flow):
    """The emergence of the trained model ends when that of the closed form (1 - 2 c c')^(-1/2) does, within 5 %; the printed
    equations are 2.4 times too fast (ours-factor)."""
    few = ps.chosen(0.05, "1 / N = 2.6 %, times a constant")
    return ps.agree(
        phase_times(flow).T_III, phase_times(run).T_III, rtol=few, what="T_III"
    ) & ran_to_the_end(run)


@claim(
    "Figure 3: four phases",
    on("training", evidence.figure_3, expect="reproduced"),
    id="fig3-phases",
    kind="figure",
    tex=r"T_I < T_{II} < T_{III};\quad \mathcal L_{G_4}, \mathcal L_{IH_2} \to 0",
    page="Appendix B, Figure 3 and its caption: the entire dynamics exhibit four phases",
    assumes=theorem_4,
)
def figure_3_has_four_phases(run):
    """With Boolean tokens, too, the 4-gram is learned to 1 %, then the plateau ends, then the induction head is learned to 1 %
    of the plateau, and both losses go on falling."""
    return _four_phases(run)


@claim(
    "Figure 3: extremely similar",
    on("training", evidence.figure_3, evidence.figure_1, expect="reproduced"),
    on("population", evidence.true_boolean, evidence.true, expect="reproduced"),
    id="fig3-similar",
    aliases=("C-F3-similar",),
    kind="figure",
    tex=r"T^{\pm1} \simeq T^{\mathcal N}",
    page="Appendix B, caption of Figure 3: extremely similar to Gaussian inputs",
    assumes=theorem_4,
)
def boolean_tokens_change_little(boolean, gaussian):
    """Boolean tokens shift T_II, T_50 and T_III by at most a tenth."""
    ours = _ends_of_the_emergence(boolean)
    theirs = _ends_of_the_emergence(gaussian)
    eye = ps.chosen(0.1, "a tenth is what the eye sees in a plot of this size")
    return (
        ps.agree(ours, theirs, rtol=eye, what="T_II, T_50, T_III, Boolean against Gaussian")
        & ps.guard(ps.positive(np.abs(ours - theirs).max(), "the two are not copies"))
        & ps.guard(_says("boolean", boolean) & _says("gaussian", gaussian))
        & ps.guard(_positive_at_first(boolean) & _positive_at_first(gaussian))
        & ran_to_the_end(boolean)
    )


def _positive_at_first(run: xr.Dataset) -> ps.Verdict:
    return ps.positive(run.loss_ih.isel(time=slice(0, 20)), "loss of the first 20 records")


def _says(tokens: str, run: xr.Dataset) -> ps.Verdict:
    return ps.positive(float(spec_of(run).tokens == tokens), f"tokens are {tokens}")


def _ends_of_the_emergence(run: xr.Dataset) -> np.ndarray:
    times = phase_times(run)
    return np.array([float(times[name]) for name in ("T_II", "T_50", "T_III")])


@claim(
    "Figure 3 is the exact flow (ours)",
    on("training", evidence.figure_3, evidence.true_boolean),
    id="ours-fig3-flow",
    aliases=("C-F3",),
    kind="approx",
    whose="ours",
    tex=r"\theta_{SGD}(t) \simeq \theta_{flow}(t)",
    page="Appendix B, Figure 3",
)
def figure_3_is_the_exact_flow(run, flow):
    """With Boolean tokens, descent stays as close to the exact flow of the Boolean model."""
    return overlays(run, flow)


@claim(
    "Section 3.1 with Stage I as stated (ours)",
    on("training", evidence.blurred),
    id="ours-blurred-floor",
    aliases=("F1-pt",),
    kind="approx",
    whose="ours",
    tex=r"\mathcal L_{G_4} \to \tfrac12 g^{\star2} e^{-2\tilde p}",
    page="Appendix B.1",
)
def a_blurred_first_layer_leaves_a_floor(run):
    """With the slope 0.9404 that Stage I reaches, the 4-gram's loss stops at exp(-2 p) of its start, within 3 % at t = 4000
    and never below."""
    slope = spec_of(run).p_tilde or 0.0
    floor = 0.5 * spec_of(run).g_star ** 2 * np.exp(-2 * slope)
    slow = ps.chosen(1.03, "it falls to the floor like 1 / t")
    lowest = ps.derived(1.0, "the minimum over p and g")
    return (
        ps.within(run.loss_g4.isel(time=-1) / floor, lowest, slow, "loss at the end over the floor")
        & ps.positive(run.loss_g4 / floor - 1, "loss over the floor - 1")
        & ps.guard(_fell(run))
        & ran_to_the_end(run)
    )


def _fell(run: xr.Dataset) -> ps.Verdict:
    start = run.loss_g4.isel(time=0) / run.loss_g4.isel(time=-1)
    return ps.at_least(start, ps.chosen(2.0, "it fell"), "4-gram's loss at the start over the end")


@claim(
    "(6), the printed index range (ours)",
    on("training", evidence.printed_range),
    id="ours-printed-range",
    aliases=("F1-idx",),
    kind="approx",
    whose="ours",
    tex=r"\mathcal L_{G_4} \ge \tfrac12 g^{\star2},\ \mathcal L_{IH_2} \to \tfrac{h^{\star2}}{2N^2}(1 - 2w^{\star4})^{-1/2}",
    page="Appendix C.1, (6)",
)
def the_printed_index_range_leaves_floors(run):
    """With s <= L - 2, as (6) prints, head 1 does not see the token it must copy, and its loss stays where it was; the
    induction head's stops at h*^2 (1 - 2 w*^4)^(-1/2) / (2 N^2), so that T_III never comes."""
    spec = spec_of(run)
    last = run.sel(time=slice(4000, None))
    floor = 0.5 * spec.h_star**2 / spec.keys**2 / np.sqrt(1 - 2 * spec.c_star**2)
    noise = ps.chosen(0.01, "g does a random walk near 0")
    sampled = ps.chosen(0.03, "estimated on a fixed set of sequences")
    start = 0.5 * spec.g_star**2
    return (
        ps.agree(
            last.loss_g4.mean("time") / start, 1.0, atol=noise, what="4-gram's loss over its start"
        )
        & ps.agree(
            last.loss_ih.mean("time") / floor,
            1.0,
            atol=sampled,
            what="induction loss over the floor",
        )
        & ps.guard(ps.at_most(np.abs(last.g), ps.chosen(0.05, "a tenth of g*"), "|g|"))
        & ran_to_the_end(run)
    )


claims = (
    figure_1_has_four_phases,
    figure_1_is_the_exact_flow,
    figure_1_follows_the_limit_of_many_keys,
    figure_3_has_four_phases,
    boolean_tokens_change_little,
    figure_3_is_the_exact_flow,
    a_blurred_first_layer_leaves_a_floor,
    the_printed_index_range_leaves_floors,
)
