"""Errata sheets: what a paper's authors should know, with the rows that show it, and their answers."""

import json
import re

import pytest
from test_ledger import HOSTILE, row
from toys import Spec, quadratic

import phasescope as ps
from phasescope.discovery import installed, is_built_in
from phasescope.ledger.card import card
from phasescope.ledger.errata import ErrataSheet, errata_entries, listed_errata
from phasescope.ledger.errata_latex import from_markdown
from phasescope.ledger.ledger import Ledger
from phasescope.verbs.errata import errata_sheet, page_of
from phasescope.verbs.rows import chosen_claims

PAGE = r"""
# A study

| | |
|---|---|
| x | not an erratum |

## Errata of the paper

| | |
|---|---|
| E1 | Lemma 1: $\frac\eta4$ for $\frac\eta2$ (`lem1`) |
| E2, E3 | Theorem 2 drops $\|u^*\|$ |
| E4 | a misprint |

## Files

| y | not one either |
"""
ANSWER = ps.answer("It is for l < L.", by="A. Author", date="2026-11-16")
ROWS = (
    row("lem1", "false", because="it is a quarter", tex=r"v = \tfrac\eta2", page="p. 4"),
    row("lem1-corrected", "holds", whose="corrected", erratum="E1"),
    row("thm2-corrected", "holds", whose="corrected", erratum="E3", answer=ANSWER),
    row("thm5", "vacuous"),
    row("thm6", "against"),
    row("fig7", "not_reproduced", kind="figure"),
    row("ours", "false", whose="ours"),
    row("thm8", "outside"),
)
SHEET = ErrataSheet(
    "toy", "A & B, 100% (2025)", "0.1", "7 hold", errata_entries(listed_errata(PAGE), ROWS)
)


def is_well_formed(tex: str) -> bool:
    """Braces, environments and formulas pair up, and outside of formulas nothing is special."""
    plain = re.sub(r"\\[\\{}$&%#_|,;:! ]", " ", tex)
    opened = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+\*?)\}", plain):
        if kind == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            return False
    depth = 0
    for letter in plain:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0:
            return False
    outside = plain.split("$")[::2]
    special = any(letter in part for part in outside for letter in "&#%^_~")
    return not opened and depth == 0 and plain.count("$") % 2 == 0 and not special


@pytest.mark.parametrize(
    "tex",
    ["{", "}{", r"\begin{a}\end{b}", r"\begin{a}", "$x", "x_1", "a & b", "100%", r"\{}"],
)
def test_what_is_not_well_formed_is_told(tex):
    assert not is_well_formed(tex)


def test_what_is_well_formed_is_told():
    assert is_well_formed(r"\begin{a} {x} $y_1^{2} \{ & z$ 5\% \end{a}".replace("& ", ""))


def test_the_table_of_errata_is_read_from_the_page():
    assert list(listed_errata(PAGE)) == ["E1", "E2, E3", "E4"]
    assert listed_errata(PAGE)["E2, E3"] == r"Theorem 2 drops $\|u^*\|$"
    assert listed_errata("") == {}


def test_an_erratum_has_the_rows_that_it_names_and_those_that_name_it():
    found = {e.label: [r.claim for r in e.rows] for e in SHEET if e.label}
    assert found == {"E1": ["lem1", "lem1-corrected"], "E2, E3": ["thm2-corrected"], "E4": []}


def test_disputed_statements_of_the_paper_that_no_erratum_names_follow():
    left = [entry.disputed[0].claim for entry in SHEET if not entry.label]
    assert left == ["thm5", "thm6", "fig7"]


def test_a_sheet_says_what_is_printed_what_was_found_what_is_right_and_how_to_see_it():
    text = SHEET.to_markdown()
    entry = text.split("## E1")[1].split("## ")[0]
    assert r"* **Printed** (Theorem 1, p. 4): $v = \tfrac\eta2$. It grows." in entry
    assert "✗ **false**, training, theory: step 0.1; required: step &gt; 0; at time=3." in entry
    assert "Why: it is a quarter." in entry
    assert "* **Corrected** (Theorem 1): It grows." in entry
    assert "`phasescope check toy --claim lem1-corrected`" in entry
    assert (
        "Seen in the text; nothing was measured for it." in text.split("## E4")[1].split("## ")[0]
    )


def test_a_row_of_two_errata_is_shown_in_full_once():
    page = "## Errata\n| E1 | one (`thm5`) |\n| E2 | two (`thm5`) |\n"
    sheet = ErrataSheet("toy", "", "", "", errata_entries(listed_errata(page), ROWS))
    for text in (sheet.to_markdown(), sheet.to_latex()):
        assert text.count("claim thm5") == 1
        assert "vacuous, see E1." in text


def test_the_latex_of_a_sheet_is_a_document_and_well_formed():
    tex = SHEET.to_latex()
    assert tex.startswith(r"\documentclass")
    assert tex.endswith("\\end{document}\n")
    assert r"A \& B, 100\% (2025)" in tex
    assert r"$\frac\eta4$ for $\frac\eta2$ (\texttt{lem1})" in tex
    assert r"\texttt{phasescope check toy -{}-claim lem1}" in tex
    assert is_well_formed(tex)


