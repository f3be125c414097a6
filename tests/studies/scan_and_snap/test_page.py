"""Numbers on the study's page that no row measures: a closed form, and mixtures beside that of the ledger."""

import re

import numpy as np
import pytest

import phasescope as ps
from phasescope.records.evidence_file import read
from phasescope.studies.scan_and_snap import closed_forms, study
from phasescope.studies.scan_and_snap.claims import recorded
from phasescope.studies.scan_and_snap.claims.attention import MIXTURES
from phasescope.studies.scan_and_snap.claims.tables.mixtures import random_mixtures
from phasescope.studies.scan_and_snap.claims.text import lowest
from phasescope.studies.scan_and_snap.data import syn

from ..contract import not_said


def test_the_page_says_where_the_speed_peaks():
    classes, outputs, rate = 10.0, 1000.0, 1.0
    peak = closed_forms.gamma_peak(classes, outputs, rate)[0]
    share = float(peak) / (classes * np.log(outputs) / rate)
    assert not_said("scan_and_snap", f"the speed peaks at {share:.2f} $t_0'$") == []


def test_the_page_says_how_many_common_logits_grow_for_other_mixtures():
    ledger = dict(MIXTURES.arguments)

    def share(distinct, shape):
        found = random_mixtures(**ledger | {"distinct": distinct, "shape": shape})
        return float((found.z_ct > 0).mean())

    most, least = share(2, 2.0), share(5, 0.5)
    said = f"{most:.0%} for two and a shape of 2, {least:.0%} for five and a shape of 0.5"
    assert not_said("scan_and_snap", said) == []


def numbers_of(claim):
    """Those of the formula of a regression, which its check compares with the runs."""
    (found,) = (c for c in study.claims if c.id == claim)
    return [float(x) for x in re.findall(r"-?\d+\.\d+", found.typed.tex)]


def test_the_page_rounds_what_regressions_compare():
    lags = numbers_of("ours-lag-numbers")[:4]  # at eta_Z / eta_Y of 0.01 to 10
    falls = np.array(numbers_of("ours-lem4-numbers")).reshape(3, 3)  # training, decoupled, (10)
    ratios = falls[2] / falls[0]
    lead = numbers_of("ours-short-sequences")[1]
    said = (
        f"the `lag` falls from {lags[0]:.2f} to {lags[-1]:.2f}",
        f"falls {min(ratios):.0f} to {max(ratios):.0f} times less than by (10)",
        f"at T = 128 the top logit is {lead:.2f} ahead",
    )
    assert not_said("scan_and_snap", *said) == []


def test_the_page_has_the_share_of_common_logits_that_grow_in_the_ledger():
    table = random_mixtures(**dict(MIXTURES.arguments))
    share = float((table.z_ct > 0).mean())
    said = f"{share:.0%} for two distinct tokens and a Gamma shape of 0.5, as in the ledger"
    assert not_said("scan_and_snap", said) == []


def test_the_page_has_the_sizes_and_the_overlap_of_syn_small():
    spec = study.specify(None)
    P = np.asarray(syn(spec).P)
    first, second = P / np.linalg.norm(P, axis=1, keepdims=True)
    said = (
        f"vocabulary of {spec.context} counts context tokens; the softmax has {spec.M:.0f} outputs",
        rf"Syn-Small starts at $\rho = {first @ second:.2f}$",
    )
    assert not_said("scan_and_snap", *said) == []


@pytest.mark.full  # eight runs of mini-batches in each precision: half a minute
def test_the_page_says_how_far_figure_6_is_from_64_bits():
    def entropies(num_last, precision):
        runs = ps.sweep(
            study,
            "sampled",
            preset="figure_6",
            num_last=num_last,
            eta_Z=[0.5, 3.0],
            ratio=[1.0, 10.0],
            precision=precision,
            keep=["dt_entropy"],
            store=False,
        )
        return runs.dt_entropy.isel(time=-1).mean("class").values

    far = [abs(entropies(n, "float32") - entropies(n, "float64")).max() for n in (1, 10)]
    assert 1e-8 < max(far) < 1e-6
    said = "entropies differ from those in float64 by less than 1e-6"
    assert not_said("scan_and_snap", said) == []


def late_drift(piece):
    """Over the last five records, over the largest, of every lane."""
    drift = lowest(read(piece.file).attention_drift)
    return drift.isel(time=slice(-5, None)).mean("time") / drift.max("time")


def test_the_page_says_how_far_attention_on_text_still_moves():
    one, three = (late_drift(piece).mean() for piece in (recorded.one_layer, recorded.three_layers))
    long = late_drift(recorded.rates)
    said = (
        f"still change at {100 * float(one):.0f} % and {100 * float(three):.0f} % of their largest drift",
        f"falls to between {100 * float(long.min()):.0f} % and {100 * float(long.max()):.0f} % of the largest",
    )
    assert not_said("scan_and_snap", *said) == []


def test_the_page_says_how_far_rates_are_apart_early():
    entropy = lowest(read(recorded.rates.file).attention_entropy)
    at_end = entropy.sel(time=2000, rate=[0.5, 1.0])
    apart = -at_end.mean("seed").diff("rate").item()
    spread = at_end.std("seed", ddof=1)
    clock = [float(entropy.sel(rate=rate, time=1000 / rate).mean()) for rate in (0.5, 1.0, 2.0)]
    assert entropy.sel(time=3000, rate=[0.5, 1.0]).mean("seed").diff("rate").item() > 0
    said = (
        f"at their end by {apart:.3f} nats between the two smallest rates, where seeds differ by "
        f"{spread.min():.2f} to {spread.max():.2f}, and by 3,000 no more",
        "the three smaller rates have {:.2f}, {:.2f} and {:.2f} nats".format(*clock),
    )
    assert not_said("scan_and_snap", *said) == []
