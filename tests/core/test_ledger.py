"""How a ledger reads: counts by word, what a reader should see first, and its forms as text and tables."""

from __future__ import annotations

import dataclasses
import re

import pandas
import pytest

import phasescope as ps
from phasescope.analysis.sources import Source, SourceKind
from phasescope.claims.assumptions import Met, Scope
from phasescope.claims.regime import RegimeName
from phasescope.claims.statement import Kind, Object, Whose
from phasescope.claims.words import Word
from phasescope.discovery import installed, is_built_in
from phasescope.ledger.appearance import COLOURS, SYMBOLS
from phasescope.ledger.card import card
from phasescope.ledger.findings import findings
from phasescope.ledger.latex import escape, formula, is_mathematics
from phasescope.ledger.ledger import Ledger, Row
from phasescope.ledger.tally import Group, counts, in_words
from phasescope.testing import VerdictContract

HOSTILE = "</script><script>alert(1)</script>$\\href{javascript:alert(1)}{x}$\x1b[31m\u202e"
OUTCOMES = {"false": "fails", "against": "fails", "not_yet": "fails", "outside": "fails"}
CHOSEN = Source(0.05, SourceKind.CHOSEN, "five times the error of a step")
BARE = Source(0.05, SourceKind.CHOSEN)
STATED = Source(0.05, SourceKind.STATED, "Lemma D.8")


def row(
    claim="grows", word="holds", expected=None, whose="paper", kind="sign", on="training", **changes
) -> Row:
    """A typed row; untyped with `kind=None`, and then `word` is its outcome."""
    typed = kind is not None
    outcome = OUTCOMES.get(word, word if word in ("fails", "undecided") else "holds")
    known = Word if typed else ps.Outcome
    usual = {
        "study": "toy",
        "cites": "Theorem 1",
        "statement": "It grows.",
        "regime": RegimeName.THEORY,
        "outcome": ps.Outcome(outcome),
        "expected": known(expected or word),
        "because": "",
        "measured": "step 0.1",
        "required": "step > 0",
        "where": "time=3",
        "value": 0.1,
        "runs": (),
        "reduced": False,
        "seconds": 0.01,
        "word": Word(word) if typed else None,
        "kind": Kind(kind) if typed else None,
        "whose": Whose(whose) if typed else None,
        "on": Object(on) if typed else None,
    }
    return Row(claim=claim, **(usual | changes))


MIXED = Ledger(
    (
        row("a"),
        row("b"),
        row("c", "false", because="it is log t"),
        row("d", "holds", whose="corrected"),
        row("e", "not_yet", whose="ours", because="from N = 9000"),
        row("f", "as_before", kind="regression", whose="ours"),
        row("g", "fails", kind=None, because="it is finite"),
        row("h", "vacuous", expected="holds"),
    ),
    unchecked={"toy": {"Figure 7": "needs a text corpus"}},
)


# --- every word can be seen ---------------------------------------------------------------------------


def test_in_a_notebook_the_text_is_text_and_nothing_is_shown_beside_it(monkeypatch):
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert "✓ holds" in repr(Ledger((row(),)))


def test_every_word_has_a_symbol_and_a_colour_of_okabe_and_ito():
    okabe_ito = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"]
    assert {word.value for word in Word} <= SYMBOLS.keys() & COLOURS.keys()
    assert set(COLOURS.values()) <= set(okabe_ito)


def test_no_two_words_share_a_symbol():
    symbols = [SYMBOLS[word.value] for word in Word]
    assert len(set(symbols)) == len(symbols)


@pytest.mark.parametrize("word", list(Word))
def test_every_word_is_written_out_in_every_form(word):
    ledger = Ledger((row(word=word.value),))
    plain = word.value.replace("_", " ")
    forms = (repr(ledger), ledger._repr_html_(), ledger.to_markdown(), ledger.to_latex())
    assert [plain in form for form in forms] == [True] * 4


def test_what_a_statement_was_held_against_stands_beside_the_regime():
    text = repr(Ledger((row(on="printed equations"),)))
    assert "printed" in text
    assert "theory" in text
    assert "printed equations, theory" in Ledger((row(on="printed equations"),)).to_markdown()


def test_a_margin_has_its_column_and_its_sign():
    assert "| +0.42 |" in Ledger((row(margin=0.4217),)).to_markdown()
    assert "-0.013" in repr(Ledger((row(margin=-0.0131),)))


def test_an_untyped_row_shows_its_outcome_and_says_that_it_is_untyped():
    ledger = Ledger((row(word="fails", kind=None),))
    assert "fails (untyped)" in ledger.to_markdown()
    assert "(untyped)" in ledger._repr_html_()


