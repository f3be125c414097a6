"""Numbers of earlier runs of ours: equal today, and never counted as results."""

from __future__ import annotations

import phasescope as ps

from ..phases import at_the_end, first_phase_end, frozen, trained
from . import evidence
from .experiment import epochs, population_losses_at_the_end
from .late_time import cases
from .parts import learns, where_it_learns

KEPT = ps.chosen(1e-3, "the digits that were kept")


def as_kept(found: dict[str, float], kept: dict[str, float], near: float) -> ps.Verdict:
    """Every number is the one that was kept."""
    return ps.all_of(
        ps.agree(float(found[name]), number, rtol=near, what=name) for name, number in kept.items()
    )


# Of a small run of all six families, at kappa t = 1e4: what no identity holds. Means over entries.
SMALL_RUN = {
    "M": 6.734282e-06,
    "Sdot": 9.19888e-07,
    "A": 0.867525,
    "K": 0.03597499,
    "Q": 0.03355138,
    "A_change": 0.9522206,
    "Q_change": 0.004339374,
    "K_change": 0.003250117,
    "N_change": 1.676354,
    "p_dev": 0.0005284332,
    "p_spread": 0.01142108,
    "F_random": 6.395369,
    "value_part": 0.1444019,
    "softmax_part": 0.0008480673,
    "betadot_outputs": 0.008717391,
    "Adot": 0.0001649529,
    "casimir": 1.411927,
    "U_change": 1.60519,
    "U_change_random": 1.205908,
    "U_output_change": 0.6635127,
    "U_rate_random": 0.0002069092,
    "U_rate_common": 0.0002364889,
    "U_norms": 4.510845,
    "U_cross_neurons": 0.0001058236,
    "U_cross_values": 8.632781e-05,
}


# Of the experiment as a flow: means over eight seeds.
FIGURE_1 = {
    "peak": 171.8,
    "T_1": 765.8,
    "rise": 0.04038,
    "C_12": 0.1105,
    "beta / beta(0)": 57.76,
    "loss": 0.00103,
    "cost of freezing": 0.00809,
}


@ps.claim(
    "A small run: numbers (ours)",
    ps.on("training", evidence.small_families),
    id="small-run-numbers",
    kind="regression",
    whose="ours",
    page="Appendix C",
)
@where_it_learns
def numbers_of_a_small_run(run):
    """Forces, rates, overlaps and changes at the end of a run of the six families at m = 16."""
    end = run.isel(time=-1)
    near = ps.chosen(1e-5, "a hundred steps of a solver with a relative error of 1e-9")
    found = {name: float(abs(end[name]).mean()) for name in SMALL_RUN}
    return as_kept(found, SMALL_RUN, near)


@ps.claim(
    "Test against training loss: numbers (ours)",
    ps.on("population", *evidence.ratio_runs),
    id="test-loss-numbers",
    aliases=("T3.3-gap",),
    kind="regression",
    whose="ours",
    page="Section 3, Theorem 3.3, item 1",
)
@where_it_learns
def numbers_of_the_test_loss(*runs):
    """At kappa t = 1e8 the test loss of a lazy network over its training loss at n = 48, L = 4 and at n = 600
    and 6000, L = 5."""
    ratio = cases(runs, lambda run: (run.test_loss / run.loss).isel(time=-1))
    expected = ratio.copy(data=[18_330.0, 5.278, 1.176])
    return ps.agree(ratio, expected, rtol=KEPT, what="test / training loss")


@ps.claim(
    "Figure 1: numbers (ours)",
    ps.on("training", evidence.figure_1),
    id="fig1-numbers",
    kind="regression",
    whose="ours",
    page="Section 3, Figure 1; Appendix A",
)
@where_it_learns
def numbers_of_figure_1(run):
    """In the experiment as a flow, means over eight seeds: epoch of the peak of the loss with one target word and of
    T_1, its rise, the change of the scores, the growth of beta, the loss at the end and the cost of freezing
    the attention."""
    still = frozen(run)
    run = trained(run)
    one = run.loss_type.sel(type=[2, 3]).mean("type", skipna=False)
    bump = one.max("time", skipna=False) - one.isel(time=0, drop=True)
    peak = epochs(run, run.tau.isel(time=one.fillna(0).argmax("time")))
    grown = at_the_end(run.beta) / run.beta.isel(time=0, drop=True)
    cost = at_the_end(still.loss) / at_the_end(run.loss) - 1
    found = {
        "peak": peak,
        "T_1": epochs(run, first_phase_end(run)),
        "rise": bump,
        "C_12": at_the_end(run.C.sel(key=1, query=2)),
        "beta / beta(0)": grown,
        "loss": at_the_end(run.loss),
        "cost of freezing": cost,
    }
    means = {name: float(values.mean(skipna=False)) for name, values in found.items()}
    near = ps.chosen(0.01, "the digits that were kept")
    return as_kept(means, FIGURE_1, near)


@ps.claim(
    "Test loss of the experiment: numbers (ours)",
    ps.on("training", evidence.figure_1),
    id="fig1-test-numbers",
    kind="regression",
    whose="ours",
    page="Section 3, Figure 1; Appendix A",
)
def numbers_of_the_population_loss(run):
    """The exact population loss after the experiment, and with frozen attention over it, for two seeds."""
    guard = learns(run)
    if guard.outcome is not ps.Outcome.HOLDS:
        return guard
    fresh = population_losses_at_the_end(trained(run), seeds=(0, 5))
    still = population_losses_at_the_end(frozen(run), seeds=(0, 5))
    seen = "the range of eight seeds in an earlier run, rounded outwards"
    low = ps.derived(0.05, seen)
    high = ps.derived(0.12, seen)
    return (
        ps.within(fresh, low, high, "population loss")
        & ps.within(
            still / fresh, ps.derived(1.0, seen), ps.derived(1.02, seen), "frozen / trained"
        )
        & guard
    )


claims = (
    numbers_of_a_small_run,
    numbers_of_the_test_loss,
    numbers_of_figure_1,
    numbers_of_the_population_loss,
)
