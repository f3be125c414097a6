"""Claim: a citation, a request for evidence in one or more regimes, and a function of that evidence.

The decorator holds the citation and the evidence, the function's name is the claim in a few words, its docstring the
statement in ours, and its body the finite-size check.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable
from typing import Any

from ..analysis.verdict import Outcome, Verdict
from ..errors import PlanError
from .requests import Request


class RegimeName(enum.StrEnum):
    """Where a claim may be tested."""

    PUBLISHED = "published"
    THEORY = "theory"
    BEYOND = "beyond"


@dataclasses.dataclass(frozen=True)
class Regime:
    """Where a claim is tested, on what evidence, and the outcome established there."""

    name: RegimeName
    evidence: tuple[Request, ...]
    expect: Outcome = Outcome.HOLDS
    because: str = ""


def published(*evidence: Request, expect: Outcome = Outcome.HOLDS, because: str = "") -> Regime:
    """The paper's own experiment, as a regime of a claim.

        >>> def idle(spec): ...
        >>> regime = ps.published(ps.runs(idle), expect=ps.Outcome.FAILS, because="it is finite")
        >>> str(regime.name), str(regime.expect)
        ('published', 'fails')

    **Arguments:** `evidence`: requests, handed to the check in this order. `expect`: the outcome that
    has been established. `because`: why, if it is not *holds*.

    **Returns:** a `Regime`, to be given to `ps.claim`.
    """
    return Regime(RegimeName.PUBLISHED, evidence, expect, because)


def theory(*evidence: Request, expect: Outcome = Outcome.HOLDS, because: str = "") -> Regime:
    """The theorem's assumptions met, at sizes that the paper did not run, as a regime of a claim.

        >>> def idle(spec): ...
        >>> ps.theory(ps.runs(idle, width=4096)).expect.value
        'holds'

    **Arguments:** `evidence`: requests, handed to the check in this order. `expect`: the outcome that
    has been established. `because`: why, if it is not *holds*.

    **Returns:** a `Regime`, to be given to `ps.claim`.
    """
    return Regime(RegimeName.THEORY, evidence, expect, because)


def beyond(*evidence: Request, expect: Outcome = Outcome.HOLDS, because: str = "") -> Regime:
    """An assumption relaxed on purpose, as a regime of a claim.

        >>> def idle(spec): ...
        >>> str(ps.beyond(ps.runs(idle, optimiser="adam")).name)
        'beyond'

    **Arguments:** `evidence`: requests, handed to the check in this order. `expect`: the outcome that
    has been established. `because`: why, if it is not *holds*.

    **Returns:** a `Regime`, to be given to `ps.claim`.
    """
    return Regime(RegimeName.BEYOND, evidence, expect, because)


@dataclasses.dataclass(frozen=True)
class Claim:
    """Stays callable, so that a test can hand it made-up evidence on which it must fail."""

    id: str
    cites: str
    regimes: tuple[Regime, ...]
    check: Callable[..., Verdict]

    @property
    def name(self) -> str:
        return self.check.__name__

    @property
    def statement(self) -> str:
        return " ".join((inspect.getdoc(self.check) or "").split())

    def __call__(self, *evidence: Any) -> Verdict:
        verdict = self.check(*evidence)
        if not isinstance(verdict, Verdict):
            raise PlanError(
                f'claim "{self.id}" returned {type(verdict).__name__}, not a Verdict: end it with a check.'
            )
        return verdict


def claim(
    cites: str, *where: Regime | Request, id: str = ""
) -> Callable[[Callable[..., Verdict]], Claim]:
    """Make a check a claim of the study.

        >>> def theory_table():
        ...     return xr.Dataset({"rate": 0.5})
        >>> @ps.claim("Theorem 1", ps.tables(theory_table))
        ... def the_rate_is_positive(table):
        ...     "The rate is positive."
        ...     return ps.positive(table.rate)
        >>> the_rate_is_positive.statement, the_rate_is_positive(theory_table()).outcome.value
        ('The rate is positive.', 'holds')

    **Arguments:** `cites`: where the paper says it. `where`: one or more regimes, or plain evidence
    for the published one. `id`: by which the ledger names it; the function's name if not given.

    **Returns:** a decorator that makes the function, whose docstring is the statement, a `Claim`. It
    stays callable, so that a test can hand it made-up evidence on which it must fail.

    **Raises:** `PlanError` if a regime is given twice, or expects another outcome than *holds*
    without a reason; when called, if the check returns no `Verdict`.
    """
    regimes = tuple(r for r in where if isinstance(r, Regime))
    plain = tuple(r for r in where if not isinstance(r, Regime))
    if plain or not regimes:
        regimes = (published(*plain), *regimes)
    names = [r.name for r in regimes]
    if len(set(names)) != len(names):
        raise PlanError(f"{cites}: each regime may be given once, got {', '.join(names)}.")
    for regime in regimes:
        if regime.expect is not Outcome.HOLDS and not regime.because:
            raise PlanError(
                f"{cites}, {regime.name}: an expected outcome other than `holds` needs a reason (because=...)."
            )
    return lambda check: Claim(id or check.__name__, cites, regimes, check)
