"""Names in a dataset: no field of a spec may be called like an axis or a quantity that an arm records."""

from __future__ import annotations

from collections.abc import Iterable

from ..engine.job import Job, observed
from ..errors import SpecError
from ..plan.observables import axes
from ..plan.plan import lane_fields
from .derive import UNDERIVED

# What every dataset has, or may have, whatever is observed.
ALWAYS = {
    "time": "axis",
    "lane": "axis",
    "stage_end": "axis",
    "stage": "coordinate",
    "diverged_at": "coordinate",
    UNDERIVED: "coordinate",
}


def names_of(job: Job) -> dict[str, str]:
    """The names that a run's dataset will have, each with what it names: axis, coordinate or observable."""
    names = dict(ALWAYS)
    for seen in observed(job):
        if seen is not None:
            shapes = axes(seen)
            names |= dict.fromkeys(shapes, "observable")
            names |= {dim: "axis" for dims in shapes.values() for dim in dims}
    return names | dict.fromkeys(job.plan().coords, "axis")


def check_clashes(study: str, job: Job, fields: Iterable[str]) -> None:
    """Refuse fields that are to become coordinates of a dataset which uses their names already."""
    names = names_of(job)
    for field in fields:
        if field in names:
            article = "a" if names[field] == "coordinate" else "an"
            raise SpecError(
                f"{study}.{job.arm.__name__}: the field {field} is also the name of {article} {names[field]} of the "
                "dataset, which can hold only one of them; rename one of the two in the study."
            )


def check_run(study: str, job: Job) -> None:
    """Before a run: every observable has a shape, and no number that goes into the dataset takes another's name."""
    given = [k for k in lane_fields(job.arm, job.spec) if getattr(job.spec, k) is not None]
    check_clashes(study, job, dict.fromkeys([*given, *job.columns]))
