"""Section 6 and Appendix D: the paper's figures, with gradient flow dashed upon descent."""

from __future__ import annotations

import phasescope as ps

from ..claims import evidence
from ..closed_forms import early_pivot_scores, early_token_scores
from ..phases import learned, onset, spec_of
from ..theory import log_flow
from . import panels
from .panels import BLUE, GREEN, POSITIONS, PURPLE, VERMILION

SIZE = (7.4, 3.0)
# A legend below the label of the axis of a low panel.
BELOW = panels.BENEATH | {"bbox_to_anchor": (0.5, -0.26)}


def flow_of(preset: str) -> ps.Request:
    """Gradient flow of the same setting."""
    return ps.runs(log_flow, preset=preset)


def draw_training(
    run,
    flow,
    axes,
    title: str,
    *,
    until: int,
    length: int = 3,
    log: bool = False,
    phases: bool = True,
) -> None:
    """Loss, token scores and attention to the pivot over training, from the start or in log time.

    `title`: above all panels. `phases`: whether the two phases are shaded.
    """
    axes[0].figure.suptitle(title, fontsize=9.5)
    pivots = spec_of(run).pivots
    t_2 = float(onset(run))
    first = 10 if log else 0
    run = run.sel(time=slice(first, until))
    flow = panels.in_steps(flow).sel(time=slice(first, until))
    left, middle, right = axes
    panels.over(run.loss, flow.loss, left, BLUE, "gradient descent")
    for position, color in POSITIONS.items():
        score = run.token_score.sel(position=position)
        by_flow = flow.token_score.sel(position=position)
        panels.over(score, by_flow, middle, color, rf"$v_{position}$")
    draw_attention(run, flow, right, length, int(pivots[length - 1]))
    left.set(ylabel=r"loss $\mathcal{L}$", ylim=(0, None))
    middle.set(ylabel=r"token score $v_\ell$")
    right.set(ylabel=rf"attention weight, $L = {length}$", ylim=(0, 0.79))
    scale = "log" if log else "linear"
    for panel in axes:
        panel.set(xlabel="updates $t$", xscale=scale, xlim=(first, until))
    panels.show_phases(run, axes, t_2, phases=phases)
    panels.legend(left, "flow", **BELOW)
    panels.legend(middle, ncols=3, columnspacing=1.2, **BELOW)
    panels.legend(right, ncols=2, **BELOW)


def draw_attention(run, flow, axes, length: int, pivot: int) -> None:
    """Weights of the pivot in matching and differing strings, and of position 1 where that is another one."""
    cases = (
        ("attention_match", "+", "match", BLUE, GREEN),
        ("attention_differ", "-", "differ", VERMILION, PURPLE),
    )
    for name, sign, case, color, other in cases:
        colors = {pivot: color}
        if pivot > 1:
            colors[1] = other
        for position, shade in colors.items():
            at = {"length": length, "position": position}
            label = rf"$\varphi_{position}^{sign}$, {case}"
            panels.over(run[name].sel(at), flow[name].sel(at), axes, shade, label)
    axes.axhline(1 / length, color="0.5", lw=0.8, zorder=0, label=f"uniform, 1/{length}")


@ps.figure("Figure 2", evidence.figure_2, flow_of("figure_2"), panels=(1, 3), size=SIZE)
def figure_2(run, flow, axes):
    """Even pairs at lam = 2. The loss falls from {begin:.3f} to {middle:.3f} at t_0 = 100 and to {end:.3f} at 1000; the
    first token score rises, the second and third fall, the second lowest; in strings of length 3 the first token gains
    attention when it matches the last (1/3 to {match:.2f}) and loses it when it differs (to {differ:.2f}). Dashed: t_0,
    the end of phase 1. Dash-dotted: t_2 = {t_2:.0f}, in the midst of phase 2, where |u| grows fastest in log t (the
    paper reads off 600). Gradient flow at t = tau / eta lies on descent throughout."""
    draw_training(run, flow, axes, r"Even pairs, $\lambda = 2$", until=1000)
    shown = {"length": 3, "position": 1}
    return panels.losses_at(run, begin=0, middle=100, end=1000) | {
        "match": panels.value_at(run.attention_match.sel(shown), 1000),
        "differ": panels.value_at(run.attention_differ.sel(shown), 1000),
        "t_2": float(onset(run)),
    }


