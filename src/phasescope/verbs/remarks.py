"""remarks: what an author should know of a study before its ledger is believed. Nothing is compiled or run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

from ..claims.requests import Maps, Tables
from ..engine.job import Job
from ..errors import PhasescopeError
from ..plan.given import GivenArm
from ..plan.plan import Arm, DeclaredArm
from ..spec import Spec
from ..study import Study
from .regimes import plain

TINY = "tiny"  # the preset at which arms are tried


def small_spec(study: Study, arm: Arm) -> Spec:
    """The preset `tiny` of an arm, or its default numbers if there is none."""
    return study.presets_for(arm).get(TINY, study.default_for(arm))


def remarks(study: Study) -> list[str]:
    """One sentence for each arm that is not listed or cannot be planned, and each claim without a statement."""
    return [*_unlisted(study), *_unstated(study), *_unplanned(study)]


def _unlisted(study: Study) -> Iterator[str]:
    """Arms that are defined in the study's modules, or asked for by a claim, and are not arms of the study."""
    for name in unlisted_arms(study):
        yield f"{study.name}: the arm {name} is not listed in Study(arms=...): nobody can run it by its name"


def unlisted_arms(study: Study) -> list[str]:
    """The names of the arms that are defined or asked for, and are not arms of the study."""
    defined = [
        value
        for module in _modules(study)
        for value in vars(module).values()
        if isinstance(value, DeclaredArm) and value.__module__ == module.__name__
    ]
    missing = [arm for arm in (*defined, *_asked(study)) if arm not in study.arms]
    return sorted({arm.__name__ for arm in missing})


def _asked(study: Study) -> Iterator[Arm]:
    """The arms of which a claim or a figure asks for runs."""
    asked = [r for claim in study.claims for regime in claim.regimes for r in regime.evidence]
    for figure in study.figures:  # a map asks for what its claim asks for
        asked += [request for request in figure.evidence if not isinstance(request, Maps)]
    for request in asked:
        for full in (False, True):
            one = plain(request, full)
            if not isinstance(one, Tables):
                yield one.arm.function if isinstance(one.arm, GivenArm) else one.arm


def _modules(study: Study) -> list[ModuleType]:
    """The modules that the study is written in; none if they hold other studies too, or this one is not there."""
    parts = [*study.arms, *(c.check for c in study.claims), *(f.draw for f in study.figures)]
    names = {part.__module__ for part in (*parts, *map(type, study.defaults))}
    package = _common_package(names)
    if package:
        names |= {name for name in sys.modules if f"{name}.".startswith(f"{package}.")}
    modules = [sys.modules[name] for name in sorted(names) if name in sys.modules]
    studies = {id(x) for m in modules for x in vars(m).values() if isinstance(x, Study)}
    return modules if studies == {id(study)} else []


def _common_package(names: set[str]) -> str:
    """The package that all these modules are of; empty if there is none."""
    common = []
    for words in zip(*(name.split(".") for name in names), strict=False):
        if len(set(words)) > 1:
            break
        common.append(words[0])
    return ".".join(common)


def _unstated(study: Study) -> Iterator[str]:
    for claim in study.claims:
        if not claim.statement:
            yield f"{study.name}: claim {claim.id} has no docstring, which is its statement"


def _unplanned(study: Study) -> Iterator[str]:
    """Arms that cannot be planned at the small spec, of which tests are made: its record times do not fit, say."""
    for arm in study.arms:
        at = f'the preset "{TINY}"' if TINY in study.presets_for(arm) else "the default numbers"
        try:
            Job(arm, small_spec(study, arm)).plan()
        except PhasescopeError as error:
            yield f"{study.name}: the arm {arm.__name__} cannot be planned at {at}: {str(error).rstrip('.')}"
