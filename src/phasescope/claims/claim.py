"""Claim: a citation, a request for evidence in one or more regimes, and a function of that evidence.

The decorator holds the citation and the evidence, the function's name is the claim in a few words, its docstring the
statement in ours, and its body the finite-size check.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import string
from collections.abc import Callable, Iterable
from typing import Any

import xarray as xr

from ..analysis.over_time import complete
from ..analysis.verdict import Outcome, Verdict, all_of
from ..errors import PlanError, nearest
from .assumptions import Assumptions
from .requests import Request
from .statement import Kind, Object, Statement, known, statement
from .words import Word


class RegimeName(enum.StrEnum):
    """Where a claim may be tested."""

    PUBLISHED = "published"
    THEORY = "theory"
    BEYOND = "beyond"


# What `because` may speak of: facts of the verdict.
FACTS = (
    "value",
    "where",
    "at",
    "margin",
    "measured",
    "required",
    "parts",
    "unguarded",
    "reach",
    "sizes",
)
GOOD_WORDS = {
    Kind.FIGURE: Word.REPRODUCED,
    Kind.RELEASED: Word.REPRODUCED,
    Kind.REGRESSION: Word.AS_BEFORE,
}
# Words that need no explanation.
PLAIN = (Outcome.HOLDS, Word.HOLDS, Word.REPRODUCED, Word.AS_BEFORE)


@dataclasses.dataclass(frozen=True)
class Regime:
    """Where a claim is tested, on what evidence, and what has been established there.

    Of a typed claim the name is derived from the evidence, and None until then; `on` says what the
    statement is held against, `breaks` which assumption the evidence breaks on purpose.
    """

    name: RegimeName | None
    evidence: tuple[Request, ...]
    expect: Outcome | Word | None = Outcome.HOLDS  # None: the good word of the kind
    because: str = ""
    on: Object | None = None
    breaks: str = ""

    @property
    def expects_to_hold(self) -> bool:
        """The check is expected to pass, whatever the word for that is."""
        return self.expect in (*PLAIN, Word.VACUOUS, Word.TRIVIAL)

    def explained(self, verdict: Verdict) -> str:
        """`because`, with the numbers of this verdict."""
        return _Explained().format(
            self.because,
            **{name: getattr(verdict, name) for name in FACTS if name != "parts"},
            parts=verdict.elementary,
        )


class _Explained(string.Formatter):
    """A template whose unknown facts become a question mark."""

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        try:
            return super().get_field(field_name, args, kwargs)
        except (KeyError, IndexError, AttributeError):
            return None, field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if value is None:
            return "?"
        return super().format_field(value, format_spec)


def on(
    what: str,
    *evidence: Request,
    expect: str | None = None,
    because: str = "",
    breaks: str = "",
) -> Regime:
    """What a typed statement is held against, as one row of the ledger.

        >>> def idle(spec): ...
        >>> row = ps.on("training", ps.runs(idle), expect="outside", because="tau is {value:.2g}")
        >>> str(row.on), str(row.expect)
        ('training', 'outside')

    **Arguments:**

    - `what`: "training", "population", "printed equations" or "closed form".
    - `evidence`: requests, handed to the check in this order.
    - `expect`: the word that has been established; the good one of the kind if not given: "holds",
      "reproduced" for a figure or a released number, "as_before" for a regression.
    - `because`: why, if it is not one of the good ones: a template over the verdict, in which
      `{value:.3g}`, `{where}`, `{margin:.2g}`, `{at[time]:g}`, `{parts[0].value:.3g}` and, for a row
      that only a guard leaves undecided, `{unguarded.measured}` are filled in. Measured numbers are
      never typed in.
    - `breaks`: an assumption that the evidence breaks on purpose, if no function of the Spec can
      tell.

    **Returns:** a regime, to be given to `ps.claim`. Whether it is *published*, *theory* or *beyond*
    is derived from the evidence.

    **Raises:** `PlanError` for an unknown word or an unknown fact in `because`.
    """
    held = Object(known("ps.on", "object", what, Object))
    word = None if expect is None else Word(known("ps.on", "word", expect, Word))
    for _, fact, _, _ in string.Formatter().parse(because):
        name = (fact or "").split(".")[0].split("[")[0]
        if fact is not None and name not in FACTS:
            raise PlanError(
                f'because: there is no fact "{fact}" in a verdict. {nearest(name, FACTS)}'
            )
    return Regime(None, evidence, word, because, held, breaks)


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
                f'claim "{self.id}" returned {type(verdict).__name__}, not a Verdict: end it with a check.'
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
