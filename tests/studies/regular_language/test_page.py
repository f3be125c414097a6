"""Numbers on the study's page that no row measures: the margin that the paper's own bounds leave."""

import math

from phasescope.studies.regular_language import closed_forms

from ..contract import not_said


def test_the_page_has_the_margin_at_unit_constants():
    margin = closed_forms.margin_certificate(6, 36.0)
    larger = [closed_forms.margin_certificate(6, 36.0 * factor) for factor in (10, 100, 1000)]
    assert max(larger) < margin
    said = f"($10^{{{math.floor(math.log10(margin))}}}$ at N = 6 and unit constants"
    assert not_said("regular_language", said) == []
