"""`phasescope probe`."""

from __future__ import annotations

import typer

from .. import flags
from ..exit_codes import CHANGED


def probe(
    source: flags.Checkpoints,
    steps: flags.Steps = None,
    group: flags.Groups = None,
    tokens: flags.Tokens = None,
    length: flags.DoubledLength = 25,
    sequences: flags.DoubledSequences = 4,
    seed: flags.Seed = 0,
    norms_only: flags.NormsOnly = False,
    allow_pickles: flags.AllowPickles = False,
    out: flags.OutFile = None,
    as_json: flags.Json = False,
) -> None:
    """Checkpoints of PyTorch or Hugging Face: norms by group, attention, heads. Exit 1 if two are the same.

    Example: phasescope probe ./pythia-70m --out pythia.nc
    """
    from ... import probe as probe_checkpoints
    from ..arguments import axis
    from ..exports import check_out, write_out
    from ..output import emit
    from ..probing import groups_of, probe_summary, show_probe, tokens_of

    check_out(out)
    ds = probe_checkpoints(
        source[0] if len(source) == 1 else source,
        steps=axis(steps, "--steps") if steps else None,
        groups=groups_of(group or []),
        attention=False if norms_only else None,
        tokens=tokens_of(tokens),
        length=length,
        sequences=sequences,
        seed=seed,
        pickles=allow_pickles,
    )
    write_out(ds, out)
    summary = probe_summary(ds, out)
    emit(summary, as_json, show_probe, summary, norms_only)
    if summary["copies"]:
        raise typer.Exit(CHANGED)