@ps.figure("Figure 3", evidence.figure_3, flow_of("figure_3"), panels=(1, 3), size=SIZE)
def figure_3(run, flow, axes):
    """Parity at lam = 2, L_0 = 4. As Figure 2, but slower at the end (loss {middle:.3f} at 600, {end:.3f} at 2000): the
    longest length is learned for good only at t = {learned:.0f}. At length 5 the pivot is position 2 and the signs are
    reversed: it is attended when it differs ({differ:.2f}) and avoided when it matches ({match:.2f}), where position 1
    takes over ({first:.2f}). The score of position 1 is the same in both classes; its weight is not."""
    title = r"Parity, $\lambda = 2$, $L_0 = 4$"
    draw_training(run, flow, axes, title, until=2000, length=5)
    pivot = {"length": 5, "position": 2}
    first = {"length": 5, "position": 1}
    return panels.losses_at(run, middle=600, end=2000) | {
        "learned": float(learned(run)),
        "match": panels.value_at(run.attention_match.sel(pivot), 2000),
        "differ": panels.value_at(run.attention_differ.sel(pivot), 2000),
        "first": panels.value_at(run.attention_match.sel(first), 2000),
    }


@ps.figure("Figure 4", evidence.figure_4, flow_of("figure_4"), panels=(1, 3), size=SIZE)
def figure_4(run, flow, axes):
    """Even pairs at lam = 10, in log time because phase 1 is 1% of the run. The shapes of Figure 2, five times slower:
    t_2 = {t_2:.0f}, loss {middle:.3f} at 1000 and {end:.3f} at 10^4, all strings right from t = {learned:.0f}. Nearly
    all that the attention learns, it learns in phase 2."""
    draw_training(run, flow, axes, r"Even pairs, $\lambda = 10$", until=10_000, log=True)
    return panels.losses_at(run, middle=1000, end=10_000) | times_of(run)


@ps.figure("Figure 5", evidence.figure_5, flow_of("figure_5"), panels=(1, 3), size=SIZE)
def figure_5(run, flow, axes):
    """Even pairs at lam = 18 = N^2 / 2, in log time. Slower still: t_2 = {t_2:.0f}, loss {middle:.3f} at 600 and
    {end:.3f} at 10^4, all strings right from t = {learned:.0f}."""
    draw_training(run, flow, axes, r"Even pairs, $\lambda = 18$", until=10_000, log=True)
    return panels.losses_at(run, middle=600, end=10_000) | times_of(run)


def times_of(run) -> dict[str, float]:
    """t_2, and from when all strings are right, for a caption."""
    return {"t_2": float(onset(run)), "learned": float(learned(run))}


@ps.figure("Figure 6", evidence.figure_6, flow_of("figure_6"), panels=(1, 3), size=SIZE)
def figure_6(run, flow, axes):
    """Even pairs by plain gradient descent, lam = 2: nearly Figure 2, without its first phase (loss {begin:.3f} at 100,
    {end:.3f} at 1000; t_2 = {t_2:.0f}; all strings right from {learned:.0f} on, a little later). Nothing happens at
    t = 100, where the rates would change: the two phases are not made by the schedule, and none are shaded."""
    title = r"Even pairs, $\lambda = 2$, plain gradient descent"
    draw_training(run, flow, axes, title, until=1000, phases=False)
    return panels.losses_at(run, begin=100, end=1000) | times_of(run)


