"""Section 6 and Appendix D: the paper's figures, with gradient flow dashed upon descent."""

from __future__ import annotations

import phasescope as ps

from ..claims import evidence
from ..closed_forms import early_pivot_scores, early_token_scores
from ..phases import onset, spec_of
from ..theory import log_flow
from . import panels
from .panels import BLUE, GREEN, POSITIONS, PURPLE, VERMILION

SIZE = (7.4, 2.5)


def flow_of(preset: str) -> ps.Request:
    """Gradient flow of the same setting."""
    return ps.runs(log_flow, preset=preset)


def draw_training(
    run, flow, axes, *, until: int, length: int = 3, log: bool = False, phases: bool = True
) -> None:
    """Loss, token scores and attention to the pivot over training, from the start or in log time.

    `phases`: whether the two phases are shaded.
    """
    spec = spec_of(run)
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
    draw_attention(run, flow, right, length, int(spec.pivots[length - 1]))
    left.set(ylabel=r"loss $\mathcal{L}$", ylim=(0, 5.2))
    middle.set(ylabel=r"token score $v_\ell$", ylim=(None, 1.5 * float(run.token_score.max())))
    right.set(ylabel=rf"attention weight, $L = {length}$", ylim=(0, 1.1))
    scale = "log" if log else "linear"
    for panel in axes:
        panel.set(xlabel="updates $t$", xscale=scale, xlim=(first, until))
    panels.show_phases(run, axes, t_2, phases=phases)
    lines = (spec.switch, t_2)
    panels.legend_between(left, lines, "flow")
    panels.legend_between(middle, lines)
    panels.legend_between(right, lines)


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
    """Even pairs at lam = 2. The loss falls from 4.159 to 3.651 at t_0 = 100 and to 0.343 at 1000; the first token
    score rises, the second and third fall, the second lowest; in strings of length 3 the first token gains attention
    when it matches the last (0.33 to 0.68) and loses it when it differs (to 0.13). Dashed: t_0, the end of phase
    1. Dash-dotted: t_2 = 576, in the midst of phase 2, where |u| grows fastest in log t (the paper reads off 600).
    Gradient flow at t = tau / eta lies on descent throughout."""
    draw_training(run, flow, axes, until=1000)


@ps.figure("Figure 3", evidence.figure_3, flow_of("figure_3"), panels=(1, 3), size=SIZE)
def figure_3(run, flow, axes):
    """Parity at lam = 2, L_0 = 4. As Figure 2, but slower at the end (loss 1.725 at 600, 0.175 at 2000): the longest
    length is learned for good only at t = 629. At length 5 the pivot is position 2 and the signs are reversed: it is
    attended when it differs (0.70) and avoided when it matches (0.06), where position 1 takes over (0.46). The score of
    position 1 is the same in both classes; its weight is not."""
    draw_training(run, flow, axes, until=2000, length=5)


@ps.figure("Figure 4", evidence.figure_4, flow_of("figure_4"), panels=(1, 3), size=SIZE)
def figure_4(run, flow, axes):
    """Even pairs at lam = 10, in log time because phase 1 is 1% of the run. The shapes of Figure 2, five times slower:
    t_2 = 3171, loss 3.203 at 1000 and 0.074 at 10^4, all strings right from t = 958. Nearly all that the attention
    learns, it learns in phase 2."""
    draw_training(run, flow, axes, until=10_000, log=True)


@ps.figure("Figure 5", evidence.figure_5, flow_of("figure_5"), panels=(1, 3), size=SIZE)
def figure_5(run, flow, axes):
    """Even pairs at lam = 18 = N^2 / 2, in log time. Slower still: t_2 = 5994, loss 3.497 at 600 and 0.325 at 10^4, all
    strings right from t = 1513."""
    draw_training(run, flow, axes, until=10_000, log=True)


@ps.figure("Figure 6", evidence.figure_6, flow_of("figure_6"), panels=(1, 3), size=SIZE)
def figure_6(run, flow, axes):
    """Even pairs by plain gradient descent, lam = 2: nearly Figure 2, without its first phase (loss 3.705 at 100, 0.365
    at 1000; t_2 = 597; all strings right from 256 instead of 231). Nothing happens at t = 100, where the rates would
    change: the two phases are not made by the schedule, and none are shaded."""
    draw_training(run, flow, axes, until=1000, phases=False)


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
    scores. (a) Even pairs, length 3: the pivot's score is 0.22 when it matches and -0.27 when it differs at t_0, and
    2.12 and -2.00 at 600. (b) Parity, length 5: the signs are reversed. The score of position 1 there is one curve
    for both classes, and below zero until t = 371 or so, where Theorem 5.1 has it above all others."""
    left, right = axes
    draw_scores(even, even_flow, left, length=3)
    draw_scores(parity, parity_flow, right, length=5)


def draw_scores(run, flow, axes, *, length: int) -> None:
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
    axes.set_ylabel(f"attention score, $L = {length}$")
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
    middle.set(ylabel="size of token score", yscale="log", ylim=(6e-4, 200))
    right.set(ylabel="attention to first token, $L = 3$", ylim=(0, 0.95))
    for panel in axes:
        panel.set(xlabel="updates $t$", xscale="log", xlim=(5, float(run.time[-1])))
    panels.show_phases(run, axes, t_2)
    panels.legend(left, "flow", loc="lower left", bbox_to_anchor=(0.0, 0.2), **panels.NARROW)
    panels.legend(middle, "formula", loc="upper left")
    panels.legend_between(right, (spec.switch, t_2))


figures = (overview, figure_2, figure_3, figure_4, figure_5, figure_6, attention_scores)
