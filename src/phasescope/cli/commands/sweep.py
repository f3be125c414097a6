"""`phasescope sweep`."""

from __future__ import annotations

from typing import Any

from .. import flags
from ..chosen import look_for_corpora_in, numbers_of
from ..names import check_names


def sweep(
    study: flags.StudyName,
    arm: flags.ArmName,
    fields: flags.Fields = None,
    preset: flags.Preset = None,
    seeds: flags.Seeds = 1,
    at: flags.At = None,
    keep: flags.Keep = None,
    tied: flags.Tied = None,
    given: flags.Given = None,
    block: flags.Block = None,
    workers: flags.Workers = None,
    cluster: flags.Cluster = None,
    tls: flags.TlsFolder = None,
    tls_ca: flags.TlsCa = None,
    tls_cert: flags.TlsCert = None,
    tls_key: flags.TlsKey = None,
    time_limit: flags.TimeLimit = None,
    dry_run: flags.DryRun = False,
    out: flags.OutFile = None,
    store: flags.StoreDir = None,
    corpora: flags.Corpora = None,
    as_json: flags.Json = False,
) -> None:
    """Runs over the product of values: floats and seeds are lanes of one program, other fields tasks of their own.

    Example: phasescope sweep regular_language symmetric lam=2:200:64:log max_length=6,12 --dry-run
    """
    check_names(study, arm, preset, fields or [])
    look_for_corpora_in(corpora)
    from ... import find
    from ... import sweep as sweep_arm
    from ...store import Store
    from ...verbs.sweep import sweep_cost
    from ..arguments import axes, axis, names, take_tied
    from ..executors import chosen_executor
    from ..exports import check_out, write_out
    from ..given_file import given_arm
    from ..output import emit
    from ..results import show_sweep, show_sweep_cost, sweep_summary

    check_out(out)
    chosen = find(study)
    values = axes(numbers_of(chosen, arm, preset, fields), fields or [])
    ties = take_tied(tied or [], values)
    times = axis(at, "--at") if at else None
    asked: dict[str, Any] = {
        "preset": preset,
        "seeds": seeds,
        "at": times,
        "block": block,
        "keep": names(keep),
        "store": store,
    }
    begun = given_arm(chosen.arm(arm), given)
    cost = sweep_cost(chosen, begun, *ties, **asked, **values)
    if dry_run:
        emit(cost, as_json, show_sweep_cost, cost)
        return
    files = {"ca": tls_ca, "cert": tls_cert, "key": tls_key}
    with chosen_executor(workers, cluster, tls, files, time_limit) as executor:
        ds = sweep_arm(chosen, begun, *ties, executor=executor, **asked, **values)
    write_out(ds, out)
    summary = sweep_summary(ds, cost, Store(Store.default_root(store)).root, out)
    emit(summary, as_json, show_sweep, summary)
