"""Numbers on the study's page that no row measures: the margin that the paper's own bounds leave."""

import math

import phasescope as ps
from phasescope.records.evidence_file import read
from phasescope.studies.regular_language import closed_forms
from phasescope.studies.regular_language.claims import recorded
from phasescope.studies.regular_language.claims.text import attention

from ..contract import not_said


def test_the_page_has_the_margin_at_unit_constants():
    margin = closed_forms.margin_certificate(6, 36.0)
    larger = [closed_forms.margin_certificate(6, 36.0 * factor) for factor in (10, 100, 1000)]
    assert max(larger) < margin
    said = f"($10^{{{math.floor(math.log10(margin))}}}$ at N = 6 and unit constants"
    assert not_said("regular_language", said) == []


def test_the_page_says_when_the_norms_of_the_gpt_double_and_how_far_its_drift_falls():
    def between(x, unit=""):
        return f"{float(x.min()):.0f} to {float(x.max()):.0f}{unit}"

    doubled, left = [], []
    for piece in (recorded.page, recorded.config):
        run = read(piece.file)
        norms = (attention(run), run.readout_norm)
        doubled.append([ps.crossing(x / x.isel(time=0), 2.0, "up") for x in norms])
        drift = run.attention_drift.mean(("layer", "head"))
        left.append(100 * drift.isel(time=slice(-5, None)).mean("time") / drift.max("time"))
    (scores, readout), (scores_config, readout_config) = doubled
    said = (
        f"the scores take {between(scores)} and {between(scores_config)} in the two settings, "
        f"the read-out {between(readout)} and {between(readout_config)}",
        f"falls to {between(left[0], ' %')} and {between(left[1], ' %')} of its largest",
    )
    assert not_said("regular_language", *said) == []