def test_a_word_shows_how_far_it_reaches():
    assert "holds from N = 38000" in Ledger((row(reach="from N = 38000"),)).to_markdown()


def many_checks(*values: float) -> Row:
    joined = ps.all_of(ps.at_most([x], ps.chosen(1.0, "a guess"), f"x{x:g}") for x in values)
    word = "holds" if joined.outcome is ps.Outcome.HOLDS else "false"
    return row(
        word=word,
        margin=joined.margin,
        measured=joined.measured,
        required=joined.required,
        verdict=joined,
    )


@pytest.mark.parametrize(
    ("values", "deciding", "others"),
    [
        ((0.1, 0.9, 0.2, 0.3), "x0.9", ("x0.1", "x0.2", "x0.3")),
        ((0.1, 1.2, 2.0, 0.3), "x2", ("x0.1", "x1.2", "x0.3")),
    ],
)
def test_a_row_of_many_checks_shows_the_one_that_decides(monkeypatch, values, deciding, others):
    monkeypatch.setenv("COLUMNS", "200")
    ledger = Ledger((many_checks(*values),))
    for form in (repr(ledger), ledger.to_markdown(), ledger._repr_html_(), ledger.to_latex()):
        told = " ".join(form.split())
        assert f"{deciding} " in told
        assert not [name for name in others if f"{name} " in told]
        assert "3 more" in told


def test_a_row_of_few_checks_shows_them_all():
    told = Ledger((many_checks(0.1, 0.9, 0.2),)).to_markdown()
    assert [name in told for name in ("x0.1", "x0.9", "x0.2")] == [True] * 3


# --- counts -------------------------------------------------------------------------------------------


def test_counts_are_by_word_the_papers_and_ours_apart():
    [tally] = counts(MIXED).values()
    assert tally.words == {
        Group.PAPER: {"holds": 2, "false": 1, "vacuous": 1},
        Group.CORRECTED: {"holds": 1},
        Group.OURS: {"not_yet": 1},
        Group.REGRESSION: {"as_before": 1},
        Group.UNTYPED: {"fails": 1},
    }
    assert (tally.total, tally.surprises) == (8, 1)


def test_the_papers_statements_are_counted_first():
    [tally] = counts(Ledger(tuple(reversed(MIXED.rows)))).values()
    assert list(tally.words)[:3] == [Group.PAPER, Group.CORRECTED, Group.OURS]


def test_a_regression_is_counted_apart_whosever_it_is():
    [tally] = counts([row(kind="regression", word="as_before", whose="paper")]).values()
    assert list(tally.words) == [Group.REGRESSION]


def test_counts_are_said_in_words():
    assert in_words({"holds": 12, "fails": 1, "not_yet": 3}) == "12 hold, 1 fails, 3 not yet"
    assert "the paper's: 2 hold, 1 false, 1 vacuous" in repr(MIXED)
    assert "ours: 1 not yet" in repr(MIXED)


def test_statements_without_a_row_are_printed_under_the_ledger():
    assert "Figure 7: needs a text corpus" in repr(MIXED)
    assert "Figure 7: needs a text corpus" in MIXED.to_markdown()


# --- findings -----------------------------------------------------------------------------------------


def test_a_word_that_changed_is_a_surprise_and_nothing_else():
    found = findings(MIXED)
    assert [r.claim for r in found.surprises] == ["h"]
    assert found.empty == ()


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("false", "false"),
        ("against", "against"),
        ("not_yet", "not_yet"),
        ("vacuous", "empty"),
        ("trivial", "empty"),
        ("not_reproduced", "not_reproduced"),
        ("outside", "outside"),
        ("undecided", "undecided"),
    ],
)
def test_an_established_word_is_listed_with_its_reason(word, name):
    ledger = Ledger((row("x", word, because="that is so"),))
    assert [r.claim for r in getattr(findings(ledger), name)] == ["x"]
    assert "Why: that is so." in ledger.to_markdown()


@pytest.mark.parametrize(
    ("margin", "sources", "thin"),
    [
        (0.049, (CHOSEN,), True),
        (-0.049, (CHOSEN,), True),
        (0.05, (CHOSEN,), False),
        (0.049, (STATED,), False),
        (None, (CHOSEN,), False),
    ],
)
def test_a_margin_is_thin_below_a_twentieth_of_a_chosen_bound(margin, sources, thin):
    assert bool(findings([row(margin=margin, sources=sources)]).thin) == thin


