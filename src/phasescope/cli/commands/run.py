"""`phasescope run`."""

from __future__ import annotations

from typing import Any

from .. import flags
from ..chosen import look_for_corpora_in, numbers_of
from ..names import check_names


def run(
    study: flags.StudyName,
    arm: flags.ArmName,
    fields: flags.Fields = None,
    preset: flags.Preset = None,
    seed: flags.Seed = 0,
    at: flags.At = None,
    keep: flags.Keep = None,
    out: flags.OutFile = None,
    given: flags.Given = None,
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
    as_json: flags.Json = False,
) -> None:
    """One run of one arm. A finished run is read from the store; an unfinished one goes on where it stopped.

    Example: phasescope run regular_language symmetric lam=10 steps=10000 --at 600,1000
    """
    check_names(study, arm, preset, fields or [])
    look_for_corpora_in(corpora)
    from ... import find
    from ... import run as run_arm
    from ..arguments import axis, names, parse
    from ..exports import check_out, write_out
    from ..given_file import given_arm
    from ..output import emit
    from ..results import run_summary, show_run

    check_out(out)
    chosen = find(study)
    numbers: dict[str, Any] = parse(numbers_of(chosen, arm, preset, fields), fields or [])
    times = axis(at, "--at") if at else None
    begun = given_arm(chosen.arm(arm), given)
    ds = run_arm(
        chosen,
        begun,
        preset=preset,
        seed=seed,
        at=times,
        keep=names(keep),
        store=store,
        **numbers,
    )
    write_out(ds, out)
    summary = run_summary(ds, all_times=at is not None, out=out)
    emit(summary, as_json, show_run, summary, ds)
