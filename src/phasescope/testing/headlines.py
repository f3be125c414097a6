"""Headlines held against the rows of a study: what a page says was found must be so.

How a headline is written is told in `phasescope.ledger.headlines`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..claims.claim import Claim
from ..claims.regime import Regime
from ..ledger.headlines import FOUND as FOUND
from ..ledger.headlines import Headline as Headline
from ..ledger.headlines import Reference as Reference
from ..ledger.headlines import bullets as bullets
from ..ledger.headlines import headlines as headlines
from ..ledger.headlines import reference as reference
from ..study import Study
from ..verbs.rows import named


def untrue(study: Study, headline: Headline) -> list[str]:
    """What a headline says of the study's rows that is not so, as sentences."""
    wrong = []
    for item in headline.items:
        asked = reference(item)
        problem = (
            f'"{item}" is not of the form "id: word"' if asked is None else _problem(study, asked)
        )
        if problem:
            wrong.append(f"{headline.begins}: {problem}.")
    return wrong


def _problem(study: Study, asked: Reference) -> str:
    claims = {claim.id: claim for claim in study.claims}
    if asked.claim not in claims:
        return f'{study.name} has no claim "{asked.claim}"'
    claim = claims[asked.claim]
    rows = [row for row in _rows(study, claim) if set(asked.where) <= _places(row)]
    if not rows:
        return f'no row of "{asked.claim}" is of {", ".join(asked.where)}'
    words = {str(row.expect) for row in rows}
    if words != {asked.word}:
        return f'"{asked.claim}" is said to be {asked.word}, and is {", ".join(sorted(words))}'
    return ""


def _rows(study: Study, claim: Claim) -> Iterator[Regime]:
    for regime in claim.regimes:
        yield named(study, claim, regime)


def _places(row: Regime) -> set[str]:
    """What a row is held against, and its regime."""
    return {str(row.name), str(row.on)}
