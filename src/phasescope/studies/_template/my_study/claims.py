"""One function per statement of the paper: the docstring says it, the body checks it at finite size.

A claim says what `kind` of statement it is, since that fixes what a failure means: one
counter-example refutes an identity, no finite size refutes an asymptotic statement. It says whose
statement it is (`whose="ours"` for what we add), and what it assumes. Each `ps.on` is a row of the
ledger, with the word that has been established there.
"""

import numpy as np

import phasescope as ps

from .theory import closed_form, flow
from .training import descent, sgd

# What Theorem 2 assumes, as data: which arms are the paper's model, and a ratio that must be at
# least 1. Whether a row is *theory* or *beyond* follows from it, and is never typed in.
small_start = ps.assume(
    model=("flow", "closed_form"),
    lane={"small_start": lambda spec: 0.1 / spec.start},
)


@ps.claim(
    "Theorem 1",
    ps.on("population", ps.runs(flow), ps.runs(closed_form)),
    id="thm1-logistic",
    kind="identity",
    tex=r"w(t)^2 = 1 / (1 + (1 / w(0)^2 - 1) e^{-2t})",
    page="p. 2, eq. (3)",
)
def flow_follows_the_closed_form(flow, closed_form):
    """Along gradient flow w^2 is a logistic curve."""
    error = ps.chosen(1e-6, "a thousand times what the solver allows itself in a step")
    return ps.agree(flow.overlap, closed_form.overlap, atol=error)


@ps.claim(
    "Theorem 2",
    ps.on("closed form", ps.sweeps(closed_form, start=[1e-1, 1e-2, 1e-3, 1e-4, 1e-5])),
    ps.on(
        "closed form",
        ps.sweeps(closed_form, start=[0.3, 0.5, 0.65]),
        expect="outside",
        # A template: measured numbers are filled in from the verdict, never typed in.
        because="the neglected term is of order w(0)^2, and the times differ by {value:.2g}",
    ),
    id="thm2-escape-time",
    kind="approx",
    tex=r"t_{1/2} = \ln(1 / w(0)) + O(w(0)^2)",
    page="p. 2, eq. (5)",
    as_=("w(0)", "0"),
    assumes=small_start,
)
def escape_time_is_logarithmic(runs):
    """The saddle is left after a time log(1 / w(0)), if w(0) is at most 0.1."""
    time = ps.crossing(runs.overlap, 0.5)
    neglected = ps.derived(0.01, "w(0)^2 at the largest w(0) that the theorem allows")
    return ps.agree(time, np.log(1 / runs.start), atol=neglected, what="escape time")


@ps.claim(
    "Theorem 3",
    # Seeds are an axis of the dataset, `seed`.
    ps.on("training", ps.sweeps(sgd, seeds=64)),
    id="thm3-noise",
    kind="upper",
    tex=r"t_{1/2} \le \ln(1 / w(0))",
    page="p. 3",
    whp=0.2,
)
def noise_leaves_the_saddle_earlier(runs):
    """With probability at least 0.8, noise leaves the saddle before the time log(1 / w(0))."""
    ratio = ps.crossing(runs.overlap, 0.5) / np.log(1 / ps.number(runs, "start"))
    rare = ratio.quantile(0.8, "seed", skipna=False)
    one = ps.stated(1.0, "Theorem 3")
    exceptions = ps.stated(0.2, "Theorem 3")
    earlier = ps.share(ratio <= one, exceptions, what="leaving earlier")
    return ps.at_most(rare, one, "time over log(1 / w(0))") & earlier


@ps.claim(
    "Figure 1",
    # The preset is a protocol of the study (see __init__.py), so that this row is *published*.
    ps.on("training", ps.runs(descent, preset="figure_1"), expect="reproduced"),
    id="fig1-plateau",
    kind="figure",
    page="p. 3",
)
def a_plateau_and_then_a_fast_rise(run):
    """The overlap never falls, and rises in less than half of the time that it waits."""
    wait = ps.crossing(run.overlap, 0.1)
    rise = ps.crossing(run.overlap, 0.9) - wait
    half = ps.chosen(0.5, "the rise in the figure is clearly shorter than the plateau")
    never_falls = ps.increasing(run.overlap, "overlap", strictly=False)
    return never_falls & ps.at_most(rise / wait, half, "rise / wait")
