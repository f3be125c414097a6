"""One function per theorem: the docstring is the statement, the body its finite-size check."""

import numpy as np

import phasescope as ps

from .theory import closed_form, flow


@ps.claim("Theorem 1", ps.theory(ps.runs(flow), ps.runs(closed_form)))
def flow_follows_the_closed_form(flow, closed_form):
    """Along gradient flow w^2 is a logistic curve."""
    return ps.agree(flow.overlap, closed_form.overlap, atol=1e-6)


@ps.claim("Theorem 2", ps.theory(ps.sweeps(closed_form, start=[1e-2, 1e-3, 1e-4, 1e-5])))
def escape_time_is_logarithmic(runs):
    """The saddle is left after a time log(1 / w(0))."""
    t = ps.crossing(runs.overlap, 0.5)
    return ps.within(ps.slope(np.log(1 / t.start), t), 0.98, 1.02, "time per log(1 / w(0))")
