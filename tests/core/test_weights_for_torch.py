"""The weights of a run of ours, in a file that torch loads."""

from __future__ import annotations

import numpy as np
import pytest

import phasescope as ps


def test_torch_loads_the_state_that_a_run_ended_with(tmp_path, store):
    pytest.importorskip("torch")
    from safetensors.torch import load_file

    run = ps.run("linear_modes", "descent", steps=10, progress=False)
    arrays = ps.state(run, out=tmp_path / "weights.safetensors")
    tensors = load_file(tmp_path / "weights.safetensors")
    assert set(tensors) == set(arrays)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(tensor.numpy(), arrays[name])
