r"""The ledger as a LaTeX table, for a paper's appendix.

Every text of a study is escaped. Its formulas are set as such if they are mathematics and nothing
else: a formula with a command that is not listed here (`\input`, `\def`) is shown as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .appearance import caveats, footnotes, margin, measured, place, required, said, surprise
from .markup import visible
from .tally import Group, group_of

if TYPE_CHECKING:
    from .ledger import Ledger, Row

PREAMBLE = "% needs \\usepackage{amsmath,amssymb,array,booktabs,longtable}"
# Widths of the columns, as parts of the line.
WIDTHS = (0.15, 0.22, 0.10, 0.09, 0.06, 0.15, 0.12)
HEADS = ("claim", "statement", "regime", "word", "margin", "measured", "required")

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "[": "{[}",  # at the beginning of a line of a table it would be an option
    "*": "{*}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "∞": r"$\infty$",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
}
_LAST_LATIN = "\u017f"

# Commands of formulas that only set mathematics.
_GREEK = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi
    rho varrho sigma tau upsilon phi varphi chi psi omega varpi varsigma
    Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
"""
_MATHS = """
    frac tfrac dfrac sqrt sum prod int lim sup inf min max log ln exp sin cos tan tanh arg det dim
    ker Pr limsup liminf operatorname text mathrm mathbf mathcal mathbb mathsf boldsymbol bar hat
    tilde vec dot ddot overline underline widehat widetilde left right big Big bigg Bigg bigl bigr
    Bigl Bigr langle rangle lvert rvert lVert rVert vert Vert mid lfloor rfloor lceil rceil cdot
    cdots ldots dots vdots times div pm mp circ star ast oplus otimes odot le leq ge geq ne neq ll gg
    approx sim simeq cong equiv propto asymp lesssim gtrsim prec succ in notin ni subset subseteq
    supset supseteq cup cap setminus emptyset varnothing to gets mapsto Rightarrow Leftarrow
    Leftrightarrow rightarrow leftarrow leftrightarrow implies iff uparrow downarrow forall exists
    neg lnot land lor infty partial nabla ell Re Im top bot perp prime dagger colon quad qquad
    binom not mathbin mathrel limits nolimits displaystyle textstyle underbrace overbrace
"""
_KNOWN = frozenset((_GREEK + _MATHS).split())
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_SPACING = frozenset(r",;:!| {}%#&_")


def ledger_latex(ledger: Ledger) -> str:
    """The ledger as a `longtable` with rules of booktabs, the paper's statements first."""
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{width:g}\linewidth}}" for width in WIDTHS
    )
    heads = " & ".join(rf"\textit{{{head}}}" for head in HEADS) + r" \\"
    lines = [
        PREAMBLE,
        r"{\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{longtable}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        heads,
        r"\midrule",
        r"\endhead",
        r"\bottomrule",
        r"\endlastfoot",
    ]
    for study in dict.fromkeys(row.study for row in ledger):
        lines += _study([row for row in ledger if row.study == study], study)
    lines += [r"\end{longtable}", "}"]
    lines += [f"{escape(note.mark)} {escape(note.sentence)}.\\par" for note in footnotes(ledger)]
    answers = {(row.study, row.claim): row.answer for row in ledger if row.answer is not None}
    for (_, claim), answer in answers.items():
        lines.append(f"Answer of the authors to {escape(claim)}: {escape(str(answer))}\\par")
    return "\n".join(lines) + "\n"


def _study(rows: list[Row], study: str) -> Iterator[str]:
    for group in Group:
        members = [row for row in rows if group_of(row.kind, row.whose) == group]
        if members:
            title = f"{escape(study)}: {escape(str(group))}"
            yield rf"\multicolumn{{{len(HEADS)}}}{{@{{}}l}}{{\textbf{{{title}}}}} \\*"
            yield from map(_line, members)


def _line(row: Row) -> str:
    marks = "".join(escape(note.mark) for note in caveats(row))
    word = escape(said(row))
    if row.surprising:
        word += rf" \textbf{{({escape(surprise(row))})}}"
    cells = (
        f"{_name(row)}: {escape(', '.join(filter(None, (row.cites, row.page))))}",
        formula(row.tex) if row.tex else escape(row.statement),
        f"{escape(place(row))}{marks}",
        word,
        _number(margin(row)),
        escape(measured(row)),
        escape(required(row)),
    )
    return " & ".join(cells) + r" \\"


def _name(row: Row) -> str:
    """The id, which may be broken after its underscores."""
    return escape(row.claim).replace(r"\_", r"\_\allowbreak{}")


def _number(text: str) -> str:
    """A number with a proper sign."""
    return f"${text}$" if re.fullmatch(r"[+-]?[\d.]+", text) else escape(text)


def formula(tex: str) -> str:
    r"""A formula as mathematics; as it is written if it has a command that is not mathematics."""
    line = " ".join(tex.split())
    return f"${line}$" if is_mathematics(line) else escape(line)


def is_mathematics(tex: str) -> bool:
    """Known commands only, balanced braces, and nothing that ends the formula or begins a comment."""
    if not tex.isascii() or not tex.isprintable() or "^^" in tex or tex.endswith("\\"):
        return False
    for found in _COMMAND.finditer(tex):
        name = found[1]
        if name not in (_KNOWN if name.isalpha() else _SPACING):
            return False
    return _is_balanced(_COMMAND.sub(" ", tex)) and _has_its_arguments(tex)


def _is_balanced(plain: str) -> bool:
    """What is left without its commands: braces pair up, and no special character is there."""
    if any(special in plain for special in "$%#&~"):
        return False
    depth = 0
    for letter in plain:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth < 0:
            return False
    return depth == 0


def _has_its_arguments(tex: str) -> bool:
    """Every delimiter that is opened to fit is closed: `left` has its `right`."""
    names = [found[1] for found in _COMMAND.finditer(tex)]
    return names.count("left") == names.count("right")


def escape(text: str) -> str:
    """Text of a study in LaTeX: no command, formula or comment can begin in it."""
    return "".join(map(_letter, visible(" ".join(text.split()))))


def _letter(letter: str) -> str:
    if letter in _SPECIAL:
        return _SPECIAL[letter]
    return letter if letter <= _LAST_LATIN else f"(U+{ord(letter):04X})"
