"""The rows that are asked for: claims of a study, each in its regimes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..claims.claim import Claim
from ..claims.regime import Regime, RegimeName
from ..errors import SpecError, nearest, unknown_to_all
from ..study import Study
from .regimes import standing


class ClaimInRegime(NamedTuple):
    """What one row of a ledger is about."""

    claim: Claim
    regime: Regime


def having(studies: Iterable[Study], claim: str | None) -> list[Study]:
    """The studies that have the claim; one that none of them has is an error."""
    studies = list(studies)
    if claim is None:
        return studies
    if not isinstance(claim, str):
        raise SpecError(f"the id of a claim is a word, got claim={claim!r}.")
    names = {study.name: {n for c in study.claims for n in c.names} for study in studies}
    found = [study for study in studies if claim in names[study.name]]
    if not found:
        raise unknown_to_all("claim", claim, set().union(*names.values()), names)
    return found


def chosen_claims(
    study: Study, claim: str | None = None, regime: str | None = None
) -> list[ClaimInRegime]:
    """Claims of a study with their regimes, as asked for."""
    known = [name.value for name in RegimeName]
    if regime is not None and not isinstance(regime, str):
        raise SpecError(f"a regime is one of {', '.join(known)}, got regime={regime!r}.")
    if regime is not None and regime not in known:
        raise SpecError(f'there is no regime "{regime}". {nearest(regime, known)}')
    claims: Sequence[Claim] = study.claims if claim is None else (study.claim(claim),)
    rows = [ClaimInRegime(c, named(study, c, r)) for c in claims for r in c.regimes]
    return [row for row in rows if regime in (None, row.regime.name)]


def named(study: Study, claim: Claim, regime: Regime) -> Regime:
    """The regime with its name, which of a typed claim is derived from the evidence."""
    return dataclasses.replace(regime, name=standing(study, claim, regime).regime)
