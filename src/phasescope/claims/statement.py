"""Statement: what the paper (or we) say, in a form that fixes how it must be checked."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable

from ..analysis.sources import Source, SourceKind
from ..analysis.verdict import Verdict
from ..errors import PlanError, nearest


class Kind(enum.StrEnum):
    """What sort of statement it is. The kind fixes the check."""

    IDENTITY = "identity"
    APPROX = "approx"
    SIGN = "sign"
    ORDER = "order"
    MONOTONE = "monotone"
    UPPER = "upper"
    LOWER = "lower"
    THETA = "theta"
    RATE = "rate"
    LIMIT = "limit"
    FIGURE = "figure"
    RELEASED = "released"
    REGRESSION = "regression"


class Whose(enum.StrEnum):
    """Whose statement it is: the paper's, the paper's with our erratum, or ours."""

    PAPER = "paper"
    CORRECTED = "corrected"
    OURS = "ours"


class Object(enum.StrEnum):
    """What a statement was held against."""

    TRAINING = "training"
    POPULATION = "population"
    PRINTED_EQUATIONS = "printed equations"
    CLOSED_FORM = "closed form"


# One counter-example inside the assumptions refutes these.
REFUTABLE = (Kind.IDENTITY, Kind.SIGN, Kind.ORDER, Kind.MONOTONE)
# Finite sizes cannot refute these.
ASYMPTOTIC = (Kind.APPROX, Kind.UPPER, Kind.LOWER, Kind.THETA, Kind.RATE, Kind.LIMIT)
# Of the checks of a claim, at least one is of these.
CHECKS = {
    Kind.IDENTITY: ("agree", "constant"),
    Kind.APPROX: ("agree", "within", "tends_to"),
    Kind.SIGN: ("positive", "negative"),
    Kind.ORDER: ("ordered", "positive", "negative", "increasing", "decreasing"),
    Kind.MONOTONE: ("increasing", "decreasing", "positive", "negative"),
    Kind.UPPER: ("big_o", "at_most"),
    Kind.LOWER: ("big_omega", "at_least"),
    Kind.THETA: ("big_theta",),
    Kind.RATE: ("scales_like", "within", "agree", "tends_to"),
    Kind.LIMIT: ("tends_to",),
}


@dataclasses.dataclass(frozen=True)
class Statement:
    """A typed statement.

    - `kind`: what sort of statement it is.
    - `whose`: the paper's, the paper's as corrected, or ours.
    - `tex`, `page`: the statement as a formula, and where the paper has it.
    - `as_`: the asymptotic variable and where it goes.
    - `hides`: what the constant may depend on.
    - `up_to_logs`: whether logarithms are ignored.
    - `whp`: the probability that is left for exceptions.
    - `erratum`: of a corrected statement, the erratum that it rests on.
    """

    kind: Kind
    whose: Whose = Whose.PAPER
    tex: str = ""
    page: str = ""
    as_: tuple[str, str] | None = None
    hides: tuple[str, ...] = ()
    up_to_logs: bool = False
    whp: float | None = None
    erratum: str = ""


def statement(
    cites: str,
    kind: str,
    whose: str,
    tex: str,
    page: str,
    as_: tuple[str, str] | None,
    hides: Iterable[str],
    up_to_logs: bool,
    whp: float | None,
    erratum: str,
) -> Statement:
    """A statement whose words are known, or an error that names them."""
    if whose == Whose.CORRECTED and not erratum:
        raise PlanError(f"{cites}: a corrected statement names its erratum (erratum=...).")
    return Statement(
        kind=Kind(known(cites, "kind", kind, Kind)),
        whose=Whose(known(cites, "whose", whose, Whose)),
        tex=tex,
        page=page,
        as_=as_,
        hides=tuple(hides),
        up_to_logs=up_to_logs,
        whp=whp,
        erratum=erratum,
    )


def known(cites: str, what: str, word: str, words: type[enum.StrEnum]) -> str:
    """The word, if it is one of these."""
    values = [member.value for member in words]
    if word not in values:
        raise PlanError(f'{cites}: there is no {what} "{word}". {nearest(word, values)}')
    return word


def unfit(kind: Kind, verdict: Verdict, whose: Whose = Whose.PAPER) -> str:
    """Why the checks that were made do not fit the kind of the statement; nothing if they do.

    The constant of a bound is the paper's. A statement of ours may have one of ours, with its reason.
    """
    fitting = CHECKS.get(kind)
    made = {part.check for part in verdict.elementary if part.check}
    if fitting is None or not made:
        return ""
    if not made & set(fitting):
        return f"kind {kind} asks for {' or '.join(fitting)}, it was checked by {', '.join(sorted(made))}"
    plain = made & {"at_most", "at_least"}
    if kind in (Kind.UPPER, Kind.LOWER) and not made & {"big_o", "big_omega"} and plain:
        bounds = [p for p in verdict.elementary if p.check in plain and not p.is_guard]
        sources = [source for part in bounds for source in part.sources]
        if sources and not any(_is_given(source, whose) for source in sources):
            return f"kind {kind} with a constant asks for one that is stated, not chosen"
    return ""


def wrong_way(as_: tuple[str, str] | None, verdict: Verdict) -> str:
    """Why the checks looked away from where the asymptotic variable goes; nothing if they did not.

    Checks over sizes look at what happens as a size grows. For a variable that falls to 0 the size is its inverse.
    """
    if as_ is None or as_[1] != "0":
        return ""
    name = as_[0]
    if not any(name in part.sizes for part in verdict.elementary):
        return ""
    return (
        f"the statement is about {name} -> 0, and the check looked at what happens as {name} grows. "
        f'Give it the sizes 1/{name}, with along="1/{name}".'
    )


def _is_given(source: Source, whose: Whose) -> bool:
    """Whether whoever makes the statement gives the constant with it."""
    if whose is Whose.OURS:
        return bool(source.text)
    return source.kind is SourceKind.STATED
