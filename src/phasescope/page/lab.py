"""Runs that the page asks for: quick ones answered at once and kept nowhere, others as jobs that land in the store."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ..engine.job import Job
from ..errors import SpecError
from ..identity import Unidentified
from ..plan.plan import Arm, fields_read
from ..records.dataset import clock
from ..records.reduced import without_records
from ..report.mathematics import formula
from ..study import Study
from ..verbs.context import Context, Stopped
from ..verbs.labels import label, without_a_mark_of_nothing
from ..verbs.progress import Meter
from ..verbs.run import find_or_run, run_identity
from ..verbs.validate import requested_job
from .level_of_detail import chosen_records
from .preview import Part, Previews
from .run_view import TIMES, moments, phases, times_of
from .speeds import Speeds
from .studies import by_name, may_be_quick
from .wire import extremes, packed, plain

PATIENCE = 5.0  # seconds, from the first steps on
QUICK = 1.0  # seconds of an answer, as measured on a machine that may be busy
AT_ONCE = (
    0.08  # seconds that a slider waits for; an arm that takes longer is previewed while it moves
)
MOST_VALUES = 2**20
POINTS = 1000


def asked(document: Any) -> tuple[Study, Job]:
    """The run that a request describes, checked; names are those of installed studies, numbers those of its Spec."""
    if not isinstance(document, dict):
        raise SpecError('a request is an object such as {"study": ..., "arm": ...}.')
    study = by_name(document.get("study"))
    arm = document.get("arm")
    preset = document.get("preset") or None
    fields = document.get("fields") or {}
    if not isinstance(arm, str) or not isinstance(fields, dict):
        raise SpecError("an arm is a name, and fields are an object of numbers by name.")
    if preset is not None and not isinstance(preset, str):
        raise SpecError("a preset is a name.")
    keep = document.get("keep")
    if keep is not None and not (isinstance(keep, list) and all(isinstance(k, str) for k in keep)):
        raise SpecError("keep is a list of names.")
    chosen = study.arm(arm)
    read = fields_read(chosen, study.default_for(chosen))
    changes = {k: v for k, v in fields.items() if k in read or k not in study.fields}
    for name, value in changes.items():
        _check_names_no_file(name, value)
    seed = document.get("seed") or 0
    if type(seed) is not int:
        raise SpecError("a seed is a whole number.")
    job = requested_job(study, chosen, preset=preset, seed=seed, keep=keep, changes=changes)
    return study, job


def _check_names_no_file(name: str, value: Any) -> None:
    """A field may be a text that is looked for on this machine, such as a corpus: the page knows it by its name alone.

    **Raises:** `SpecError` for the path of a file.
    """
    if isinstance(value, str) and (set(value) & set("/\\\0") or os.path.isfile(value)):
        raise SpecError(
            f"the page takes no path of a file, got {name}={value[:50]!r}: that is for `phasescope run`."
        )


class Lab:
    """Quick runs, answered one at a time and kept nowhere. What is known of their code is kept between requests."""

    def __init__(self) -> None:
        self.speeds = Speeds()
        self._codes: dict[Any, Any] = {}
        self._warned: set[str] = set()
        self._warm: set[str] = set()
        self._previews = Previews()

    def is_quick(self, study: Study, arm: Arm) -> bool:
        """Whether an arm answers while a slider moves: as it was measured, else as far as its plan tells."""
        measured = self.speeds.get(f"{study.name}.{arm.__name__}")
        if measured is not None:
            return measured <= QUICK
        return may_be_quick(arm, study.default_for(arm))

    def answered(self, document: Any) -> bytes:
        """All quantities of a quick run in one answer; one that takes too long is a `SpecError` that says what to do.

        With `preview` in the document an arm that takes longer than a slider waits answers with the beginning of the run.
        """
        study, job = asked(document)
        name = f"{study.name}.{job.arm.__name__}"
        if not may_be_quick(job.arm, job.spec):
            raise SpecError(f"{name} is trained, or makes very many steps: start it as a run.")
        if document.get("preview") is True and (self.speeds.get(name) or 0.0) > AT_ONCE:
            preview = self._preview(study, job, name)
            if preview is not None:
                return preview
        began = time.monotonic()
        stop = threading.Event()
        with _patience(stop) as meter:
            context = Context(meter=meter, stop=stop, codes=self._codes, warned=self._warned)
            try:
                found = find_or_run(study, job, context, throw=False)
            except Stopped:
                self.speeds.add(name, PATIENCE)
                raise SpecError(
                    f"{name} takes longer than {PATIENCE:g} s at these numbers: start it as a run."
                ) from None
        shown = without_a_mark_of_nothing(without_records(found.dataset, job.wanted.reduce))
        answer = _packed(shown)
        if name in self._warm:  # the first answer waits for the compiler
            self.speeds.add(name, time.monotonic() - began)
        self._warm.add(name)
        return answer

    def _preview(self, study: Study, job: Job, name: str) -> bytes | None:
        """The beginning of a run of an arm that was compiled before; None if there is none to show."""
        if name not in self._warm:
            return None
        context = Context(codes=self._codes, warned=self._warned)
        with contextlib.suppress(Unidentified):  # then its program has no name but the arm's
            job = job.with_code(run_identity(study, job, context, 1).source)
        found = self._previews.made(job, name)
        if found is None:
            return None
        ds, part = found
        said = {
            "study": study.name,
            "arm": job.arm.__name__,
            "status": "preview",
            **clock(job.plan()),
        }
        return _packed(label(ds.assign_attrs(said), study), part)


@contextlib.contextmanager
def _patience(stop: threading.Event) -> Iterator[Meter]:
    """A meter that sets `stop` when a run takes too long, counted from its first steps: programs are compiled once."""
    timers: list[threading.Timer] = []

    @contextlib.contextmanager
    def meter(label: str, total: float) -> Iterator[Callable[[float], None]]:
        def tick(amount: float) -> None:
            if amount > 0 and not timers:
                timers.append(threading.Timer(PATIENCE, stop.set))
                timers[0].daemon = True
                timers[0].start()

        yield tick

    try:
        yield meter
    finally:
        for timer in timers:
            timer.cancel()


def carried_out(study: Study, job: Job, context: Context) -> str:
    """Run a job into the store; the id of the run."""
    return find_or_run(study, job, context).run_id


def told(study: Study, job: Job, document: Mapping[str, Any]) -> dict[str, Any]:
    """What a job is, for a list of jobs."""
    return {
        "study": study.name,
        "arm": job.arm.__name__,
        "preset": plain(document.get("preset")),
        "fields": plain(document.get("fields") or {}),
    }


def _packed(ds: xr.Dataset, part: Part | None = None) -> bytes:
    """Several quantities behind one header; those that are too large are left out, and named."""
    arrays: list[np.ndarray] = []
    variables: list[dict[str, Any]] = []
    left_out: list[str] = []
    room = MOST_VALUES
    beyond = [] if part is None else part.beyond
    for name, x in ds.data_vars.items():
        if x.dtype.kind not in "biuf":
            continue
        data, times = _shown(x, beyond)
        if data.size > room:
            left_out.append(str(name))
            continue
        room -= data.size
        low, high = extremes(data)
        variables.append(
            {
                "name": str(name),
                "dims": [str(dim) for dim in x.dims],
                "shape": list(data.shape),
                "symbol": plain(str(x.attrs.get("symbol", ""))),
                "mathml": str(formula(str(x.attrs.get("symbol", "")))),
                "meaning": plain(str(x.attrs.get("long_name", ""))),
                "unit": plain(str(x.attrs.get("units", ""))),
                "min": low,
                "max": high,
                "times": times,
                "offset": sum(a.size for a in arrays),
            }
        )
        arrays.append(data)
    header = {
        "study": ds.attrs["study"],
        "arm": ds.attrs["arm"],
        "status": ds.attrs["status"],
        "dtype": "float64",
        "part": None if part is None else dataclasses.asdict(part),
        "variables": variables,
        "left_out": left_out,
        "coords": {str(k): plain(x.values) for k, x in ds.coords.items() if x.ndim == 1},
        "time_per_step": plain(ds.attrs.get("time_per_step")),
        "phases": phases(ds),
        "theory": moments(ds),
    }
    return packed(header, *arrays)


def _shown(x: xr.DataArray, beyond: Sequence[float] = ()) -> tuple[np.ndarray, list[float] | None]:
    """The numbers of a quantity at a bounded number of records, and their times; `beyond` it there are none."""
    axis = next((dim for dim in x.dims if dim in TIMES), None)
    if axis is None:
        return np.asarray(x.values, float), None
    if x.sizes[axis] <= POINTS:
        missing = [(0, len(beyond) if dim == "time" else 0) for dim in x.dims]
        known = np.asarray(x.values, float)
        times = np.append(times_of(x, str(axis)), beyond if axis == "time" else ())
        return np.pad(known, missing, constant_values=np.nan), plain(times)
    first = np.asarray(x.transpose(axis, ...).values, float)
    thin = x.isel({axis: chosen_records(first, POINTS)})
    return np.asarray(thin.values, float), plain(times_of(thin, str(axis)))
