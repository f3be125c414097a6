"""One name is one quantity: an observable has the same description in every arm of a study."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import xarray as xr

from ..engine.job import Job, observed
from ..plan.observables import caption
from ..plan.plan import Arm
from ..study import Study
from ..verbs.remarks import small_spec

WORDS = ("symbol", "long_name", "units")
Description = dict[str, str]


def declared_descriptions(study: Study, arm: Arm) -> dict[str, Description]:
    """What the classes that an arm measures and inspects say of each observable; nothing is run."""
    found = {}
    for cls in observed(Job(arm, small_spec(study, arm))):
        if cls is not None:
            found |= {f.name: caption(f.metadata) for f in dataclasses.fields(cls)}
    return found


def recorded_descriptions(ds: xr.Dataset) -> dict[str, Description]:
    """What a dataset says of each variable, derived ones included."""
    return {
        str(name): {word: str(x.attrs[word]) for word in WORDS if x.attrs.get(word)}
        for name, x in ds.data_vars.items()
    }


def disagreements(by_arm: Mapping[str, Mapping[str, Description]]) -> Iterator[str]:
    """A sentence for each observable that an arm describes otherwise than an arm before it."""
    first: dict[str, tuple[str, Description]] = {}
    for arm, described in by_arm.items():
        for name, words in described.items():
            who, known = first.setdefault(name, (arm, words))
            if known != words:
                yield (
                    f'arms {who} and {arm} describe "{name}" differently, {known} and {words}: '
                    "give two quantities two names, or one quantity one description"
                )
