"""Numbers on the study's page that no row measures: a closed form, and mixtures beside that of the ledger."""

import numpy as np

from phasescope.studies.scan_and_snap import closed_forms
from phasescope.studies.scan_and_snap.claims.attention import MIXTURES
from phasescope.studies.scan_and_snap.claims.tables.mixtures import random_mixtures

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
