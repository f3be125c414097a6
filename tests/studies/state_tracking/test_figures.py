"""Every figure says what it shows and draws it, here on small or made-up evidence."""

import io

import numpy as np
import pytest
import xarray as xr

from phasescope.claims.requests import Runs, Sized
from phasescope.studies.state_tracking import study
from phasescope.studies.state_tracking.figures import maps
from phasescope.studies.state_tracking.figures.attention import attention_map

from ..contract import FigureContract, KeptEvidence, thinned
from .stand_ins import stand_in

FIGURES = {figure.id: figure for figure in study.figures}


def small(request, evidence):
    """The stand-in, with what a drawing needs beyond a claim."""
    if isinstance(request, Sized):
        request = request.small
    if request == maps.SWEEP:
        return evidence.get(thinned(request))[0]
    ds = stand_in(request, evidence)
    if isinstance(request, Runs) and request.arm.__name__ == "features" and "log_time" not in ds:
        return ds.assign(log_time=("time", np.linspace(5.0, 40.0, ds.sizes["time"])))
    return ds


@pytest.fixture(scope="class")
def drawn():
    """From a figure's id to its drawing."""
    evidence = KeptEvidence(study)
    known = {}

    def draw(id):
        if id not in known:
            known[id] = FIGURES[id].render(
                *(small(request, evidence) for request in FIGURES[id].evidence)
            )
        return known[id]

    return draw


class TestFigures(FigureContract):
    study = study
    shared_labels = ()
    typed = dict.fromkeys(
        ("6.05", "13.9", "3.95"), "C_B - E_1 of the proof, and E_1 at the two C_B"
    ) | {
        "18.5": "the largest E_1 of the sweep",
        "37.5": "the largest C_B of the sweep",
    }

    def test_it_can_be_saved(self, figure, drawn):
        page = io.BytesIO()
        drawn(figure.id).savefig(page, format="png")
        assert page.tell() > 10_000


def test_an_attention_map_has_rows_that_sum_to_one_and_two_bright_cells():
    at = xr.Dataset({"q43": 3.0, "o43": 0.0, "q44": 3.0, "o44": 0.0})
    found = attention_map(at, 5)
    assert np.allclose(np.nansum(found, axis=1), 1.0)
    brightest = np.argsort(np.nan_to_num(found), axis=1)[:, -2:]
    assert [sorted(row) for row in brightest.tolist()] == [[n, 5 + n] for n in range(5)]
    assert np.isnan(found[0, 6:]).all()
