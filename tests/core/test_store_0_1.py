"""A store that version 0.1 wrote is read by every later version, with the numbers that are written down here.

`data/store_0_1` holds, of the example `linear_modes`: two runs, one block of a sweep, and a run that was stopped.
The expected numbers are computed here, from the closed form and from the recursion of gradient descent.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from phasescope.store import Store

KEPT = Path(__file__).with_name("data") / "store_0_1"
DESCENT = "linear_modes/descent/26b6f7305c254154"
LOGISTIC = "linear_modes/logistic/a6cd32b65684aa2e"
SWEPT = "linear_modes/logistic/d644f3ea7fad87da"
STOPPED = "linear_modes/descent/6cfc69c731ba5851"
STRENGTHS = np.array([3.0, 2.0, 1.0])
CONTENT_OF_PROGRESS = "510a86e263eef82b0800ef11aeebb5c87b26f2d8462ac8e4deb1b721a0718260"


@pytest.fixture
def store(tmp_path) -> Store:
    shutil.copytree(KEPT, tmp_path / "runs")
    return Store(tmp_path / "runs")


def entry_of(store: Store, name: str):
    [entry] = [e for e in store.entries() if e.id == name]
    return entry


def logistic(epsilon: float, times: list[float]) -> np.ndarray:
    """The share a_i b_i / s_i of every mode, one row a time."""
    t = np.array(times)[:, None]
    return 1 / (1 + (STRENGTHS / epsilon - 1) * np.exp(-2 * STRENGTHS * t))


def descended(steps: int, eta: float, epsilon: float = 1e-3) -> np.ndarray:
    """The weight a_i = b_i of every mode after each step of gradient descent."""
    weight = np.full(3, np.sqrt(epsilon))
    path = [weight]
    for _ in range(steps):
        weight = weight + eta * (STRENGTHS - weight**2) * weight
        path.append(weight)
    return np.array(path)


def test_its_runs_are_listed(store):
    entries, problems = store.survey()
    assert problems == []
    assert sorted(e.id for e in entries) == [DESCENT, LOGISTIC, SWEPT]
    entry = entry_of(store, DESCENT)
    assert entry.identity.digest == entry.digest
    assert store.find(entry.identity) == entry
    assert (entry.seed, entry.status, entry.manifest["seconds"]) == (3, "finished", 0.327)
    assert entry.spec == {"epsilon": 0.001, "eta": 0.05, "modes": 3, "steps": 20}
    assert entry.content["progress"]["sha256"] == CONTENT_OF_PROGRESS
    assert entry_of(store, LOGISTIC).at == (0.0, 0.5, 1.0, 2.0, 5.0)


def test_its_records_are_the_numbers_that_were_computed(store):
    ds = store.load(entry_of(store, DESCENT))
    np.testing.assert_array_equal(ds["time"], np.arange(21.0))
    expected = descended(20, eta=0.05) ** 2 / STRENGTHS
    np.testing.assert_allclose(ds["progress"], expected, rtol=1e-12)
    ds = store.load(entry_of(store, LOGISTIC))
    np.testing.assert_allclose(ds["progress"], logistic(1e-3, [0, 0.5, 1, 2, 5]), rtol=1e-12)


def test_its_block_of_a_sweep_is_read_lane_by_lane(store):
    entry = entry_of(store, SWEPT)
    assert (entry.width, entry.lanes) == (4, {"epsilon": (0.01, 0.001, 0.0001, 0.0001)})
    progress = store.load(entry)["progress"]
    for lane, epsilon in enumerate([1e-2, 1e-3, 1e-4, 1e-4]):
        np.testing.assert_allclose(progress.isel(lane=lane), logistic(epsilon, [1, 2]), rtol=1e-12)


def test_its_snapshots_are_read(store):
    weights = store.snapshot(entry_of(store, DESCENT), "training")
    for weight in weights:
        np.testing.assert_allclose(weight, descended(20, eta=0.05)[-1], rtol=1e-12)
    assert len(weights) == 2


def test_its_unfinished_run_is_listed_and_goes_on(store):
    [left] = store.unfinished()
    assert (left.id, left.running) == (STOPPED, False)
    assert left.position == {"local": 192.0, "offset": 0.0, "stage": 0}
    assert left.identity is not None
    assert (left.identity.digest, left.identity.seed) == (STOPPED.split("/")[-1], 1)
    with store.draft(left.identity) as draft:
        resumed = draft.resume()
    assert resumed is not None
    assert resumed.position == left.position
    assert len(resumed.parts) == 3
    for leaf in resumed.leaves[:2]:
        np.testing.assert_allclose(leaf, descended(192, eta=0.05)[-1], rtol=1e-9)


def test_repair_finds_nothing_wrong_with_it(store):
    report = store.repair()
    assert (report.checked, report.damaged, report.newer, report.alike) == (3, [], [], [])
    assert sorted(e.id for e in store.entries()) == [DESCENT, LOGISTIC, SWEPT]
    assert [u.id for u in store.unfinished()] == [STOPPED]
