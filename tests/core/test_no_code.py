"""Data are never code: stores, files of arrays and words of a command line run nothing, and a canary file proves it."""

from __future__ import annotations

import ast
import json
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

import phasescope as ps
from phasescope.cli import app as cli
from phasescope.cli.given_file import arrays_of
from phasescope.errors import PhasescopeError
from phasescope.records.evidence_file import read
from phasescope.store import Identity, Store
from phasescope.store.sealed import seal
from phasescope.verbs.stored_runs import stored_runs

PACKAGE = Path(ps.__file__).parent
# Modules that make objects, or run code, from what they read.
LOADERS = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "runpy", "code"}
NETWORK = {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "requests", "httpx", "aiohttp"}
# Turns the text of a module, which Python loaded already, into code that is compared and never run.
MAY_COMPILE = {PACKAGE / "identity" / "source.py"}
# One reaches the workers that a user names, and nobody else; one listens where `phasescope serve` says; one downloads a
# corpus when a user asks for it by name.
MAY_CONNECT = {PACKAGE / "cluster", PACKAGE / "page", PACKAGE / "networks" / "sources.py"}


class Canary:
    """When it is unpickled, it makes a file."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "canary"


def hostile_texts(canary: Path) -> list[bytes]:
    """What would make the canary, were it ever unpickled, evaluated, imported or parsed as YAML."""
    call = f"__import__('os').mkdir({str(canary)!r})"
    return [
        pickle.dumps(Canary(canary)),
        call.encode(),
        f'!!python/object/apply:os.mkdir ["{canary}"]'.encode(),
        json.dumps({"__reduce__": ["os.mkdir", [str(canary)]], "py/object": "os.mkdir"}).encode(),
    ]


def put(store: Store, seed: int = 0, **spec) -> Path:
    import xarray as xr

    ds = xr.Dataset({"loss": ("time", np.arange(3.0))}, {"time": np.arange(3)})
    with store.draft(Identity("mine", "arm", spec, seed)) as draft:
        draft.save({"done": 1}, [np.zeros(2)], {"loss": np.zeros(1)})
        return draft.finish(ds, {"seconds": 1.0}, {"end": [np.zeros(2)]}).folder


def look_at_everything(store: Store) -> None:
    """All that reads a store; what it cannot read is an error in words, and nothing else."""
    stored_runs(store)
    for entry in store.survey()[0]:
        for look in (store.load, lambda e: store.snapshot(e, "end"), lambda e: ps.open(e.id)):
            try:
                look(entry)
            except PhasescopeError:
                continue
    for file in store.root.rglob("*.zip"):
        try:
            read(file)
        except PhasescopeError:
            continue
    store.unfinished()
    store.repair()


def test_the_canary_sings_if_it_is_unpickled(canary):
    pickle.loads(pickle.dumps(Canary(canary)))
    assert canary.exists()


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("name", ["run.json", "records.zarr.zip", "*.safetensors", "index.json"])
def test_no_file_of_a_store_is_code(name, kind, canary, store):
    home = Store(store)
    put(home)
    home.entries()
    files = list(store.rglob(name))
    assert files
    for file in files:
        file.write_bytes(hostile_texts(canary)[kind])
    look_at_everything(home)
    assert not canary.exists()


def test_no_word_of_a_sealed_document_is_code(canary, store):
    home = Store(store)
    words = [text.decode(errors="replace") for text in hostile_texts(canary)]
    folder = put(home, **{f"word_{n}": word for n, word in enumerate(words)})
    path = folder / "run.json"
    document = json.loads(path.read_bytes())
    del document["seal"]
    manifest = {"seconds": words[1], "versions": {"jax": words[2]}, "model": "os:mkdir"}
    path.write_bytes(seal(document | {"manifest": manifest, "created": words[1]}))
    look_at_everything(home)
    assert not canary.exists()


def test_a_file_of_arrays_is_not_code(canary, tmp_path):
    np.savez(tmp_path / "given.npz", weight=np.array([Canary(canary)], object))
    (tmp_path / "given.safetensors").write_bytes(pickle.dumps(Canary(canary)))
    for file in (tmp_path / "given.npz", tmp_path / "given.safetensors"):
        with pytest.raises(PhasescopeError, match="cannot be read"):
            arrays_of(file)
    assert not canary.exists()


@pytest.mark.parametrize(
    "words",
    [
        ("run", "os:mkdir", "CALL"),
        ("run", "CALL", "arm"),
        ("run", "linear_modes", "CALL"),
        ("run", "linear_modes", "logistic", "epsilon=CALL"),
        ("run", "linear_modes", "logistic", "--preset", "CALL"),
        ("run", "linear_modes", "logistic", "--at", "CALL"),
        ("check", "linear_modes", "--claim", "CALL"),
        ("draw", "linear_modes", "--figure", "CALL"),
        ("export", "CALL", "out.nc"),
    ],
)
def test_no_word_of_a_command_is_code(words, canary, store, monkeypatch, capsys):
    call = hostile_texts(canary)[1].decode()
    monkeypatch.chdir(store.parent)
    monkeypatch.setattr(sys, "argv", ["phasescope", *(w.replace("CALL", call) for w in words)])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert (end.value.code in (2, 6), canary.exists()) == (True, False)


# --- the package itself --------------------------------------------------------------------------------------------


def faults_of(file: Path) -> list[str]:
    """What in a module could run what it reads, or reach the network."""
    found = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [node.module or ""]
        banned = LOADERS if MAY_CONNECT & {file, file.parent} else LOADERS | NETWORK
        found += [n for n in names if n.partition(".")[0] in banned]
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            unsafe_load = called in ("np.load", "numpy.load", "jnp.load")
            if unsafe_load and "allow_pickle=False" not in ast.unparse(node):
                found.append(called)
            if called == "torch.load" and "weights_only=True" not in ast.unparse(node):
                found.append(called)
            if called in ("eval", "exec", "__import__"):
                found.append(called)
            if called == "compile" and file not in MAY_COMPILE:
                found.append(called)
    return found


def test_no_module_of_the_package_can_run_what_it_reads_or_reach_the_network():
    modules = list(PACKAGE.rglob("*.py"))
    assert len(modules) > 300
    assert {str(m.relative_to(PACKAGE)): f for m in modules if (f := faults_of(m))} == {}
