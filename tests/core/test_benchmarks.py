"""The benchmark's contestants do the same thing; their speed is not tested here."""

import importlib
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import phasescope as ps

FOLDER = Path(__file__).parents[2] / "benchmarks"
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="the C loop needs gcc")


@pytest.fixture
def module(monkeypatch):
    """Import a file of benchmarks/, which is no package."""
    monkeypatch.syspath_prepend(str(FOLDER))
    names = {path.stem for path in FOLDER.glob("*.py")}
    yield importlib.import_module
    for name in names & set(sys.modules):
        del sys.modules[name]


@needs_gcc
@pytest.mark.parametrize("block", [1, 8])
def test_the_c_loop_follows_the_symmetric_arm(module, block):
    lam, at = np.linspace(2, 18, 8), [1, 10, 20, 60]
    loss, scores = module("c_loop").compiled(6, block)(lam, 0.5, 60, 20, at)
    ds = ps.sweep(
        "regular_language",
        "symmetric",
        lam=lam,
        eta=0.5,
        switch=20,
        steps=60,
        at=at,
        store=False,
        progress=False,
    )
    np.testing.assert_allclose(loss, ds.loss.transpose("time", "lam"), rtol=1e-12)
    np.testing.assert_allclose(
        scores, ds.token_score.isel(time=-1).transpose("position", "lam"), rtol=1e-10, atol=1e-14
    )


@needs_gcc
def test_the_c_loop_wants_whole_blocks(module):
    with pytest.raises(ValueError, match="multiple of 8"):
        module("c_loop").compiled(6, 8)([2.0] * 9, 0.1, 1, 0, [1])


def test_the_eager_loop_follows_the_exhaustive_arm(module):
    pytest.importorskip("torch", reason="pip install 'phasescope[bench]'")
    torch_loop, at = module("torch_regular_language"), [1, 10, 20, 60]
    ds = ps.run(
        "regular_language",
        "exhaustive",
        eta=0.5,
        switch=20,
        steps=60,
        at=at,
        store=False,
        progress=False,
    )
    for style in torch_loop.STYLES:
        log = torch_loop.train(61, eta=0.5, switch=20, style=style)[0]
        np.testing.assert_allclose(np.array(log.loss)[at], ds.loss, rtol=1e-12)
        np.testing.assert_allclose(np.array(log.norm)[at], ds.u_norm, rtol=1e-12)
        np.testing.assert_allclose(
            np.array(log.scores)[at][:, ::2], ds.token_score, rtol=1e-10, atol=1e-14
        )
        first = ds.sel(length=3).isel(position=slice(3))
        aaa, aab = np.array(log.attention)[at][:, 0, :3], np.array(log.attention)[at][:, 1, :3]
        np.testing.assert_allclose(aaa, first.attention_match, rtol=1e-12)
        np.testing.assert_allclose(aab, first.attention_differ, rtol=1e-12)


@pytest.mark.parametrize("last", [2000, 10_000])
def test_record_steps_are_100_different_ones(module, last):
    steps = module("harness").record_steps(last)
    assert len(set(steps)) == 100
    assert steps[-1] == last
    assert min(steps) >= 1


def test_paths_of_which_one_is_nan_differ(module):
    difference = module("fused_lanes").largest_difference
    plain = xr.Dataset({"loss": ("lam", [1.0, 2.0, np.nan])})
    assert difference(plain, plain, ["loss"]) == 0
    assert difference(plain * 1.5, plain, ["loss"]) == 0.5
    assert difference(plain.fillna(3.0), plain, ["loss"]) == np.inf
    assert difference(plain, plain.fillna(3.0), ["loss"]) == np.inf


def test_a_million_lanes_are_measured_as_32_here(module):
    lanes = module("fused_lanes")
    table = module("harness").Table()
    size = lanes.size(32, 40)
    lanes.symmetric(table, size)
    lanes.reduced(table, size)
    lines = {(line["section"], line["name"]): line for line in table.lines}
    assert lines["symmetric", "largest relative difference to the ordinary path"]["value"] < 1e-12
    records = lines["symmetric", "brought back"]["value"]
    assert 0 < 5 * lines["reduced", "brought back"]["value"] < records
    assert lines["symmetric", "seconds on the device"]["value"] > 0
    assert table.missed == []
