"""Numbers on the study's page that no row measures: closed forms at the setting of Figure 1."""

import numpy as np

import phasescope as ps
from phasescope.records.evidence_file import read
from phasescope.studies.lazy_to_rich.claims import evidence, recorded
from phasescope.studies.lazy_to_rich.claims.figure_2 import growth
from phasescope.studies.lazy_to_rich.closed_forms import largest_target, plateau_share
from phasescope.studies.lazy_to_rich.spec import Spec, presets

from ..contract import not_said


def test_the_page_has_the_numbers_of_figure_1():
    figure_1 = Spec()  # the defaults are its setting
    assert (figure_1.length, figure_1.sigma, figure_1.w_star) == (40, 0.01, 0.49)
    share = plateau_share(figure_1.w_star)
    keys = figure_1.length - 3
    said = (
        rf"$1-\sqrt{{1-2w^{{\star4}}}}$ of the loss, {100 * share:.1f} % there",
        f"{100 * (1 - share):.0f} % of the induction head's loss is gone",
        rf"for $w^\star < c$ with a $c$ that is {largest_target():.3f}",
        rf"is more than ${0.01 * figure_1.w_star:.4f}$ before training begins",
        rf"$(L-3)e^{{-(L-3)\sigma}} < 10^{{-4}}$, where it is {keys * np.exp(-keys * figure_1.sigma):.0f}",
    )
    assert not_said("lazy_to_rich", *said) == []


def test_the_page_says_how_much_of_the_4_gram_stage_one_leaves():
    slope = 0.9404  # ours-stage1-end measures it
    said = f"end at a slope of {slope:.2f}, which leaves {100 * np.exp(-2 * slope):.0f} % of the 4-gram's loss for ever"
    assert not_said("lazy_to_rich", said) == []


def test_the_page_says_how_many_steps_are_taken_by_default():
    small, full = evidence.figure_1.small, evidence.figure_1.full
    (few, batch), whole = (dict(small.changes)[k] for k in ("steps", "batch")), presets["figure_1"]
    assert batch == whole.batch / 4
    assert "steps" not in dict(full.changes)
    said = f"with a quarter of the batch and for {few:,} of the {whole.steps:,} steps"
    assert not_said("lazy_to_rich", said) == []


def test_the_page_says_where_the_second_layer_of_figure_2_looks():
    run = read(recorded.figure_2.file)
    slopes = run.slope.isel(time=-1, layer=-1)
    back = int(ps.number(run, "context")) // 2 - 1
    assert np.exp(-np.float32(slopes.min() * back)) == 0
    said = f"its slopes end at {slopes.min():.1f} to {slopes.max():.1f}, which leave nothing for the {back} tokens back"
    assert not_said("lazy_to_rich", said) == []


def test_the_page_says_where_a_power_is_not_told_from_an_exponential():
    run = read(recorded.figure_2.file)
    line, power = [], []
    for seed in run.seed.values:
        grown = growth(run).sel(seed=seed)
        ends = [float(ps.crossing(grown, level, "up")) for level in (1e-4, 1e-2)]
        part = grown.where((run.time >= ends[0]) & (run.time <= ends[1]), drop=True)
        line.append(np.corrcoef(part.time, np.log(part))[0, 1] ** 2)
        power.append(np.corrcoef(np.log(part.time), np.log(part))[0, 1] ** 2)
    said = f"($R^2$ of {power[0]:.3f} and {power[1]:.3f} against {line[0]:.3f} and {line[1]:.3f})"
    assert not_said("lazy_to_rich", said) == []


def test_the_page_names_the_guard_of_figure_2_that_is_missed():
    loss = read(recorded.figure_2_norm.file).training_loss.transpose("time", "seed").values
    rises = (loss / np.minimum.accumulate(loss)).max(0)
    assert sum(rises > 1.2) == 1
    said = f"the training loss of one seed is once {rises.max():.3f} times its least so far"
    assert not_said("lazy_to_rich", said) == []
