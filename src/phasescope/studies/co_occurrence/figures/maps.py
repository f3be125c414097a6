"""Maps: how many samples a lazy network needs, and how fast the common word moves against the targets."""

from __future__ import annotations

import numpy as np

import phasescope as ps

from ..claims import evidence
from ..closed_forms import threshold
from ..theory import orthogonal

SAMPLES = [6 * round(n / 6) for n in np.geomspace(12, 300, 10)]
LENGTHS = [4, 5, 7, 10, 14, 20, 28, 40]
THRESHOLD = ps.sweeps(
    orthogonal,
    samples=SAMPLES,
    length=LENGTHS,
    horizon=evidence.TO_S_80,
    at=[*np.exp([20.0, 40.0, 60.0]).tolist(), evidence.TO_S_80],
    **evidence.LAZY,
)
STARTS = np.geomspace(0.01, 10.0, 7)
RATIO = ps.sweeps(
    orthogonal,
    samples=SAMPLES,
    zeta=STARTS.tolist(),
    preset="theory",
    length=4,
    width=256,
    dim=10**9,
    at=[0, 1e2, 1e4, 1e6, 1e8],
)


@ps.figure("Sample size and start (ours)", THRESHOLD, RATIO, panels=(1, 2), size=(7.8, 3.3))
def map_of_sample_sizes(lazy, runs, axes):
    """(a) Growth per log time of the output of a lazy network on new samples with one target word, which are
    negatives, from s = log(1 + tau) = 40 to 80: red, it stays wrong for ever. The line where it is 0 (black) lies on
    n = 3 (L + 1) (orange) at every length from 4 to 40: a condition on n / L alone. (b) R, how fast the common word
    falls against the targets' rise, at tau = 10^8 for L = 4 and m = 256: from 0.93 at n = 12 to 1.46 at n = 300, and
    1 between n = 12 and 18. The size zeta of the start changes it by less than 0.003 up to zeta = 1 and by 0.04 at
    zeta = 10: R does not need a small start."""
    late = lazy.sel(time=slice(np.exp(39.0), None)).isel(time=[0, -1])
    slope = late.test_F.sel(type=2, drop=True).diff("time") / late.s.diff("time")
    slope = slope.isel(time=0, drop=True).transpose("samples", "length").reset_coords(drop=True)
    ps.draw_map(
        slope,
        axes[0],
        levels=[0.0],
        label=r"growth of the output per $\log\tau$",
        cmap="RdBu_r",
        vmin=-0.5,
        vmax=0.5,
    )
    lengths = lazy.length.values.tolist()
    orange = {"color": "#E69F00", "ls": "--", "lw": 2.4, "zorder": 1.5}
    axes[0].plot([threshold(L) for L in lengths], lengths, label="$n = 3(L+1)$", **orange)
    ps.legend(axes[0], loc="lower right")
    R = runs.R.isel(time=-1, drop=True).transpose("samples", "zeta").reset_coords(drop=True)
    ps.draw_map(R, axes[1], levels=[1.0], label="$R$")
    axes[1].set(ylabel=r"$\zeta$, size of the start")


figures = (map_of_sample_sizes,)
