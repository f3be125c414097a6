"""`phasescope map`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import flags
from ..chosen import formats_in, look_for_corpora_in
from ..names import check_ids


def map_(
    study: flags.StudyName,
    claim: flags.ClaimName,
    fields: flags.MapFields = None,
    regime: flags.MapRegime = None,
    refine: flags.Refine = 0,
    at: flags.At = None,
    full: flags.Full = False,
    format: flags.Format = "png",
    out: flags.OutDir = Path("phasescope-figures"),
    data: flags.MapData = None,
    dry_run: flags.DryRun = False,
    store: flags.MapStore = None,
    corpora: flags.Corpora = None,
    as_json: flags.Json = False,
) -> None:
    """Where a claim stops holding: its check at every cell of a grid, drawn with its zero line.

    Example: phasescope map regular_language fig2 lam=0.5:50:24:log eta=0.01:1:24:log --refine 5
    """
    check_ids([study], claim=claim)
    look_for_corpora_in(corpora)
    from ... import find
    from ...verbs.map import map as map_claim
    from ..arguments import axis
    from ..exports import check_out, write_out
    from ..maps import (
        check_drawable,
        draw_to,
        keep_for_the_page,
        map_cost,
        map_numbers,
        map_summary,
        show_map,
    )
    from ..output import emit

    check_out(data)
    formats = formats_in(format)
    chosen = find(study)
    numbers = map_numbers(chosen, claim, regime, fields or [])
    asked: dict[str, Any] = {
        "regime": regime,
        "refine": refine,
        "at": axis(at, "--at") if at else None,
        "full": full,
        **numbers,
    }
    if dry_run:
        cost = map_cost(chosen, claim, **asked)
        emit(cost, as_json, show_map, cost)
        return
    check_drawable(numbers, data)
    found = map_claim(chosen, claim, store=store or False, **asked)
    if store is not None:
        keep_for_the_page(found, chosen, store)
    write_out(found, data)
    files = draw_to(found, out, formats)
    summary = map_summary(found, [*files, *([data] if data else [])])
    emit(summary, as_json, show_map, summary)
