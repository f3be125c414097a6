"""Every numbered statement of the five papers has a row, or an entry among the unchecked ones with its reason."""

import re

import pytest

import phasescope as ps

# What is numbered in each paper; references to other papers are left out.
NUMBERED = {
    "regular_language": (
        "Lemmas A.1, B.1, B.2, B.5, B.6, C.1, C.2; Propositions 4.3, B.4; Theorems 4.1, 4.4, 4.5, 5.1, 5.2, 5.3, B.3, B.7, C.3"
    ),
    "lazy_to_rich": "Lemmas 2, 3, 5, 6, 7, 8, 10; Remark 1; Theorem 4",
    "scan_and_snap": "Corollaries 1, 2; Lemmas 1 to 18; Remarks 1 to 4; Theorems 1 to 5",
    "co_occurrence": (
        "Corollaries 4.6, D.2, D.5, E.10, E.13, E.20, E.24, F.2, F.7, F.9, F.12, F.13, F.15, F.17, F.18; Lemmas 4.1 to 4.5, 4.7,"
        " C.1 to C.4, D.1, D.3, D.4, D.6 to D.8, E.4, E.6, E.7, E.9, E.11, E.16, E.17, E.23, E.25, F.3 to F.6, F.10, F.11, F.14,"
        " F.16, F.19, G.1, G.2, H.1, H.2; Propositions E.3, E.5, E.8, E.12, E.21, E.22; Remark 2.2; Theorems 3.1 to 3.3, E.14,"
        " E.15, E.19, E.26 to E.28, F.8, F.20"
    ),
    "state_tracking": (
        "Claims A.1, A.2; Corollaries 5.1, B.1, C.1; Facts A.1, B.1 to B.4, C.1, C.2, D.1, E.1, F.1; Inductions A.1, B.1 to B.4,"
        " C.1 to C.4, D.1 to D.3, E.1, E.2, F.1; Lemmas A.1 to A.12, B.1 to B.13, C.1 to C.10, D.1 to D.45, E.1 to E.35, F.1 to"
        " F.16; Remarks C.1 to C.4, F.1; Theorems 1.1 to 1.3, 2.1, 4.1, 5.1, B.1, C.1, D.1, F.1"
    ),
}
KINDS = {
    "Corollaries": "Corollary",
    **{f"{kind}s": kind for kind in ("Claim", "Fact", "Induction", "Lemma", "Proposition")},
    "Remarks": "Remark",
    "Theorems": "Theorem",
}
WORD = re.compile(r"[A-Z][a-z]+|(?:[A-H]\.)?\d+(?:\.\d+)?|\bto\b|\([^)]*\)")


def statements(text):
    """Kind and number of the statements that a text names: `Lemmas B.2, B.4 to B.6` are four."""
    found = set()
    kind = last = None
    is_range = False
    for word in WORD.findall(text):
        if word == "to":
            is_range = True
        elif word[0].isalpha() and word[1:2].islower():
            kind = KINDS.get(word, word)
            is_range = False
        elif not word.startswith("("):
            numbers = _between(last, word) if is_range else [word]
            found |= {(kind, number) for number in numbers}
            last = word
            is_range = False
    return found


def _between(first, last):
    part, _, begin = first.rpartition(".")
    end = int(last.rpartition(".")[2])
    return [f"{part}.{n}" if part else str(n) for n in range(int(begin) + 1, end + 1)]


def test_ranges_of_statements_are_read_as_papers_write_them():
    found = statements("Lemmas B.2, B.4 to B.6 and Claim A.1 (2); Theorem 4")
    assert found == {
        *(("Lemma", number) for number in ("B.2", "B.4", "B.5", "B.6")),
        ("Claim", "A.1"),
        ("Theorem", "4"),
    }


@pytest.mark.parametrize("name", NUMBERED)
def test_every_numbered_statement_has_a_row_or_a_reason(name):
    study = ps.find(name)
    named = [f"{claim.cites}; {claim.typed.page}" for claim in study.claims]
    found = set().union(*map(statements, [*named, *study.unchecked]))
    missing = sorted(statements(NUMBERED[name]) - found)
    assert not missing