def test_a_margin_is_thin_by_the_bound_that_decides_it():
    near = ps.at_most([0.99], ps.stated(1.0, "Lemma 2"))
    far = ps.at_most([0.01], ps.chosen(1.0, "a guess"))
    judged = dataclasses.replace(
        row(margin=(near & far).margin), sources=(near & far).sources, verdict=near & far
    )
    assert findings([judged]).thin == ()


@pytest.mark.parametrize(
    ("word", "flips_at", "turned"),
    [
        ("holds", 0.51, True),
        ("holds", 0.5, False),
        ("false", 1.99, True),
        ("false", 2.0, False),
        ("holds", None, False),
    ],
)
def test_a_row_that_half_or_twice_the_tolerance_turns_is_named(word, flips_at, turned):
    found = findings([row(word=word, flips_at=flips_at, sources=(CHOSEN,))])
    assert bool(found.turning) == turned


def test_a_factor_on_every_chosen_tolerance_turns_what_holds_or_what_fails():
    tight = row("tight", word="holds", flips_at=0.7, sources=(CHOSEN,))
    near = row("near", word="false", flips_at=1.5, sources=(CHOSEN,))
    ledger = Ledger((tight, near, row("calm", word="holds", flips_at=0.1, sources=(CHOSEN,))))
    names = [[r.claim for r in ledger.turned_by(*f)] for f in [(0.5,), (2.0,), (), (0.8,)]]
    assert names == [["tight"], ["near"], ["tight", "near"], []]


def test_untyped_rows_have_no_word_to_turn():
    ledger = Ledger((row(kind=None, flips_at=0.9, sources=(CHOSEN,)),))
    assert ledger.turned_by() == []
    assert "every chosen tolerance" not in repr(ledger)


def words_turned(turned, steady):
    """What the contract of a study says of so many rows that turn, and so many that do not."""
    rows = [row(f"t{n}", flips_at=0.9, sources=(CHOSEN,)) for n in range(turned)]
    rows += [row(f"s{n}") for n in range(steady)]
    rows += [row(f"u{n}", kind=None, flips_at=0.9, sources=(CHOSEN,)) for n in range(9)]
    contract = VerdictContract()
    contract.test_half_and_twice_of_every_chosen_tolerance_leave_the_words(rows)


def test_a_study_in_which_one_word_in_twenty_turns_keeps_its_contract():
    words_turned(2, 38)


def test_a_study_in_which_more_words_turn_does_not_and_they_are_named():
    with pytest.raises(AssertionError, match=r"2 of 39 words turn: t0 \(training, theory\), t1"):
        words_turned(2, 37)


def test_of_a_few_rows_nothing_is_asked():
    with pytest.raises(pytest.skip.Exception, match="19 rows"):
        words_turned(19, 0)


def test_the_ledger_says_how_many_words_other_tolerances_leave_and_names_the_rest():
    turned = row("x", flips_at=0.9, sources=(CHOSEN,))
    ledger = Ledger((turned, row("y"), row("z")))
    said = "half and twice of every chosen tolerance leave 2 of 3 words as they are"
    assert f"{said}; they turn x (" in repr(ledger)
    assert f"{said}." in ledger.to_markdown()


def test_a_tolerance_that_the_paper_states_is_neither_halved_nor_doubled():
    assert findings([row(flips_at=0.9, sources=(STATED,))]).turning == ()


def test_a_failure_that_rests_on_a_stated_bound_too_is_not_turned_by_doubling():
    stated = ps.at_most([1.5], ps.stated(1.0, "Lemma 2"))
    chosen = ps.at_most([1.5], ps.chosen(1.0, "a guess"))
    both = stated & chosen
    judged = row(word="false", flips_at=both.flips_at, sources=both.sources, verdict=both)
    alone = row(word="false", flips_at=chosen.flips_at, sources=chosen.sources, verdict=chosen)
    assert [bool(findings([one]).turning) for one in (judged, alone)] == [False, True]


def test_bounds_without_a_reason_are_listed_with_their_numbers():
    ledger = Ledger((row("x", sources=(BARE,)), row("y", sources=(CHOSEN,))))
    assert [r.claim for r in findings(ledger).unexplained] == ["x"]
    listed = ledger.to_markdown().split("### Bounds chosen without a reason")[1]
    assert listed.splitlines()[2].endswith(": 0.05")


# --- tables -------------------------------------------------------------------------------------------

KEYS = re.findall(
    r"\w+",
    """kind whose on word assumptions margin flips_at compared asked sizes where_at sources registered
    tex page outcome expected measured required where value""",
)


def test_a_dataframe_has_a_line_for_each_row_and_a_column_for_each_key():
    frame = MIXED.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert set(KEYS) <= set(frame.columns)
    assert frame.word.tolist()[:3] == ["holds", "holds", "false"]
    assert frame[frame.whose == "ours"].claim.tolist() == ["e", "f"]


