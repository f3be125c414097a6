"""Stage 2: how the attention concentrates, in three steps (Section 4, Appendix D), and how far a chain is followed."""

from __future__ import annotations

import numpy as np
import xarray as xr

import phasescope as ps

from ..phases import ran_to_the_end, spec_of
from . import evidence

PATHS = tuple(evidence.path.values())


@ps.claim("Fact D.1, Lemmas D.1 and D.2", ps.theory(evidence.identity), id="D.1")
def four_scalars_carry_the_gradient(table):
    """Diagonals of the gradient are O(1/N) and equal, off-diagonals O(1/N^2) and equal: four scalars are exact."""
    nonzero = ps.at_least(table.size_diagonal, 1e-3, "diagonal") & ps.at_least(
        table.size_off_diagonal, 1e-4, "off-diagonal"
    )
    return (
        ps.within(table.diagonal, 0.0, 1e-12, "N x diagonal - scalar")
        & ps.within(table.off_diagonal, 0.0, 1e-12, "N (N-1) x off-diagonal - scalar")
        & ps.within(table.loss, 0.0, 1e-12, "loss")
        & nonzero
    )


def _at_first_end(sweep: xr.Dataset) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """q_43 and q_44 where the loss of step 1 falls below 0.01, and log d."""
    end = ps.crossing(sweep.step_loss.sel(step=1), 0.01, "down")
    return _at_time(sweep.q43, end), _at_time(sweep.q44, end), np.log(sweep.vocabulary)


def _at_time(x: xr.DataArray, when: xr.DataArray) -> xr.DataArray:
    """Between two records."""
    dims = [[], ["time"], ["time"]]
    return xr.apply_ufunc(np.interp, when, x.time, x, input_core_dims=dims, vectorize=True)


@ps.claim("Induction D.1, Lemma D.21", ps.theory(evidence.early), id="S2.1")
def the_first_step_opens_a_gap_of_one_over_log_d(sweep):
    """When step 1 is learned, q_43 - q_44 and q_43 are constants over log d: 0.33 and 1.3, from d = 1e3 to 1e12."""
    q43, q44, log_d = _at_first_end(sweep)
    gap = (q43 - q44) * log_d
    height = q43 * log_d
    flat = ps.at_most(gap.max() / gap.min(), 1.1, "largest gap log d over smallest")
    return (
        flat
        & ps.within(gap, 0.32, 0.36, "(q43 - q44) log d")
        & ps.within(height, 1.28, 1.37, "q43 log d")
    )


@ps.claim(
    "Lemma D.21, sign of the first gradient of Q_44",
    ps.theory(
        evidence.early,
        expect=ps.Outcome.FAILS,
        because="only one term of its gradient is negative: q_44 = 0.74 q_43 from the start",
    ),
    id="S2.1b",
)
def the_answer_loses_score_at_first(sweep):
    """q_44 falls over its first six records, at every d."""
    return ps.decreasing(sweep.q44.isel(time=slice(0, 6)), "q44", along="time")


@ps.claim("Induction D.2", ps.theory(*PATHS), id="S2.2")
def both_scores_grow_together(*runs):
    """0 < q_43 - q_44 < 0.5 while eps > 0.1."""
    verdicts = []
    for run in runs:
        moving = run.isel(time=slice(1, None))
        early = (moving.epsilon.sel(step=2) > 0.1).values
        apart = (moving.q43 - moving.q44).isel(time=np.flatnonzero(early))
        verdicts += [ps.positive(apart, "q43 - q44"), ps.at_most(apart, 0.5, "q43 - q44")]
        verdicts.append(ps.at_most(run.epsilon.sel(step=2).min(), 0.1, "smallest eps"))
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


@ps.claim("Induction D.3, Lemmas D.37 to D.44", ps.theory(*PATHS), id="S2.3")
def the_gap_closes_as_attention_concentrates(*runs):
    """The gap Delta peaks near 0.11 at q = 2.5 and falls below 1e-3, while eps falls all along, to 0.003."""
    verdicts = []
    for run in runs:
        gap = run.gap.sel(step=2)
        eps = run.epsilon.sel(step=2)
        top = int(np.argmax(gap.values))
        verdicts += [
            ps.within(gap.isel(time=top), 0.10, 0.12, "peak of Delta"),
            ps.within(run.q43.isel(time=top), 2.3, 2.8, "q43 at the peak"),
            ps.within(gap.isel(time=-1), -1e-3, 1e-3, "Delta at the end"),
            ps.decreasing(eps, "eps", along="time", strictly=False),
            ps.at_most(eps.isel(time=-1), 3e-3, "eps at the end"),
        ]
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


