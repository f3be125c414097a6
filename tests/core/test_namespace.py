"""The public vocabulary: counted, loadable, and free of charge to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import phasescope as ps
from phasescope import errors

STUB = Path(ps.__file__).with_name("__init__.pyi").read_text()
NAMES = [line.rpartition(" as ")[2] for line in STUB.splitlines() if " as " in line]


def test_adding_a_public_name_is_a_decision():
    assert len(NAMES) == 133


def test_the_namespace_is_what_the_stub_lists():
    assert sorted(ps.__all__) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_loads(name):
    assert getattr(ps, name) is not None


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_says_what_it_is(name):
    assert getattr(ps, name).__doc__


def test_whatever_phasescope_raises_on_purpose_has_a_public_name():
    raised = {
        n
        for n, x in vars(errors).items()
        if isinstance(x, type) and issubclass(x, errors.PhasescopeError)
    }
    assert raised <= set(NAMES)


def test_importing_the_package_imports_nothing_heavy():
    script = "import sys, phasescope; print(sorted({'jax', 'xarray', 'matplotlib', 'dask'} & set(sys.modules)))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
        == "[]\n"
    )


def test_a_name_that_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError):
        _ = ps.trajectory
