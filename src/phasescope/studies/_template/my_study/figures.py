"""One function per figure."""

import phasescope as ps

from .theory import closed_form
from .training import descent


@ps.figure("Figure 1", ps.runs(descent, preset="figure_1"), ps.runs(closed_form))
def the_escape(descent, closed_form, axes):
    """A long plateau at the saddle, then a fast rise; gradient descent on the closed form."""
    axes.plot(closed_form.time, closed_form.overlap, color="0.3", ls="--", label="closed form")
    axes.plot(descent.time, descent.overlap, label="gradient descent")
    ps.shade_stages(descent, axes)
    axes.set(xlabel="time", ylabel="$w^2$")
    axes.legend()
