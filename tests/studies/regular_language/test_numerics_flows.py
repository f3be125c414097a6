"""What the flow arms derive from the record at the end of phase 1, whatever the step size."""

import numpy as np
import pytest

import phasescope as ps

SHORT = {"max_length": 4, "switch": 11, "steps": 40, "store": False, "progress": False}


@pytest.mark.parametrize("arm", ["log_flow", "frozen"])
@pytest.mark.parametrize("eta", [0.1, 1 / 7, 4 ** (-4 / 3)], ids=["1/10", "1/7", "theorem"])
def test_a_flow_knows_its_margin_whatever_the_step(arm, eta):
    run = ps.run("regular_language", arm, eta=eta, **SHORT)
    split = run.isel(time=int(np.flatnonzero(run.stage == 0)[-1]))
    assert float(split.time) == pytest.approx(11 * eta, rel=1e-14)
    assert float(split.W_drift) == 0.0
    assert np.isfinite(run.margin_norm)


def test_a_run_without_a_record_of_the_switch_has_no_margin():
    run = ps.run("regular_language", "symmetric", **SHORT | {"switch": 50})
    assert "W_drift" not in run
    assert "margin_norm" not in run
