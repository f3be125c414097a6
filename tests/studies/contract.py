"""The contracts of `phasescope.testing`, with runs in a store that all files of tests share."""

import os
from pathlib import Path

from phasescope import testing
from phasescope.verbs.context import Context, default_context


def kept() -> Context:
    """A context whose store all files of tests share, so that none runs again what another has run.

    It lasts as long as the session, or longer if PHASESCOPE_STORE names a place.
    """
    place = os.environ.get("PHASESCOPE_STORE") or Path(os.environ["XDG_CACHE_HOME"]) / "store"
    return default_context(place, progress=False)


class ClaimContract(testing.ClaimContract):
    context = staticmethod(kept)


class VerdictContract(testing.VerdictContract):
    context = staticmethod(kept)


class FigureContract(testing.FigureContract):
    pass