def test_markdown_counts_by_word_with_a_line_for_each_group():
    lines = MIXED.to_markdown().splitlines()
    assert lines[2] == (
        "| study | statements | holds | false | not yet | vacuous | as before | fails |"
    )
    assert lines[4] == "| toy | the paper's | 2 | 1 | 0 | 1 | 0 | 0 |"


# --- LaTeX --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("100% of a_b & c#1", r"100\% of a\_b \& c\#1"),
        ("${x}^2~\\y", r"\$\{x\}\textasciicircum{}2\textasciitilde{}\textbackslash{}y"),
        ("a < b > c | d", r"a \textless{} b \textgreater{} c \textbar{} d"),
        ("1 ± 0.1", r"1 $\pm$ 0.1"),
        ("[x] * y", "{[}x] {*} y"),
        ("Müller ✓", "Müller (U+2713)"),
        ("two\nlines", "two lines"),
        ("\x1b[31m", r"\textbackslash{}x1b{[}31m"),
    ],
)
def test_text_in_latex_is_escaped(text, latex):
    assert escape(text) == latex


@pytest.mark.parametrize(
    "tex",
    [
        r"\langle u_t, E_1^w\rangle = \Theta(\eta t)",
        r"a_i b_i = s_i / (1 + (s_i / \epsilon - 1) e^{-2 s_i t})",
        r"\left\| W \right\|_F^2 \le \tfrac{1}{2} \ln\{1/\epsilon\}",
    ],
)
def test_a_formula_is_set_as_mathematics(tex):
    assert formula(tex) == f"${tex}$"


@pytest.mark.parametrize(
    "tex",
    [
        r"\input{/etc/passwd}",
        r"x$ \write18{ls} $",
        "x % y",
        "{x",
        "x}",
        "a & b",
        r"\def\x{}",
        r"^^5cinput",
        "x\\",
        r"\left( x",
        r"a \\ b",
        "t → ∞",
    ],
)
def test_what_is_not_mathematics_is_shown_as_it_is_written(tex):
    assert not is_mathematics(tex)
    assert formula(tex) == escape(tex)


def test_the_formulas_of_the_built_in_studies_are_mathematics():
    studies = [ps.find(name) for name, point in installed().items() if is_built_in(point)]
    formulas = [c.typed.tex for s in studies for c in s.claims if c.typed is not None]
    assert [tex for tex in formulas if not is_mathematics(" ".join(tex.split()))] == []


OURS = {
    *(
        "begin",
        "end",
        "multicolumn",
        "linewidth",
        "footnotesize",
        "setlength",
        "tabcolsep",
        "raggedright",
        "arraybackslash",
    ),
    *("toprule", "midrule", "bottomrule", "endhead", "endlastfoot", "textbf", "textit"),
    *("textbackslash", "textless", "textgreater", "char"),
}


def unescaped(text: str, letter: str) -> int:
    """How often a special character of LaTeX stands without a backslash before it."""
    plain = text.replace(r"\textbackslash", "").replace(r"\\", "")
    return len(re.findall(rf"(?<!\\){re.escape(letter)}", plain))


def test_a_hostile_study_leaves_latex_balanced_and_without_commands_of_its_own():
    texts = dict.fromkeys(("cites", "page", "statement", "measured", "required", "study"), HOSTILE)
    table = Ledger((row(HOSTILE, tex=HOSTILE, reach=HOSTILE, **texts),)).to_latex()
    body = table.split("\n", 1)[1]  # without the comment on packages
    commands = set(re.findall(r"\\([A-Za-z]+)", body))
    assert commands <= OURS
    assert unescaped(body, "{") == unescaped(body, "}")
    assert unescaped(body, "$") % 2 == 0
    assert unescaped(body, "%") == unescaped(body, "#") == unescaped(body, "~") == 0


def test_a_line_of_the_latex_table_has_as_many_cells_as_its_head():
    table = MIXED.to_latex()
    lines = [line for line in table.splitlines() if line.endswith(r" \\")]
    assert {unescaped(line, "&") for line in lines} == {6}
    assert len(lines) == 1 + len(MIXED)


def test_the_columns_of_the_latex_table_fit_on_a_line():
    table = MIXED.to_latex()
    widths = [float(width) for width in re.findall(r"p\{([\d.]+)\\linewidth\}", table)]
    line = 345.0  # points, of an article at 10pt
    gaps = 2 * (len(widths) - 1) * 3.0
    assert sum(widths) * line + gaps <= line


