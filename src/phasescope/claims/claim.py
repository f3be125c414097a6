"""Claim: a citation, a request for evidence in one or more regimes, and a function of that evidence.

The decorator holds the citation and the evidence, the function's name is the claim in a few words, its docstring the
statement in ours, and its body the finite-size check.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import xarray as xr

from ..analysis.over_time import complete
from ..analysis.verdict import Verdict, all_of
from ..errors import PlanError
from .assumptions import Assumptions
from .regime import PLAIN, Regime, published
from .requests import Request
from .statement import Kind, Statement, statement
from .words import Word

GOOD_WORDS = {
    Kind.FIGURE: Word.REPRODUCED,
    Kind.RELEASED: Word.REPRODUCED,
    Kind.REGRESSION: Word.AS_BEFORE,
}


@dataclasses.dataclass(frozen=True)
class Claim:
    """Stays callable, so that a test can hand it made-up evidence on which it must fail.

    On a run that lacks records of its own it is undecided, whatever the check says.
    """

    id: str
    cites: str
    regimes: tuple[Regime, ...]
    check: Callable[..., Verdict]
    typed: Statement | None = None
    assumes: Assumptions | None = None
    varies: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.check.__name__

    @property
    def names(self) -> tuple[str, ...]:
        """All names under which it can be asked for."""
        return (self.id, self.name, *self.aliases)

    @property
    def statement(self) -> str:
        return " ".join((inspect.getdoc(self.check) or "").split())

    def __call__(self, *evidence: Any) -> Verdict:
        verdict = self.check(*evidence)
        if not isinstance(verdict, Verdict):
            raise PlanError(
                f'claim "{self.id}" returned {type(verdict).__name__}, not a Verdict: end it with a check, such as '
                "return ps.positive(...)."
            )
        runs = [ds for ds in evidence if isinstance(ds, xr.Dataset)]
        return all_of((verdict, *map(complete, runs)))


def claim(
    cites: str,
    *where: Regime | Request,
    id: str = "",
    kind: str | None = None,
    whose: str = "paper",
    tex: str = "",
    page: str = "",
    as_: tuple[str, str] | None = None,
    hides: Iterable[str] = (),
    up_to_logs: bool = False,
    whp: float | None = None,
    erratum: str = "",
    assumes: Assumptions | None = None,
    varies: Iterable[str] = (),
    aliases: Iterable[str] = (),
) -> Callable[[Callable[..., Verdict]], Claim]:
    """Make a check a claim of the study.

        >>> def theory_table():
        ...     return xr.Dataset({"rate": 0.5})
        >>> @ps.claim(
        ...     "Theorem 1",
        ...     ps.on("closed form", ps.tables(theory_table)),
        ...     kind="sign", tex="r > 0", page="p. 3",
        ... )
        ... def the_rate_is_positive(table):
        ...     "The rate is positive."
        ...     return ps.positive(table.rate)
        >>> the_rate_is_positive.statement, the_rate_is_positive(theory_table()).outcome.value
        ('The rate is positive.', 'holds')

    **Arguments:**

    - `cites`: where the paper says it.
    - `where`: one or more `ps.on(...)`, each a row. (A claim without a kind: one or more of
      `ps.published`, `ps.theory`, `ps.beyond`, or plain evidence for the published one.)
    - `id`: by which the ledger names it; the function's name if not given. `aliases`: other ids.
    - `kind`: identity, approx, sign, order, monotone, upper, lower, theta, rate, limit, figure,
      released or regression. A claim without one is untyped, and the ledger says so.
    - `whose`: paper, corrected (then `erratum` says which) or ours.
    - `tex`, `page`: the statement as a formula, and its page and equation.
    - `as_`: the asymptotic variable and where it goes, as `("m", "inf")`. `hides`: what the constant
      may depend on. `up_to_logs`: logarithms are ignored. `whp`: the probability left for exceptions.
    - `assumes`: what the statement assumes, from `ps.assume`.
    - `varies`: the fields that a map may vary.

    **Returns:** a decorator that makes the function, whose docstring is the statement, a `Claim`. It
    stays callable, so that a test can hand it made-up evidence on which it must fail.

    **Raises:** `PlanError` if a regime is given twice, if a word that is not good has no reason, or
    if typed and untyped forms are mixed; when called, if the check returns no `Verdict`.
    """
    regimes = tuple(r for r in where if isinstance(r, Regime))
    plain = tuple(r for r in where if not isinstance(r, Regime))
    if plain or not regimes:
        regimes = (published(*plain), *regimes)
    typed = None
    if kind is not None:
        typed = statement(
            cites=cites,
            kind=kind,
            whose=whose,
            tex=tex,
            page=page,
            as_=as_,
            hides=hides,
            up_to_logs=up_to_logs,
            whp=whp,
            erratum=erratum,
        )
        regimes = tuple(_with_good_word(regime, typed.kind) for regime in regimes)
    _check_regimes(cites, regimes, typed)
    return lambda check: Claim(
        id=id or check.__name__,
        cites=cites,
        regimes=regimes,
        check=check,
        typed=typed,
        assumes=assumes,
        varies=tuple(varies),
        aliases=tuple(aliases),
    )


def _with_good_word(regime: Regime, kind: Kind) -> Regime:
    """The regime with the word that is expected where nothing is said."""
    if regime.expect is not None:
        return regime
    return dataclasses.replace(regime, expect=GOOD_WORDS.get(kind, Word.HOLDS))


def _check_regimes(cites: str, regimes: tuple[Regime, ...], typed: Statement | None) -> None:
    named = [r.name for r in regimes if r.name is not None]
    if typed is not None and named:
        raise PlanError(f"{cites}: the regime of a typed claim is derived; give ps.on(...).")
    if typed is None and len(named) < len(regimes):
        raise PlanError(f"{cites}: ps.on(...) is for typed claims; give a kind.")
    if len(set(named)) != len(named):
        raise PlanError(f"{cites}: each regime may be given once, got {', '.join(named)}.")
    for regime in regimes:
        if regime.expect not in PLAIN and not regime.because:
            raise PlanError(
                f"{cites}, {regime.name or regime.on}: an expected outcome other than `holds` needs a reason "
                "(because=...)."
            )
