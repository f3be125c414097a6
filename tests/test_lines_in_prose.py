"""Lines of code that stand inside a sentence of a page, between backticks: each is carried out as it is written.

Blocks of code are run by `test_docs.py`, names and commands are looked up there.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope import Study, probes, testing
from phasescope.testing import noise_like, spoiling

ROOT = Path(__file__).parents[1]
STUDIES = "src/phasescope/studies"
LINES = [
    ("README.md", "ps.view(ds)"),
    ("README.md", 'reduce={"learned": ps.when("accuracy", at_least=1.0, how="sustained")}'),
    ("README.md", "ps.find(STUDY).bibtex"),
    (
        "CONTRIBUTING.md",
        'Study(unchecked={"Figure 10, WikiText-103": "the corpus is not offered"})',
    ),
    ("CONTRIBUTING.md", 'ps.number(run, "epsilon")'),
    ("CONTRIBUTING.md", "ps.shade_phases(axes, ends)"),
    ("CONTRIBUTING.md", "ps.shade_stages(run, axes)"),
    ("CONTRIBUTING.md", "help(spoiling)"),
    ("docs/checkpoints.md", 'ps.weights(run, out="weights.safetensors")'),
    ("docs/claims.md", "scales_like(y, x, 2, tol=0.05)"),
    ("docs/claims.md", "long.loss.sel(time=short.time) - short.loss"),
    ("docs/claims.md", "claim(noise_like(ds)).outcome"),
    ("docs/concepts.md", 'ps.Study(axes={"length": "length of a string"})'),
    ("docs/concepts.md", "phasescope.testing.fields_read_by(arm, spec)"),
    ("docs/concepts.md", "study.default_for(arm)"),
    ("docs/concepts.md", "study.specify(preset, arm, **changes)"),
    ("docs/concepts.md", "ps.reached(run)"),
    ("docs/figures.md", 'ds.progress.plot.line(x="time")'),
    ("docs/own_dynamics.md", "jax.random.fold_in(key, t)"),
    ("docs/probes.md", "lead_of_readout(readout, attention)"),
    ("docs/store.md", "ps.state(run, stage)"),
    ("docs/sweeps.md", "sw.isel(time=-1)"),
    ("docs/tutorial.md", "noise_like(ds, seed=1)"),
    ("docs/view.md", "ps.view(ds.loss)"),
    ("docs/words.md", "Ledger.turned_by(0.5, 2)"),
    ("docs/words.md", "1 - abs(spec.k)"),
    ("docs/words.md", 'ps.stated(0.01, "Lemma D.8")'),
    ("docs/words.md", """ps.released(1.92, "the authors' log", sd=0.018, n=10)"""),
    ("docs/words.md", 'ps.derived(0.25, "closed_forms.early_scores")'),
    ("docs/words.md", 'ps.chosen(0.05, "five times the error of a step")'),
]


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """What the sentences around the lines call by these names."""
    import phasescope

    study = ps.find("linear_modes")
    arm = study.arm("flow")
    run = ps.run(study, arm, store=tmp_path_factory.mktemp("store"))
    times = [0.0, 1.0, 2.0]
    _, axes = plt.subplots()
    return {
        **{
            "phasescope": phasescope,
            "ps": ps,
            "jax": jax,
            "np": np,
            "xr": xr,
            "spoiling": spoiling,
        },
        **{
            "noise_like": noise_like,
            "scales_like": ps.scales_like,
            "axes": axes,
            "ends": [2.0],
        },
        **{
            "study": study,
            "arm": arm,
            "spec": study.default_for(arm),
            "preset": None,
            "changes": {},
        },
        **{
            "run": run,
            "ds": run,
            "long": run,
            "short": run.isel(time=slice(5)),
            "STUDY": study.name,
        },
        **{
            "claim": study.claims[1],
            "key": jax.random.key(0),
            "t": 3,
            "stage": "training",
        },
        "x": xr.DataArray(np.arange(1.0, 20.0), dims="time"),
        "y": xr.DataArray(np.arange(1.0, 20.0) ** 2, dims="time"),
        "sw": ps.sweep(study, "logistic", epsilon=[1e-3, 1e-2], at=times, store=False),
        "readout": np.arange(1.0, 5.0),
        "attention": np.ones(4),
        "lead_of_readout": probes.lead_of_readout,
        "Ledger": ps.check(study, claim=study.claims[1].id, store=False),
    }


@pytest.mark.parametrize(("page", "line"), LINES, ids=[line for _, line in LINES])
def test_a_line_inside_a_sentence_is_there_and_is_carried_out(
    page, line, names, tmp_path, monkeypatch
):
    text = " ".join((ROOT / page).read_text().split())
    assert f"`{line}`" in text
    monkeypatch.chdir(tmp_path)
    if line.startswith("reduce="):
        line = f"dict({line})"
    if "Study(" in line:
        line = line.replace("ps.Study(", "Study(").replace(
            "Study(", 'Study("mine", spec, arms=(), '
        )
        names = names | {"Study": Study}
    if "spec.k" in line:
        names = names | {"spec": type("Spec", (), {"k": 0.5})}
    eval(line, names)


def test_a_log_goes_on_as_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    line = 'ps.Log("modes.csv", resume=True)'
    assert f"`{line}`" in (ROOT / "docs/own_logs.md").read_text()
    with ps.Log("modes.csv") as log:
        log(0, loss=1.0)
    with eval(line, {"ps": ps}) as log:
        log(1, loss=0.5)
    assert ps.logged("modes.csv").loss.values.tolist() == [1.0, 0.5]


def test_the_records_of_a_run_are_opened_by_the_line_of_the_page(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    line = 'xr.open_zarr(zarr.storage.ZipStore("records.zarr.zip"), consolidated=False)'
    assert f"`{line}`" in (ROOT / "docs/store.md").read_text()
    run = ps.run("linear_modes", "logistic", at=[0.0, 1.0], store=tmp_path)
    (folder,) = {path.parent for path in tmp_path.rglob("records.zarr.zip")}
    monkeypatch.chdir(folder)
    opened = eval(line, {"xr": xr, "zarr": zarr})
    np.testing.assert_array_equal(opened.loss.values, run.loss.values)


def test_the_call_that_recorded_figure_1_of_co_occurrence_fits_its_function():
    from phasescope.studies.co_occurrence.claims import evidence

    line = 'ps.record("co_occurrence", evidence.figure_1_descent, prepare=evidence.slim)'
    assert f"`{line}`" in (ROOT / STUDIES / "co_occurrence/README.md").read_text()
    inspect.signature(ps.record).bind(
        "co_occurrence", evidence.figure_1_descent, prepare=evidence.slim
    )


def test_functions_that_the_pages_name_with_their_arguments_have_them():
    """On docs/probes.md, and of `phasescope.testing`."""
    for name in ("entropy", "drift", "previous_token_score", "induction_score", "lead_of_readout"):
        arguments = ", ".join(inspect.signature(getattr(probes, name)).parameters)
        assert f"`{name}({arguments})`" in (ROOT / "docs/probes.md").read_text()
    assert next(iter(inspect.signature(testing.check_study).parameters)) == "study"