def test_a_margin_in_latex_has_a_proper_sign_and_a_long_id_can_be_broken():
    table = Ledger((row("a_long_id", margin=-0.25), row("b", margin=1e-9))).to_latex()
    assert "& $-0.25$ &" in table
    assert "& +1e-09 &" in table
    assert r"a\_\allowbreak{}long\_\allowbreak{}id" in table


def test_every_environment_of_the_latex_table_is_closed():
    table = MIXED.to_latex()
    assert re.findall(r"\\begin\{(\w+)\}", table) == re.findall(r"\\end\{(\w+)\}", table)
    assert r"\toprule" in table
    assert r"\bottomrule" in table


def test_the_latex_table_has_the_papers_statements_before_ours():
    table = Ledger(tuple(reversed(MIXED.rows))).to_latex()
    assert table.index("the paper's}") < table.index("corrected}") < table.index("ours}")


# --- one claim in full --------------------------------------------------------------------------------


def scores():
    raise AssertionError("no evidence is needed for a card")


@ps.claim(
    "Theorem 4.1",
    ps.on("training", ps.tables(scores)),
    id="thm4.1-v1",
    aliases=("4.1-u1",),
    kind="theta",
    whose="corrected",
    erratum="E8",
    tex=r"v_1 = \Theta(\eta t)",
    page="p. 6, eq. (7)",
    as_=("N", "inf"),
    hides=("l",),
    up_to_logs=True,
    whp=0.05,
)
def the_score_grows(runs):
    """The first score grows linearly."""


def one_card(**changes) -> str:
    judged = ps.at_most([0.02], ps.stated(0.05, "Lemma D.8"), "step") & ps.guard(
        ps.positive([1.0], "movement")
    )
    usual = {
        "margin": judged.margin,
        "flips_at": 0.4,
        "verdict": judged,
        "sources": (*judged.sources, BARE),
        "assumptions": (Met("large_lam", Scope.LANE, True, 1.3, True, 20.0, 20.0),),
        "sizes": {"N": (6.0, 1024.0)},
        "compared": 30,
        "asked": 40,
        "runs": ("toy/descent/0123",),
        "because": "it starts at 0.02",
        "recorded": True,
    }
    rows = [row("thm4.1-v1", kind="theta", whose="corrected", **(usual | changes))]
    return card(the_score_grows, rows, "phasescope check toy --claim thm4.1-v1", width=160)


@pytest.mark.parametrize(
    "line",
    [
        "claim         thm4.1-v1 (toy)",
        "also          the_score_grows, 4.1-u1",
        "cites         Theorem 4.1, p. 6, eq. (7)",
        "statement     The first score grows linearly.",
        r"formula       v_1 = \Theta(\eta t)",
        "held against  training, theory",
        "word          ✓ holds: the check passes",
        "why           it starts at 0.02",
        "sizes         N = 6, 1024",
        "compared      30 of 40 records",
        "runs          toy/descent/0123",
        "reproduce     phasescope check toy --claim thm4.1-v1",
    ],
)
def test_a_claim_in_full_says(line):
    assert line in one_card().splitlines()


@pytest.mark.parametrize(
    "part",
    [
        "theta, the paper's, corrected; erratum E8; as N -> inf; the constant may depend on l",
        "up to logarithms; with probability 1 - 0.05",
        "large_lam (lane, its constant is free): met: the ratio that must be at least 1 is 20",
        "0.05 stated: Lemma D.8",
        "0.05 chosen: without a reason",
        "[guard, positive]",
        "a factor of 0.4 on the tolerance turns it",
        "post hoc",
        "--recompute runs it again",
    ],
)
def test_a_claim_in_full_tells(part):
    assert part in " ".join(one_card().split())


def test_each_check_stands_on_its_own_line_with_requirement_number_and_margin():
    lines = [line for line in one_card().splitlines() if "; required: " in line]
    assert len(lines) == 2
    assert "0.02" in lines[0]
    assert "0.05" in lines[0].split("required: ")[1]
    assert ", margin +0.6" in lines[0]
    assert ", margin" not in lines[1]


def test_a_broken_assumption_is_named_with_how_far_it_is_broken():
    broken = (Met("large_lam", Scope.LANE, False, -2.0, False, 0.01, 0.5),)
    told = " ".join(one_card(assumptions=broken).split())
    assert "large_lam (lane): broken: the ratio that must be at least 1 is 0.01 to 0.5" in told
    assert "margin -2 decades" in told


def test_a_card_cannot_command_a_terminal():
    told = one_card(because=HOSTILE, runs=(HOSTILE,), reach=HOSTILE)
    assert "\x1b" not in told
    assert "\u202e" not in told