def test_hostile_words_stay_words():
    answer = ps.answer(HOSTILE, by=HOSTILE, date="2026-11-16")
    bad = row(HOSTILE, "false", because=HOSTILE, tex=HOSTILE, statement=HOSTILE, answer=answer)
    sheet = ErrataSheet(
        "toy", HOSTILE, "", HOSTILE, errata_entries({HOSTILE: HOSTILE, "E2": "$x$ {"}, [bad])
    )
    assert is_well_formed(sheet.to_latex())
    assert "\x1b" not in sheet.to_markdown() + sheet.to_latex()


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a *b* **c**", r"a \emph{b} \textbf{c}"),
        ("$x_1$ and `a_b`", r"$x_1$ and \texttt{a\_b}"),
        (r"$\input{x}$", r"\textbackslash{}input\{x\}"),
        ("5 $ and 6%", r"5 \$ and 6\%"),
    ],
)
def test_formulas_code_and_emphasis_of_a_page_are_set(text, tex):
    assert from_markdown(text) == tex


# --- built-in studies -------------------------------------------------------------------------------------------------


def made_up(study):
    """A row for every claim, with its established word."""
    for one in chosen_claims(study):
        typed = one.claim.typed
        yield row(
            one.claim.id,
            str(one.regime.expect),
            study=study.name,
            cites=one.claim.cites,
            statement=one.claim.statement,
            kind=str(typed.kind) if typed else None,
            whose=str(typed.whose) if typed else "paper",
            on=str(one.regime.on) if typed else None,
            tex=typed.tex if typed else "",
            page=typed.page if typed else "",
            erratum=typed.erratum if typed else "",
            because=one.regime.because,
        )


@pytest.fixture(params=[name for name, point in installed().items() if is_built_in(point)])
def built_in(request):
    return ps.find(request.param)


def test_every_built_in_study_has_errata_and_its_sheet_is_well_formed(built_in):
    sheet = errata_sheet(built_in, made_up(built_in))
    assert len(listed_errata(page_of(built_in))) >= 5
    assert len(sheet) >= 5
    assert is_well_formed(sheet.to_latex())


def test_every_erratum_that_a_claim_rests_on_is_on_the_page_of_its_study(built_in):
    labels = {
        label.strip() for listed in listed_errata(page_of(built_in)) for label in listed.split(",")
    }
    asked = {
        label.strip()
        for claim in built_in.claims
        if claim.typed
        for label in claim.typed.erratum.split(",")
        if label
    }
    assert asked <= labels


def test_every_disputed_statement_is_on_the_sheet(built_in):
    rows = list(made_up(built_in))
    disputed = ("false", "against", "vacuous", "not_reproduced")
    asked = {r.claim for r in rows if r.whose == "paper" and r.word in disputed}
    shown = {r.claim for entry in errata_sheet(built_in, rows) for r in entry.disputed}
    assert shown == asked


# --- answers of the authors -------------------------------------------------------------------------------------------


def test_an_answer_has_words_a_name_and_a_date():
    assert str(ANSWER) == "It is for l < L. (A. Author, 2026-11-16)"
    with pytest.raises(ps.PlanError, match="words and a name"):
        ps.answer(" ", by="A. Author", date="2026-11-16")
    with pytest.raises(ps.PlanError, match='got "yesterday"'):
        ps.answer("yes", by="A. Author", date="yesterday")


def falls(run):
    """The loss falls."""
    return ps.decreasing(run.loss, "loss")


def answered():
    made = ps.claim("Lemma 1", ps.on("training", ps.runs(quadratic)), id="lem1", kind="monotone")
    return ps.Study(
        "toys", Spec(), arms=(quadratic,), claims=(made(falls),), answers={"lem1": ANSWER}
    )


def test_an_answer_is_shown_wherever_its_claim_is():
    study = answered()
    ledger = ps.check(study, store=False)
    text = "It is for l < L. (A. Author, 2026-11-16)"
    (found,) = ledger.rows
    assert found.answer == ANSWER
    assert text in card(study.claim("lem1"), ledger.rows, "phasescope check toys")
    assert "It is for l &lt; L. (A. Author, 2026-11-16)" in ledger.to_markdown()
    assert "(A. Author, 2026-11-16)" in ledger.to_latex()
    assert json.loads(json.dumps(ledger.to_json()))["rows"][0]["answer"] == {
        "text": "It is for l < L.",
        "by": "A. Author",
        "date": "2026-11-16",
    }


def test_an_answer_stands_on_the_errata_sheet():
    assert "Authors: It is for l &lt; L. (A. Author, 2026-11-16)." in SHEET.to_markdown()
    assert "(A. Author, 2026-11-16)." in SHEET.to_latex()


def test_a_row_without_an_answer_says_so_in_json_alone():
    ledger = Ledger((row(),))
    assert ledger.to_json()["rows"][0]["answer"] is None
    assert "Answers of the authors" not in ledger.to_markdown()


def test_an_answer_to_no_claim_is_an_error():
    with pytest.raises(ps.SpecError, match="answers to no claim: lem9"):
        ps.Study("toys", Spec(), arms=(quadratic,), answers={"lem9": ANSWER})
