"""`phasescope list`."""

from __future__ import annotations

from .. import flags


def list_(
    study: flags.MaybeStudy = None,
    claims: flags.ListClaims = False,
    fields: flags.ListFields = False,
    figures: flags.ListFigures = False,
    as_json: flags.Json = False,
) -> None:
    """Studies; or one study on a page, and its claims, fields or figures in full.

    Example: phasescope list regular_language --claims
    """
    from ..catalogue import catalogues
    from ..listing import show_catalogues
    from ..output import emit

    asked = {"claims": claims, "fields": fields, "figures": figures}
    parts = [part for part, is_asked in asked.items() if is_asked]
    found = catalogues(study)
    shown = parts if study or parts else None
    emit({"studies": found}, as_json, show_catalogues, found, shown, study)
