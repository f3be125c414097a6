"""Row and Ledger: what a check of claims found."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..analysis.sources import Source
from ..analysis.verdict import Outcome, Verdict
from ..claims.answer import Answer
from ..claims.assumptions import Met
from ..claims.regime import RegimeName
from ..claims.statement import Kind, Object, Whose, unfit
from ..claims.words import Word
from ..files import Document

if TYPE_CHECKING:
    import pandas

LOGGED = "logged:"  # what `runs` has before a log that phasescope did not make


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the ledger: a claim, what it was held against, and the regime of the evidence.

        >>> ledger = ps.check("linear_modes", claim="waiting_time_is_logarithmic", store=False)
        >>> row = ledger.rows[0]
        >>> str(row.word), str(row.expected), row.surprising
        ('holds', 'holds', False)

    `word` is what the ledger says; `outcome` is what the check found by itself. `measured`,
    `required` and `where` are sentences; `value`, `where_at`, `margin`, `flips_at`, `sizes` and
    `sources` are the facts in them. `kind`, `whose` and `on` say what sort of statement it is, whose,
    and what it was held against; they and `word` are None for an untyped claim. `compared` of `asked` records
    meet the assumptions. `missing` says what an undecided row lacks. `runs` names the runs it rests
    on, `seconds` is what the judgement took. `reduced`, `recorded`, `outdated` and `registered` say
    what to know of the evidence, `error` that the check did not run. `verdict` has the parts.
    `erratum` is what a corrected statement rests on, `answer` what the paper's authors say.
    """

    study: str
    claim: str
    cites: str
    statement: str
    regime: RegimeName
    outcome: Outcome
    expected: Outcome | Word
    because: str
    measured: str
    required: str
    where: str
    value: float | None
    runs: tuple[str, ...]
    reduced: bool
    seconds: float
    error: bool = False
    recorded: bool = False
    outdated: bool = False  # it rests on recorded evidence that other code of the study made
    vacuous: bool = False  # its premises cannot hold together
    word: Word | None = None
    kind: Kind | None = None
    whose: Whose | None = None
    on: Object | None = None
    assumptions: tuple[Met, ...] = ()
    margin: float | None = None
    flips_at: float | None = None
    compared: int = 0
    asked: int = 0
    sizes: Mapping[str, tuple[float, ...]] = dataclasses.field(default_factory=dict, hash=False)
    where_at: Mapping[str, float] = dataclasses.field(default_factory=dict, hash=False)
    sources: tuple[Source, ...] = ()
    registered: bool = False
    reach: str = ""
    missing: str = ""
    tex: str = ""
    page: str = ""
    erratum: str = ""
    answer: Answer | None = None
    traceback: str = ""
    verdict: Verdict | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def surprising(self) -> bool:
        """The word is not the one established, or the check could not be carried out."""
        if self.error:
            return True
        found = self.word if self.is_typed else self.outcome
        return found != self.expected

    @property
    def logs(self) -> tuple[str, ...]:
        """The logs it rests on that phasescope did not make, with kind and digest, from `runs`."""
        return tuple(run.removeprefix(LOGGED) for run in self.runs if run.startswith(LOGGED))

    @property
    def at(self) -> Mapping[str, float]:
        """The coordinates of the worst case that are numbers."""
        return self.where_at

    @property
    def said(self) -> str:
        """The word with how far it reaches: `holds from N = 38000`; of an untyped row, its outcome."""
        if self.word is None:
            return str(self.outcome)
        return f"{self.word.said} {self.reach}".strip()

    @property
    def is_typed(self) -> bool:
        """The claim says what kind of statement it is."""
        return self.kind is not None

    @property
    def unfit(self) -> str:
        """Why the checks that were made do not fit the kind of the statement; nothing if they do."""
        if self.kind is None or self.verdict is None:
            return ""
        return unfit(self.kind, self.verdict, self.whose or Whose.PAPER)

    def to_json(self) -> Document:
        """As plain values: the keys of a row."""
        skipped = {"verdict", "assumptions", "sources", "sizes", "where_at", "answer"}
        plain = {
            field.name: _plain(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name not in skipped
        }
        at = dict(self.where_at)
        return plain | {
            "at": at,
            "where_at": at,
            "sizes": {name: list(values) for name, values in self.sizes.items()},
            "assumptions": [one.to_json() for one in self.assumptions],
            "sources": [source.to_json() for source in self.sources],
            "answer": None if self.answer is None else self.answer.to_json(),
        }


def _plain(value: Any) -> Any:
    """A plain value for JSON."""
    if isinstance(value, str):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


@dataclasses.dataclass(frozen=True)
class Ledger:
    """What a check of claims found: rows in the order of the paper. Printed, it is a table.

        >>> ledger = ps.check("linear_modes", claim="waiting_time_is_logarithmic", store=False)
        >>> len(ledger), ledger.surprises
        (1, [])

    **Arguments:** `rows`: of all claims, regime by regime. `unchecked`: for each study, the statements
    of the paper that have no claim, with the reason.
    """

    rows: tuple[Row, ...]
    unchecked: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def errors(self) -> list[Row]:
        """Rows whose check could not be carried out."""
        return [row for row in self.rows if row.error]

    @property
    def surprises(self) -> list[Row]:
        """Rows whose word is not the established one, or that could not be checked."""
        return [row for row in self.rows if row.surprising]

    def turned_by(self, *factors: float) -> list[Row]:
        """Rows whose word a factor on every chosen tolerance would turn: 0.5 halves them, 2 doubles them.

        Without factors, both. Bounds that are stated, released or derived stay as they are; untyped
        rows have no word to turn.
        """
        from .findings import DOUBLE, HALF, turned_rows

        return list(turned_rows(self.rows, factors or (HALF, DOUBLE)))

    def to_json(self) -> Document:
        """The rows as plain values."""
        return {
            "rows": [row.to_json() for row in self.rows],
            "unchecked": {study: dict(said) for study, said in self.unchecked.items()},
        }

    def to_dataframe(self) -> pandas.DataFrame:
        """The rows as a table of pandas: one line a row, one column a key."""
        import pandas

        return pandas.DataFrame([row.to_json() for row in self.rows])

    def to_markdown(self) -> str:
        """Counts, findings and all rows, as Markdown."""
        from .markdown import ledger_markdown

        return ledger_markdown(self)

    def to_latex(self) -> str:
        """All rows as a LaTeX table (longtable, booktabs), the paper's statements first."""
        from .latex import ledger_latex

        return ledger_latex(self)

    def _repr_html_(self) -> str:
        from .html import ledger_html

        return ledger_html(self)

    def __repr__(self) -> str:
        from .text import ledger_text

        return ledger_text(self)
