"""`phasescope export`."""

from __future__ import annotations

from .. import flags


def export(
    run: flags.RunId,
    file: flags.ExportFile,
    stage: flags.StageName = None,
    store: flags.StoreDir = None,
    as_json: flags.Json = False,
) -> None:
    """A stored run as a file: its records as .nc or .zarr.zip, its state at a stage's end as .safetensors.

    Example: phasescope export 4ddf state.safetensors
    """
    from ..exports import export_run
    from ..output import emit
    from ..results import show_exported

    summary = export_run(run, file, stage, store)
    emit(summary, as_json, show_exported, summary)
