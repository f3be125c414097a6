"""The numbers of one run, and named sets of them."""

import phasescope as ps


class Spec(ps.Spec):
    """Floats may be swept inside one program; every other field shapes it."""

    start: float = ps.field(1e-3, symbol="w(0)", doc="the weight at the start", above=0, below=1)
    eta: float = ps.field(0.01, symbol=r"\eta", doc="learning rate", above=0)
    steps: int = ps.field(1500, doc="number of updates", at_least=1, traced=True)
    noise: float = ps.field(0.5, symbol=r"\sigma", doc="noise in a gradient", at_least=0)
    horizon: float = ps.field(15.0, doc="end of the flow", above=0)


default = Spec()
figure_1 = Spec(start=1e-3, eta=0.01, steps=1500)
tiny = Spec(steps=50, horizon=2.0)
