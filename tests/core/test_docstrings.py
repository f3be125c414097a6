"""Every public name says what it takes and gives, and shows it: the examples of the docstrings are run."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import phasescope as ps

PUBLIC = {name: getattr(ps, name) for name in sorted(ps.__all__)}
CALLABLE = [name for name, value in PUBLIC.items() if callable(value)]
# Classes whose fields are told in prose, and one that takes nothing.
WITHOUT_ARGUMENTS = {"Dynamics", "Observables", "Outcome", "Row", "Spec", "Word", "exact_numbers"}


def example_of(name: str) -> doctest.DocTest:
    namespace = {"ps": ps, "np": np, "xr": xr, "jax": jax, "__name__": "example"}
    text = inspect.cleandoc(PUBLIC[name].__doc__ or "")
    return doctest.DocTestParser().get_doctest(text, namespace, name, None, None)


@pytest.mark.parametrize("name", CALLABLE)
def test_every_public_name_shows_an_example(name):
    assert example_of(name).examples


@pytest.mark.parametrize("name", CALLABLE)
def test_the_example_of_a_public_name_runs_and_is_right(
    name, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        example_of(name), out=said.append
    )
    assert outcome.failed == 0, "".join(said)


@pytest.mark.parametrize("name", [n for n in CALLABLE if n not in WITHOUT_ARGUMENTS])
def test_what_a_public_name_takes_is_said_word_by_word(name):
    value = PUBLIC[name]
    if isinstance(value, type) and issubclass(value, Exception):
        return
    text = inspect.getdoc(value) or ""
    missing = [
        parameter.name
        for parameter in inspect.signature(value).parameters.values()
        if not re.search(rf"`{parameter.name}`", text)
    ]
    assert missing == []
    assert "**Arguments:**" in text


@pytest.mark.parametrize("name", [n for n in CALLABLE if inspect.isfunction(PUBLIC[n])])
def test_a_function_says_what_it_returns(name):
    returns = inspect.signature(PUBLIC[name]).return_annotation
    assert returns in (None, "None") or "**Returns:**" in (PUBLIC[name].__doc__ or "")
