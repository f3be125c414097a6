"""Verdict: what a check found.

An outcome, the number measured, the number required, where the worst case was, and how far the
statement is inside or outside of what is allowed.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections.abc import Iterable, Mapping
from typing import Literal

import xarray as xr

from .lanes import FAILS, HOLDS, UNDECIDED, UNMET, join_lanes
from .sources import Source, SourceKind
from .trace import Trace


class Outcome(enum.StrEnum):
    """What a check can find: `HOLDS`, `FAILS` or `UNDECIDED`.

    Undecided: the evidence does not reach (a phase never began, a fit had three points). It is no
    success.

        >>> ps.positive([1.0, 2.0]).outcome is ps.Outcome.HOLDS
        True
        >>> [outcome.value for outcome in ps.Outcome]
        ['holds', 'fails', 'undecided']
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


# By the numbers that stand for them in arrays over the lanes of a sweep.
OUTCOMES = {HOLDS: Outcome.HOLDS, UNDECIDED: Outcome.UNDECIDED, FAILS: Outcome.FAILS}
# What a failing asymptotic statement does as its variable grows.
Trend = Literal["", "towards", "away"]
# Why a statement that holds says nothing.
Empty = Literal["", "vacuous", "trivial"]


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a check found.

    `a & b` holds when both hold. It is undecided if a guard among them is not met, fails if one fails, and is undecided
    otherwise; of a sweep, lane by lane.

        >>> verdict = ps.at_most([0.1, 0.7, 0.3], 0.5, "loss") & ps.positive([1.0])
        >>> verdict.outcome.value, verdict.where, verdict.at, verdict.value
        ('fails', 'index=1', {'index': 1.0}, 0.7)
        >>> round(verdict.margin, 6), round(verdict.flips_at, 6), len(verdict.parts)
        (-0.4, 1.4, 2)

    **Arguments:**

    - `outcome`: holds, fails or undecided.
    - `measured`, `required`: sentences for the ledger.
    - `where`: the worst case in words, `time=284, length=3`.
    - `value`: the deciding number, if there is one.
    - `at`: the coordinates of the worst case that are numbers, by name; the report marks them in
      its plots.
    - `margin`: slack in units of what is allowed: 1 far inside, 0 on the limit, -1 as far outside
      as is allowed inside. None if the outcome is undecided.
    - `flips_at`: the factor on the tolerance that turns the outcome, where there is a tolerance.
    - `check`: the name of the check; of several joined ones, empty.
    - `parts`: the elementary verdicts of several joined ones.
    - `empty`: "vacuous" or "trivial" if the statement says nothing here.
    - `trend`: of a failing asymptotic statement, whether it goes "towards" holding or "away".
    - `reach`: from or up to which size it holds, in words.
    - `sizes`: the values of asymptotic variables and free constants that were looked at.
    - `sources`: where the numbers required come from.
    - `is_derived`: a derivation says the same for all sizes.
    - `is_guard`: a condition without which the others say nothing.
    - `lanes`: outcome (1, 0, -1) and margin over the axes of a sweep.
    - `trace`: what was compared, along one line through the worst case; the report draws it.

    **Raises:** `TypeError` if it is used as a truth value: compare the outcome instead.
    """

    outcome: Outcome
    measured: str
    required: str
    where: str = ""
    value: float | None = None
    at: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    margin: float | None = None
    flips_at: float | None = None
    check: str = ""
    parts: tuple[Verdict, ...] = ()
    empty: Empty = ""
    trend: Trend = ""
    reach: str = ""
    sizes: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict, hash=False)
    sources: tuple[Source, ...] = ()
    is_derived: bool = False
    is_guard: bool = False
    lanes: xr.Dataset | None = dataclasses.field(
        default=None, hash=False, compare=False, repr=False
    )
    trace: Trace | None = dataclasses.field(default=None, hash=False, compare=False, repr=False)

    @property
    def vacuous(self) -> bool:
        """The statement says nothing here, for its premises cannot hold together."""
        return self.empty == "vacuous"

    @property
    def elementary(self) -> tuple[Verdict, ...]:
        """The verdicts that were joined; this one if it was not joined."""
        return self.parts or (self,)

    @property
    def has_unmet_guard(self) -> bool:
        """Whether a guard is not met, so that the other checks say nothing.

        >>> flat = ps.guard(ps.positive([0.0], "movement"))
        >>> verdict = ps.at_most([0.9], 0.5, "loss") & flat
        >>> verdict.has_unmet_guard, verdict.outcome.value
        (True, 'undecided')
        """
        return any(part.is_guard and part.outcome != Outcome.HOLDS for part in self.elementary)

    @property
    def unguarded(self) -> Verdict:
        """What the checks say without their guards: information beside an undecided verdict, not its outcome.

        >>> flat = ps.guard(ps.positive([0.0], "movement"))
        >>> verdict = ps.at_most([0.1], 0.5, "loss") & flat
        >>> verdict.outcome.value, verdict.unguarded.outcome.value, verdict.unguarded.measured
        ('undecided', 'holds', 'loss = 0.1')
        """
        return all_of(part for part in self.elementary if not part.is_guard)

    @property
    def against_stated(self) -> bool:
        """It fails, and what breaks is a bound that the paper states."""
        return any(
            part.outcome == Outcome.FAILS
            and any(source.kind == SourceKind.STATED for source in part.sources)
            for part in self.elementary
        )

    def __and__(self, other: Verdict) -> Verdict:
        lanes = join_lanes(_over_lanes(self, other), _over_lanes(other, self))
        worst = _joint_outcome(self, other, lanes)
        decisive = self if self.outcome == worst else other
        parts = _said(self) + _said(other)
        failing = [part for part in parts if part.outcome == Outcome.FAILS]
        return Verdict(
            outcome=worst,
            measured=_joined(self.measured, other.measured),
            required=_joined(self.required, other.required),
            where=decisive.where,
            value=decisive.value,
            at=decisive.at,
            margin=None if worst == Outcome.UNDECIDED else _smallest_margin(parts),
            flips_at=_joint_flip(worst, parts),
            parts=parts,
            empty=self.empty or other.empty,
            trend=_joint_trend(failing),
            reach=_joined(self.reach, other.reach),
            sizes=_joint_sizes(self.sizes, other.sizes),
            sources=tuple(dict.fromkeys((*self.sources, *other.sources))),
            is_derived=any(part.is_derived for part in failing),
            lanes=lanes,
            trace=_joint_trace(self) or _joint_trace(other),
        )

    def __bool__(self) -> bool:
        raise TypeError(
            "a Verdict is not a truth value: compare its outcome with Outcome.HOLDS, or join with &."
        )


def undecided(why: str, required: str = "evidence that reaches") -> Verdict:
    """The verdict of a check whose evidence does not reach.

        >>> ps.undecided("the second phase never began").outcome.value
        'undecided'

    **Arguments:** `why`: what is missing, for the ledger. `required`: what would have decided.

    **Returns:** a `Verdict`.
    """
    return Verdict(Outcome.UNDECIDED, why, required)


def all_of(verdicts: Iterable[Verdict]) -> Verdict:
    """Several verdicts joined by `&`: the worst outcome decides.

        >>> ps.all_of(ps.positive([x]) for x in (1.0, -2.0)).outcome.value
        'fails'

    **Arguments:** `verdicts`: any number of them.

    **Returns:** a `Verdict`; about nothing at all it is undecided.
    """
    found = list(verdicts)
    if not found:
        return undecided("there was nothing to check")
    return functools.reduce(operator.and_, found)


def _joint_outcome(first: Verdict, second: Verdict, lanes: xr.Dataset | None) -> Outcome:
    """The worst of two outcomes. Where a guard is not met a failure says nothing: of a sweep, that of another lane does."""
    if first.has_unmet_guard or second.has_unmet_guard:
        fails = lanes is not None and bool((lanes["outcome"] == FAILS).any())
        return Outcome.FAILS if fails else Outcome.UNDECIDED
    order = (Outcome.FAILS, Outcome.UNDECIDED, Outcome.HOLDS)
    return min(first.outcome, second.outcome, key=order.index)


def _said(verdict: Verdict) -> tuple[Verdict, ...]:
    """The elementary verdicts that say something; a run that went to its end says nothing."""
    return tuple(part for part in verdict.elementary if part.measured or part.required)


def _smallest_margin(parts: Iterable[Verdict]) -> float | None:
    return min((part.margin for part in parts if part.margin is not None), default=None)


def _joint_flip(worst: Outcome, parts: Iterable[Verdict]) -> float | None:
    """The factor on all tolerances at once that turns the outcome."""
    if worst == Outcome.UNDECIDED:
        return None
    deciding = [part for part in parts if part.outcome == worst and not part.is_guard]
    flips = [part.flips_at for part in deciding if part.flips_at is not None]
    some_have_none = len(flips) < len(deciding)
    if not flips or (worst == Outcome.FAILS and some_have_none):
        return None
    return max(flips)


def _joint_trend(failing: Iterable[Verdict]) -> Trend:
    """Away if one goes away; towards if all go there."""
    trends = {part.trend for part in failing}
    if "away" in trends:
        return "away"
    return "towards" if trends == {"towards"} else ""


def _joint_sizes(
    first: Mapping[str, tuple[float, ...]], second: Mapping[str, tuple[float, ...]]
) -> dict[str, tuple[float, ...]]:
    """The sizes of both, each in rising order."""
    names = dict.fromkeys((*first, *second))
    return {name: tuple(sorted({*first.get(name, ()), *second.get(name, ())})) for name in names}


def _over_lanes(verdict: Verdict, other: Verdict) -> xr.Dataset | None:
    """The lanes of a verdict; of one without lanes, its outcome for all lanes of the other."""
    if verdict.lanes is not None or other.lanes is None:
        return verdict.lanes
    codes = {outcome: code for code, outcome in OUTCOMES.items()}
    margin = float("nan") if verdict.margin is None else verdict.margin
    found = {"outcome": codes[verdict.outcome], "margin": margin}
    return xr.Dataset(found | {UNMET: verdict.has_unmet_guard})


def _joint_trace(verdict: Verdict) -> Trace | None:
    """The trace of several joined verdicts as a whole, such as a scan; elementary ones keep their own."""
    return verdict.trace if verdict.parts else None


def _joined(first: str, second: str) -> str:
    """Two sentences side by side; one if they are the same, or if the other is empty."""
    return "; ".join(dict.fromkeys(filter(None, (first, second))))
