"""`phasescope fork`."""

from __future__ import annotations

from .. import flags
from ..chosen import look_for_corpora_in


def fork(
    run: flags.RunId,
    at: flags.ForkAt,
    fields: flags.Fields = None,
    clamp: flags.Clamp = None,
    reset: flags.Reset = None,
    replace: flags.Replace = None,
    lane: flags.Lane = None,
    out: flags.OutFile = None,
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
    as_json: flags.Json = False,
) -> None:
    """Go on from the state of a stored run at a time, with parameters held fixed, reset or replaced, or other numbers.

    Example: phasescope fork 4ddf eta=0.01 --at 100 --clamp W
    """
    look_for_corpora_in(corpora)
    from ..exports import check_out, write_out
    from ..forks import fork_run
    from ..output import emit
    from ..results import run_summary, show_run

    check_out(out)
    ds = fork_run(
        run,
        at,
        fields or [],
        clamp=clamp or [],
        reset=reset or [],
        replace=replace or [],
        lane=lane,
        store=store,
    )
    write_out(ds, out)
    summary = run_summary(ds, all_times=False, out=out)
    emit(summary, as_json, show_run, summary, ds)