@ps.figure(
    "Figures 2 and 3, third panels, as scores",
    evidence.figure_2,
    flow_of("figure_2"),
    evidence.figure_3,
    flow_of("figure_3"),
    panels=(1, 2),
    size=(6.2, 3.1),
)
def attention_scores(even, even_flow, parity, parity_flow, axes):
    """The paper's captions say attention scores, its text says weights; Figures 2 and 3 show weights, here are the
    scores. (a) Even pairs, length 3: the pivot's score is {match:.2f} when it matches and {differ:.2f} when it differs at
    t_0, and {match_late:.2f} and {differ_late:.2f} at 600. (b) Parity, length 5: the signs are reversed. The score of
    position 1 there is one curve for both classes, and below zero until t = {zero:.0f} or so, where Theorem 5.1 has it
    above all others."""
    left, right = axes
    draw_scores(even, even_flow, left, task="even pairs", length=3)
    draw_scores(parity, parity_flow, right, task="parity", length=5)
    match = even.score_match.sel(length=3)
    differ = even.score_differ.sel(length=3)
    first = parity.score_other.sel(length=5, position=1)
    return {
        "match": panels.value_at(match, 100),
        "differ": panels.value_at(differ, 100),
        "match_late": panels.value_at(match, 600),
        "differ_late": panels.value_at(differ, 600),
        "zero": float(ps.crossing(first, 0.0, "up")),
    }


def draw_scores(run, flow, axes, *, task: str, length: int) -> None:
    """Scores of the pivot in matching and differing strings, and of position 1 where that is another one."""
    pivots = spec_of(run).pivots
    flow = panels.in_steps(flow)
    cases = (
        ("score_match", BLUE, rf"$p_{length}$, match"),
        ("score_differ", VERMILION, rf"$q_{length}$, differ"),
    )
    for name, color, label in cases:
        score = run[name].sel(length=length)
        panels.over(score, flow[name].sel(length=length), axes, color, label)
    if pivots[length - 1] > 1:
        first = {"length": length, "position": 1}
        score = run.score_other.sel(first)
        panels.over(score, flow.score_other.sel(first), axes, GREEN, rf"$m_{{{length}1}}$, both")
    times, forms = panels.early(run, lambda clock: early_pivot_scores(pivots, clock)[:, length - 1])
    axes.plot(times, forms, **panels.FORMULA)
    axes.set(xlabel="updates $t$", xscale="log", xlim=(10, float(run.time[-1])))
    axes.set_ylabel(f"attention score, {task}, $L = {length}$")
    axes.set_yscale("symlog", linthresh=0.01, linscale=0.4)
    axes.set(ylim=(-40, 40), yticks=[-10, -1, -0.1, 0, 0.1, 1, 10])
    panels.show_phases(run, [axes], float(onset(run)))
    panels.legend(axes, "flow", "formula", ncols=2, **panels.BENEATH)


@ps.figure(
    "Figure 2, in log time", evidence.figure_2, flow_of("figure_2"), panels=(1, 3), size=(8.0, 2.8)
)
def overview(run, flow, axes):
    """Even pairs at lam = 2, its two phases shaded and the theory upon it. Gradient flow (dashed) follows the loss, the
    token scores and the attention throughout; the closed forms v_1 = tau / 4 and v_l = -tau^2 / 64 times the sum of 1 /
    L^2 from L = l on (dotted) are where they start."""
    spec = spec_of(run)
    t_2 = float(onset(run))
    run = run.sel(time=slice(5, None))
    flow = panels.in_steps(flow).sel(time=slice(5, None))
    left, middle, right = axes
    panels.over(run.loss, flow.loss, left, BLUE, "gradient descent")
    for position, color in POSITIONS.items():
        size = abs(run.token_score.sel(position=position))
        by_flow = abs(flow.token_score.sel(position=position))
        panels.over(size.where(size > 0), by_flow, middle, color, rf"$|v_{position}|$")
    times, forms = panels.early(
        run, lambda clock: abs(early_token_scores(spec.size, clock)[:3]), until=20.0
    )
    middle.plot(times, forms, **panels.FORMULA)
    draw_attention(run, flow, right, 3, 1)
    left.set(ylabel=r"loss $\mathcal{L}$", yscale="log", ylim=(0.06, 6))
    middle.set(ylabel="size of token score", yscale="log", ylim=(6e-4, 20))
    right.set(ylabel="attention to first token, $L = 3$", ylim=(0, 0.79))
    for panel in axes:
        panel.set(xlabel="updates $t$", xscale="log", xlim=(5, float(run.time[-1])))
    panels.show_phases(run, axes, t_2)
    panels.legend(left, "flow", **BELOW)
    panels.legend(middle, "formula", ncols=2, **BELOW)
    panels.legend(right, ncols=2, **BELOW)


figures = (overview, figure_2, figure_3, figure_4, figure_5, figure_6, attention_scores)