@ps.claim(
    "Lemma D.44",
    ps.theory(*PATHS),
    ps.beyond(evidence.trained["C4"], evidence.trained["C6"]),
    id="D.44",
)
def the_right_predicate_never_takes_much_more_than_half(*runs):
    """Attention on the right predicate stays below 0.5 + c, c = 0.1, and comes within 0.05 of a half."""
    most = np.array([float(run.attention_right.sel(step=2).max()) for run in runs])
    return ps.within(most, 0.45, 0.6, "largest attention") & ran_to_the_end(*runs)


@ps.claim("not in the paper: step 2 alone", ps.theory(evidence.alone), id="l2-only")
def step_two_alone_keeps_a_cyclic_task_balanced(run):
    """With the loss of step 2 only, exchanging the two clauses is a symmetry of the cyclic task: q_43 = q_44 for ever."""
    apart = ps.within(run.q43 - run.q44, -1e-9, 1e-9, "q43 - q44")
    return apart & ps.at_least(run.q43.max(), 1.0, "largest q43") & ran_to_the_end(run)


@ps.claim(
    "Theorem 4.1 (2), equation (8)",
    ps.theory(*PATHS),
    ps.beyond(
        evidence.trained["C4"],
        evidence.trained["C6"],
        expect=ps.Outcome.FAILS,
        because="6000 updates at eta/N = 0.02 stop at eps = 0.09; eps = d^-0.65 takes a time of d^4",
    ),
    id="4.1-2",
)
def attention_concentrates_polynomially(*runs):
    """eps falls below d^-0.65, and is 2 / (2 + e^q43 + e^q44) up to the off-diagonals."""
    verdicts = []
    for run in runs:
        d = spec_of(run).vocabulary
        eps = run.epsilon.sel(step=2)
        closed = 2 / (2 + np.exp(run.q43) + np.exp(run.q44))
        verdicts += [
            ps.at_most(eps.isel(time=-1) * d**0.65, 1.0, "eps d^0.65"),
            ps.agree(eps, closed, rtol=2e-3, what="eps"),
        ]
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


@ps.claim("Theorem 4.1 (2), time", ps.theory(*PATHS), id="4.1-time")
def concentration_takes_a_power_of_d(*runs):
    """eps = 2.4e-3 = d^-0.65 is reached at a flow time of 10^16.7, near d^(C_B - 1 + 0.2)."""
    verdicts = []
    for run in runs:
        spec = spec_of(run)
        time = np.interp(
            -2.4e-3, -run.epsilon.sel(step=2).values, run.log_time.values, right=np.nan
        )
        power = time / np.log10(spec.vocabulary)
        verdicts += [
            ps.within(time, 16.5, 16.9, "log10 t"),
            ps.within(power, spec.clip - 1, spec.clip - 0.5, "log_d t"),
        ]
    return ps.all_of(verdicts) & ran_to_the_end(*runs)


@ps.claim("Theorem 4.1 (1), equation (7)", ps.theory(evidence.reach), id="4.1-1")
def chains_are_followed_up_to_the_critical_length(table):
    """The last step's probability crosses a half within 15% of the L* of the mean pre-activation, 19.5 at q = 3."""
    crossed = ps.crossing(table["last"], 0.5, "down", along="chain_length")
    wide = ps.at_least(table.rollout.isel(chain_length=0), 0.99, "rollout accuracy at the shortest")
    return (
        ps.within(crossed / table.predicted, 0.85, 1.15, "crossing / L*")
        & wide
        & ps.within(table.predicted, 19.5, 19.6, "L*")
    )


@ps.claim("Dilution by longer contexts", ps.theory(evidence.dilution), id="dilution")
def dilution_follows_the_closed_form(table):
    """eps^L is the closed form to 1e-12 up to L = 10 000: its odds are (number of wrong clauses) / (e^q43 + e^q44)."""
    odds = table.summed / (1 - table.summed)
    rises = ps.increasing(table.summed, "eps", along="length")
    return (
        ps.agree(table.summed, table.closed, atol=1e-12, what="eps")
        & ps.agree(odds, table.odds, rtol=1e-10, what="odds")
        & rises
    )


claims = (
    four_scalars_carry_the_gradient,
    the_first_step_opens_a_gap_of_one_over_log_d,
    the_answer_loses_score_at_first,
    both_scores_grow_together,
    the_gap_closes_as_attention_concentrates,
    the_right_predicate_never_takes_much_more_than_half,
    step_two_alone_keeps_a_cyclic_task_balanced,
    attention_concentrates_polynomially,
    concentration_takes_a_power_of_d,
    chains_are_followed_up_to_the_critical_length,
    dilution_follows_the_closed_form,
)
