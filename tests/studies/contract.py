"""The contracts of `phasescope.testing`, with evidence that all files of tests share."""

import dataclasses
import hashlib
import os
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import xarray as xr

from phasescope import testing
from phasescope.claims.requests import Maps, Sweeps, Tables
from phasescope.study import Study
from phasescope.testing.row_names import row_name
from phasescope.verbs.context import Context, default_context
from phasescope.verbs.evidence import Evidence, Plain, Resolved
from phasescope.verbs.rows import chosen_claims


def kept() -> Context:
    """A context whose store all files of tests share, so that none runs again what another has run.

    It lasts as long as the session, or longer if PHASESCOPE_STORE names a place.
    """
    place = os.environ.get("PHASESCOPE_STORE") or Path(os.environ["XDG_CACHE_HOME"]) / "store"
    return default_context(place, progress=False)


def remembered(name: Any, make: Callable[[], xr.Dataset]) -> xr.Dataset:
    """What `make` gives, made once a session: all files of tests and both workers share it.

    `name` tells it from all others by what it prints.
    """
    digest = hashlib.sha256(repr(name).encode()).hexdigest()
    path = Path(os.environ["XDG_CACHE_HOME"]) / "made" / digest
    if not path.exists():
        made = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(pickle.dumps(made))
        draft.replace(path)
    return pickle.loads(path.read_bytes())


def thinned(request: Maps | Sweeps, count: int = 3) -> Maps | Sweeps:
    """The same map over a few values of each axis; fields that are tied keep theirs."""

    def few(values: Any) -> Any:
        if not isinstance(values, tuple):
            return values
        chosen = np.linspace(0, len(values) - 1, min(count, len(values))).astype(int)
        return tuple(values[i] for i in chosen)

    if isinstance(request, Maps):
        return dataclasses.replace(request, fields=tuple((k, few(v)) for k, v in request.fields))
    if request.ties:
        tied = {name for tie in request.ties for name in tie}
        axes = tuple((k, v[:count] if k in tied else few(v)) for k, v in request.axes)
        return dataclasses.replace(request, axes=axes)
    return dataclasses.replace(request, axes=tuple((k, few(v)) for k, v in request.axes))


class KeptEvidence(Evidence):
    """Evidence in the store that all files of tests share, tables included."""

    def __init__(self, study: Study) -> None:
        super().__init__(study, kept())

    def _resolve(self, request: Plain | Maps) -> Resolved:
        find = super()._resolve
        if not isinstance(request, Tables):
            return find(request)
        function = request.function
        name = (function.__module__, function.__qualname__, request.arguments)
        return remembered(name, lambda: find(request)[0]), ()


class ClaimContract(testing.ClaimContract):
    @classmethod
    def begin_evidence(cls) -> Evidence:
        return KeptEvidence(cls.study)


PAGES = Path(__file__).parents[2] / "src" / "phasescope" / "studies"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def is_measured(said: str, measured: str) -> bool:
    """Whether a number of a page, which may be a percentage, is one that a row measured, to the digits that are written."""
    number = said.removesuffix("%")
    half = 0.5000001 * 10.0 ** -len(number.partition(".")[2])
    unit = 0.01 if said.endswith("%") else 1.0
    return any(
        abs(float(found) / unit - float(number)) <= half for found in NUMBER.findall(measured)
    )


def not_said(study: str, *phrases: str) -> list[str]:
    """Of some phrases, with numbers that a test has computed, those that a study's page does not have."""
    page = " ".join((PAGES / study / "README.md").read_text().split())
    return [phrase for phrase in phrases if phrase not in page]


class VerdictContract(testing.VerdictContract):
    # Rows that `make full` alone judges, with the reason: their evidence takes longest for what it tells.
    left_to_full: ClassVar[Mapping[str, str]] = {}
    # Numbers that stand on the study's page, by the claim whose rows measure them.
    on_the_page: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # And those that its rows require, found by computing.
    required_on_the_page: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.marked = dict.fromkeys(cls.left_to_full, pytest.mark.full)

    @classmethod
    def begin_evidence(cls) -> Evidence:
        return KeptEvidence(cls.study)

    def test_rows_that_are_left_to_make_full_are_rows_of_the_study(self):
        rows = {row_name(row) for row in chosen_claims(self.study)}
        assert set(self.left_to_full) - rows == set()

    def test_numbers_of_the_page_are_what_its_rows_measured(self, judged):
        """Or require; of the rows that were judged before this test."""
        page = NUMBER.findall((PAGES / self.study.name / "README.md").read_text())
        claims = {claim.id for claim in self.study.claims}
        for table, of in ((self.on_the_page, "measured"), (self.required_on_the_page, "required")):
            assert set(table) - claims == set()
            for claim, numbers in table.items():
                assert [x for x in numbers if x.removesuffix("%") not in page] == [], claim
                found = [getattr(row, of) for row in judged if row.claim == claim]
                unlike = [x for x in numbers if found and not is_measured(x, "; ".join(found))]
                assert unlike == [], (claim, found)


class FigureContract(testing.FigureContract):
    pass
