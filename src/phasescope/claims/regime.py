"""Regime: where a claim is tested, on what evidence, and what has been established there."""

from __future__ import annotations

import dataclasses
import enum
import string
from typing import Any

from ..analysis.verdict import Outcome, Verdict
from ..errors import PlanError, nearest
from .requests import Request
from .statement import Object, known
from .words import Word

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
# Words that need no explanation.
PLAIN = (Outcome.HOLDS, Word.HOLDS, Word.REPRODUCED, Word.AS_BEFORE)


class RegimeName(enum.StrEnum):
    """Where a claim may be tested."""

    PUBLISHED = "published"
    THEORY = "theory"
    BEYOND = "beyond"


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
