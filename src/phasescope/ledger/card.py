"""One claim in full: what the paper says, what it assumes, every check that was made, and why."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..analysis.sources import Source
from ..analysis.verdict import Verdict
from ..claims.assumptions import Met
from ..claims.claim import Claim
from ..claims.statement import Statement
from .appearance import SYMBOLS, caveats, expected, number, place, said, surprise, symbol
from .markup import visible
from .tally import group_of
from .text import one_line

if TYPE_CHECKING:
    from .ledger import Row

LABEL = 14  # columns for the labels
RUNS = 8  # runs that are named


def card(claim: Claim, rows: Sequence[Row], command: str, width: int = 100) -> str:
    """A claim with all its rows.

    `command` is what reproduces it.
    """
    facts = [*_about(claim, rows[0].study)]
    for row in rows:
        facts += [("", ""), *_about_row(row)]
    lines = [line for label, text in facts for line in _wrapped(label, text, width)]
    to_be_copied = f"{'reproduce':<{LABEL}}{visible(command)}"
    return "\n".join([*lines, "", to_be_copied])


def _wrapped(label: str, text: str, width: int) -> list[str]:
    """A label and its text, which goes on under itself."""
    shown = one_line(text)
    begin = f"{label:<{LABEL}}" if label or shown else ""
    return textwrap.wrap(
        shown,
        max(width, 40),
        initial_indent=begin,
        subsequent_indent=" " * LABEL,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [begin.rstrip()]


def _about(claim: Claim, study: str) -> Iterator[tuple[str, str]]:
    yield "claim", f"{claim.id} ({study})"
    others = [name for name in dict.fromkeys((claim.name, *claim.aliases)) if name != claim.id]
    if others:
        yield "also", ", ".join(others)
    page = claim.typed.page if claim.typed else ""
    yield "cites", ", ".join(filter(None, (claim.cites, page)))
    yield "statement", claim.statement
    if claim.typed is None:
        yield "kind", "untyped: its rows have an outcome and no word"
        return
    if claim.typed.tex:
        yield "formula", claim.typed.tex
    yield "kind", "; ".join(_kind(claim.typed))


def _kind(typed: Statement) -> Iterator[str]:
    yield f"{typed.kind}, {group_of(typed.kind, typed.whose)}"
    if typed.erratum:
        yield f"erratum {typed.erratum}"
    if typed.as_:
        yield f"as {typed.as_[0]} -> {typed.as_[1]}"
    if typed.hides:
        yield f"the constant may depend on {', '.join(typed.hides)}"
    if typed.up_to_logs:
        yield "up to logarithms"
    if typed.whp is not None:
        yield f"with probability 1 - {typed.whp:g}"


def _about_row(row: Row) -> Iterator[tuple[str, str]]:
    """What was found, and on what evidence."""
    yield "held against", place(row)
    word = f"{symbol(row)} {said(row)}"
    if row.word is not None:
        word += f": {row.word.meaning}"
    yield "word", word
    if row.surprising:
        yield "surprise", f"! {surprise(row)}"
    else:
        yield "expected", expected(row)
    if row.because:
        yield "why", row.because
    if row.missing:
        yield "missing", row.missing
    if row.answer is not None:
        yield "authors", str(row.answer)
    yield "margin", _margin(row)
    yield from _listed("assumes", map(_assumption, row.assumptions))
    yield from _listed("checks", map(check_line, checks(row)))
    yield from _listed("bounds", map(_bound, row.sources))
    yield from _listed("sizes", (_sizes(name, values) for name, values in row.sizes.items()))
    yield "compared", f"{row.compared} of {row.asked} records"
    yield from _listed("runs", _runs(row.runs))
    yield "evidence", "; ".join(_evidence(row))


def _margin(row: Row) -> str:
    if row.margin is None:
        return "none"
    if row.flips_at is None:
        return number(row.margin)
    return f"{number(row.margin)}; a factor of {row.flips_at:.3g} on the tolerance turns it"


def _listed(label: str, texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """A label before the first of several texts."""
    for place_in_list, text in enumerate(texts):
        yield label if place_in_list == 0 else "", text


def _assumption(found: Met) -> str:
    free = ", its constant is free" if found.free else ""
    how = "met" if found.met else "broken"
    if found.low is not None:
        how += f": the ratio that must be at least 1 is {found.low:.3g}"
        if found.high is not None and found.high > found.low:
            how += f" to {found.high:.3g}"
    if found.margin is not None:
        how += f", margin {number(found.margin)} decades"
    return f"{found.name} ({found.scope}{free}): {how}"


def checks(row: Row) -> tuple[Verdict, ...]:
    """The checks that were joined."""
    return () if row.verdict is None else row.verdict.elementary


def check_line(part: Verdict) -> str:
    """One check: its outcome, its number, what it required, its margin; a guard is marked."""
    name = f"guard, {part.check}" if part.is_guard and part.check != "guard" else part.check
    where = f", at {part.where}" if part.where else ""
    margin = f", margin {number(part.margin)}" if part.margin is not None else ""
    return (
        f"{SYMBOLS[part.outcome]} {part.outcome} [{name or 'check'}]: {part.measured}{where}; "
        f"required: {part.required}{margin}"
    )


def _bound(source: Source) -> str:
    number_of_it = "" if source.number != source.number else f"{source.number:g} "
    return f"{number_of_it}{source.kind}: {source.text or 'without a reason'}"


def _sizes(name: str, values: Sequence[float]) -> str:
    return f"{name} = {', '.join(f'{value:g}' for value in values)}"


def _runs(runs: Sequence[str]) -> list[str]:
    named = list(runs[:RUNS])
    if len(runs) > RUNS:
        named.append(f"and {len(runs) - RUNS} more; --json names them all")
    return named


def _evidence(row: Row) -> Iterator[str]:
    if row.registered:
        yield "registered: the check was committed before its evidence was recorded"
    else:
        yield "post hoc: nothing shows that the check was there before its evidence"
    for note in caveats(row):
        yield note.sentence
