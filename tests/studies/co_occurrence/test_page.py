"""Numbers on the study's page that no row measures: closed forms, and one long run of a lazy network."""

import numpy as np
import pytest

from phasescope.studies.co_occurrence import study
from phasescope.studies.co_occurrence.claims import evidence
from phasescope.studies.co_occurrence.claims.frozen_attention import cost_of_freezing
from phasescope.studies.co_occurrence.closed_forms import late_time, population_late_time

from ..contract import KeptEvidence, not_said


def test_the_page_has_the_numbers_of_the_hard_margin_solution():
    few, many = late_time(48, 4), late_time(np.inf, 5)
    silent = many.scores[2, 2] / many.scores[0, 1]
    assert many.ratio == pytest.approx(1.5)
    assert few.random_parts[1] == pytest.approx(2 / 3, abs=0.005)  # "two thirds of the margin"
    said = (
        rf"$R \to 3/2$, $\kappa t \hat L \to {many.loss:.0f}$",
        f"at $n = 48$, $L = 4$: {few.ratio:.3f} and {few.loss:.2f}",
        f"like $t^{{-{min(few.exponents):.2f}}}$ against $t^{{-1}}$ at $n = 48$, $L = 4$",
        f"which is {silent:.2f} of $C_{{12}}$ for many samples at $L = 5$",
        rf"lacks the $\log^2$ of its proof, {np.log(1e8) ** 2:.0f} at $\kappa t = 10^8$",
    )
    assert not_said("co_occurrence", *said) == []


def test_the_page_has_the_numbers_of_a_small_vocabulary():
    five, sixty_one = (population_late_time(5, 3 + words) for words in (5, 61))
    assert five.ratio == pytest.approx(1 / 6)
    said = (
        rf"With 5 of them $R \to 1/6$ and their value is {five.random / five.G3:.1f} times that of $\mu_3$",
        rf"with 61, $R \to {sixty_one.ratio:.3f}$",
    )
    assert not_said("co_occurrence", *said) == []


def test_the_page_says_when_the_output_just_above_the_threshold_changes_its_side():
    request = evidence.threshold_runs[-1]  # n = 66, L = 20, to log time 80
    run = KeptEvidence(study).get(request)[0]
    output = run.test_F.sel(type=2).values
    (before,) = np.flatnonzero((output[:-1] > 0) & (output[1:] <= 0))
    around = slice(before, before + 2)
    turn = np.interp(0.0, -output[around], run.s.values[around])
    rate = -late_time(66, 20).exponents[1]
    by_law = run.s.values[before] - output[before] / rate  # straight on in log time
    assert turn == pytest.approx(by_law, abs=0.05)
    said = rf"At $n = 66$, $L = 20$ the output changes side at $\tau = e^{{{turn:.1f}}}$ only"
    assert not_said("co_occurrence", said) == []


def test_the_page_has_the_sizes_of_the_experiment_and_of_the_theorems():
    theory, figure_1 = study.specify(None), study.specify("figure1")
    common = 3
    slots = figure_1.smallest_dim - common  # as many words if all of them were different
    said = (
        f"at $n = {theory.samples}$, $L = {theory.length}$, $m_1 = {theory.neurons}$, $\\zeta = {theory.zeta:g}$",
        f"{figure_1.dim - common} words in {slots} irrelevant slots",
    )
    assert not_said("co_occurrence", *said) == []


def test_the_page_says_what_frozen_attention_costs():
    kept = KeptEvidence(study)
    costs = [
        np.sort(cost_of_freezing([kept.get(one)[0] for one in requests]).values.ravel())
        for requests in ((evidence.figure_1,), evidence.large_start)
    ]
    (least, most), largest = costs[0][[0, -1]], costs[1][-1]
    said = (
        f"frozen at its start it costs {100 * least:.1f} to {100 * most:.1f}% in the experiment and at most "
        rf"{100 * largest:.2f}% in the theorems' regime at $\zeta = 1$"
    )
    assert not_said("co_occurrence", said) == []
