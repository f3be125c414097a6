"""The report: what it counts, what it puts first, what it writes, and that no text of a study can command it."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html.parser
import json
import re
import subprocess
import sys

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope import report
from phasescope.claims.regime import RegimeName
from phasescope.ledger.ledger import Ledger, Row
from phasescope.ledger.markup import safe_name, tag
from phasescope.report.page import asset, policy
from phasescope.verbs.context import Context

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>$\\href{javascript:alert(1)}{x}$\x1b[31m\u202e"
FAILS, HOLDS = ps.Outcome.FAILS, ps.Outcome.HOLDS


def row(
    claim="grows", outcome="holds", expected="holds", regime="published", study="toy", **changes
) -> Row:
    usual = {
        "cites": "Theorem 1",
        "statement": "It grows.",
        "because": "",
        "where": "time=3",
        "value": 0.1,
    }
    usual |= {
        "measured": "step 0.1",
        "required": "step > 0",
        "runs": (),
        "reduced": False,
        "seconds": 0.01,
    }
    usual |= {
        "regime": RegimeName(regime),
        "outcome": ps.Outcome(outcome),
        "expected": ps.Outcome(expected),
    }
    return Row(study=study, claim=claim, **(usual | changes))


MIXED = Ledger(
    (
        row("a"),
        row("b", "fails", "fails", because="the proof freezes attention"),
        row("c", "undecided", "undecided", because="three points"),
        row("d", "fails", "holds"),
        row("e", "holds", "holds", "theory", reduced=True),
        row("e", "fails", "fails", "beyond", because="width is finite"),
        row("f", "undecided", "undecided", error=True),
        row("g", study="other"),
        row("h", measured="bound 1e9: vacuous", vacuous=True, study="other"),
    )
)


class Spec(ps.Spec):
    eta: float = 0.1


def idle(spec):
    raise AssertionError("no arm is needed for tables")


def curves(count=120):
    t = np.geomspace(1, 1e4, count)
    flags = {"flag_values": [0, 1], "flag_meanings": "first second"}
    return xr.Dataset(
        {
            "loss": ("time", 1 / t),
            "score": (("time", "position"), np.outer(np.log(t), [1.0, -1.0])),
        },
        coords={
            "time": t,
            "position": [1, 2],
            "stage": ("time", (t > 100).astype(np.int32), flags),
        },
    )


def unobtainable():
    raise RuntimeError("the solver gave up")


@ps.claim("Theorem 1", ps.tables(curves), id="falls")
def falls(ds):
    """The loss falls."""
    return ps.Verdict(HOLDS, "largest step -1e-4", "falls", "time=100", -1e-4, at={"time": 100.0})


@ps.claim(
    "Theorem 2",
    ps.published(ps.tables(curves), expect=FAILS, because="it is finite"),
    ps.theory(ps.tables(curves)),
)
def reaches_zero(ds):
    """The loss reaches zero."""
    return ps.Verdict(FAILS, "1e-4", "0")


@ps.claim(
    "Lemma 5",
    ps.on("training", ps.tables(curves)),
    ps.on("printed equations", ps.tables(curves, count=30)),
    id="lem5",
    kind="sign",
    whose="ours",
    tex="L_t > 0",
    page="p. 9",
)
def stays_positive(ds):
    """The loss is positive."""
    return ps.positive(ds.loss, "loss")


@ps.figure("Figure 1", ps.tables(curves))
def learning_curve(ds, axes):
    """The loss against time."""
    ds.loss.plot(ax=axes)


@ps.figure("Figure 2", ps.tables(curves))
def wrong_name(ds, axes):
    """A quantity that is not there."""
    ds.momentum.plot(ax=axes)


@ps.figure("Figure 3", ps.tables(unobtainable))
def no_evidence(ds, axes):
    """Evidence that is not there."""


def study(
    name="toy",
    claims=(falls, reaches_zero, stays_positive),
    figures=(learning_curve, wrong_name, no_evidence),
    **more,
):
    return ps.Study(name, Spec(), arms=(idle,), claims=claims, figures=figures, **more)


def hostile_study():
    table = lambda: xr.Dataset(
        {HOSTILE * 2: (HOSTILE, [1.0, 2.0])}, coords={HOSTILE: [HOSTILE, "b"]}
    )
    table.__name__ = HOSTILE
    check = lambda ds: ps.Verdict(FAILS, HOSTILE, HOSTILE, HOSTILE)
    check.__name__, check.__doc__ = HOSTILE, HOSTILE
    draw = lambda ds, axes: axes.plot([1, 2])
    draw.__name__, draw.__doc__ = HOSTILE, HOSTILE
    claim = ps.claim(HOSTILE, ps.published(ps.tables(table), expect=FAILS, because=HOSTILE))(check)
    compare = lambda ds: ps.negative(ds[HOSTILE * 2], HOSTILE)
    compare.__name__, compare.__doc__ = HOSTILE, HOSTILE
    typed = ps.claim(
        HOSTILE, ps.on("training", ps.tables(table)), kind="sign", tex=HOSTILE, page=HOSTILE
    )(compare)
    typed = dataclasses.replace(typed, id=f"{HOSTILE} typed")
    return study(
        HOSTILE,
        (claim, typed),
        (ps.figure(HOSTILE, ps.tables(table))(draw),),
        paper=HOSTILE,
        bibtex=HOSTILE,
        unchecked={HOSTILE: HOSTILE},
    )


class Elements(html.parser.HTMLParser):
    """Tags and attributes, as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return report.write_report(
        [study(), hostile_study()],
        Context(),
        tmp_path_factory.mktemp("report"),
        formats=("png", "svg"),
    )


@pytest.fixture(scope="module")
def page(written):
    return written.html.read_text(encoding="utf-8")


def test_every_row_is_counted_once_under_the_word_that_it_has():
    assert report.counts(MIXED) == {
        "toy": report.Tally({report.Group.UNTYPED: {"holds": 2, "undecided": 2, "fails": 3}}, 2),
        "other": report.Tally({report.Group.UNTYPED: {"holds": 2}}, 0),
    }


def test_a_check_that_could_not_run_is_a_surprise_even_where_undecided_is_expected():
    assert [r.claim for r in report.findings(MIXED).surprises] == ["d", "f"]


def test_a_claim_that_holds_in_one_regime_only_is_found_with_all_its_rows():
    assert [[r.regime for r in group] for group in report.findings(MIXED).regime_bound] == [
        ["theory", "beyond"]
    ]


def test_a_vacuous_success_is_listed_as_such():
    found = report.findings(MIXED)
    assert [r.claim for r in found.undecided] == ["c"]
    assert [r.claim for r in found.empty] == ["h"]


def test_text_says_outcome_expectation_and_size_in_words():
    text = report.ledger_text(MIXED, width=140)
    assert all(
        word in text
        for word in (
            "✓ holds",
            "✗ fails",
            "? undecided",
            "! expected holds",
            "theory *",
            "* judged",
        )
    )


def test_no_column_is_lost_in_a_narrow_terminal():
    text = report.ledger_text(
        Ledger((row("a_claim_with_quite_a_long_name_as_they_are", measured="words " * 20),)),
        width=80,
    )
    assert "where" in text and "time=3" in text


@pytest.mark.parametrize("width", [80, 90, 100, 115, 116, 140])
def test_nothing_of_a_ledger_is_cut_off_by_a_narrow_terminal(width):
    log = "folder/of/all/my/runs/seed_17/modes.csv (CSV, sha256 22052a7f11f6)"
    cells = {
        "claim": "a_claim_with_quite_a_long_name_as_they_are",
        "measured": "the largest gap is 0.25 (0.5 against 0.25), " * 4,
        "required": "never above 0.5 where the time is short, " * 4,
        "where": "time=10, mode=17, seed=1234",
    }
    page = report.ledger_text(Ledger((row(**cells, runs=(f"logged:{log}",)),)), width=width)
    table, caption = page.split("§ judged on", 1)
    _, heads, _, *lines = table.splitlines()
    names = heads.split()
    starts = [heads.index(name) for name in names]
    for name, start, end in zip(names, starts, [*starts[1:], None], strict=True):
        found = "".join("".join(line[start:end].split()) for line in lines)
        assert found == "".join(cells.get(name, found).split())
    assert "".join(log.split()) in "".join(caption.split())


def test_an_empty_ledger_says_so():
    assert "empty" in report.ledger_text(Ledger(()))
    assert "empty" in report.ledger_html(Ledger(()))


def test_a_terminal_is_sent_no_escape_codes_and_no_markup_of_a_study():
    text = report.ledger_text(
        Ledger((row("[bold]x[/bold]\x1b]0;title\x07", measured=HOSTILE),)), width=400
    )
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "[bold]x[/bold]" in text


def test_a_notebook_is_sent_no_element_of_a_study():
    fragment = report.ledger_html(Ledger((row(HOSTILE, measured=HOSTILE, where=HOSTILE),)))
    assert not {"script", "img"} & set(Elements(fragment).tags)


def test_markdown_of_a_study_starts_no_cell_link_html_or_formula():
    line = next(
        x
        for x in report.ledger_markdown(
            Ledger((row("a|b", measured="[x](javascript:1) <b> $y$"),))
        ).splitlines()
        if "a\\|b" in x
    )
    assert r"\[x\](javascript:1) &lt;b&gt; \$y\$" in line
    assert len(re.findall(r"(?<!\\)\|", line)) == 9


def test_markdown_puts_surprises_first():
    text = report.ledger_markdown(MIXED)
    assert (
        text.index("### Surprises")
        < text.index("**d**")
        < text.index("### Fails")
        < text.index("**b**")
    )


def test_a_study_comes_first_then_what_to_look_at_then_all_rows_then_the_rest(page):
    ids = ["study-toy", "summary", "findings", "surprises", "false", "fails", "undecided"]
    ids += ["regimes", "thin", "rows", "figures", "vocabulary", "papers", "runs", "made"]
    places = [page.index(f' id="{id}"') for id in ids]
    assert places == sorted(places)


def test_the_reason_of_an_established_failure_is_told(page):
    assert "Why: it is finite" in page


def test_an_outcome_that_changed_is_named_as_such(page):
    surprises = page[page.index('id="surprises"') : page.index('id="false"')]
    assert "reaches_zero" in surprises
    assert "! expected holds" in surprises


def test_the_page_counts_our_statements_apart_and_by_word(page):
    summary = page[page.index('class="summary"') :].split("</table>")[0]
    ours = summary[summary.index("<td>ours</td>") :].split("</tr>")[0]
    assert re.findall(r'class="number">(\d+)<', ours)[0] == "2"
    untyped = summary[summary.index("<td>untyped</td>") :].split("</tr>")[0]
    assert re.findall(r'class="number">(\d+)<', untyped) == ["1", "0", "2"]  # holds, false, fails


def test_the_page_shows_what_a_statement_was_held_against_its_kind_and_its_margin(page):
    assert "printed equations, theory" in page
    assert "toy, Lemma 5, p. 9, sign, ours" in page
    assert 'class="word holds"' in page
    assert "margin +" in page


def test_statements_without_a_row_stand_in_the_page_and_in_the_json(tmp_path):
    made = report.write_report(
        [study(figures=(), unchecked={"Figure 7": "needs <b>a corpus</b>"})], Context(), tmp_path
    )
    listed = made.html.read_text(encoding="utf-8").split('id="unchecked"')[1]
    assert "Figure 7: needs &lt;b&gt;a corpus" in listed
    assert json.loads(made.json.read_text())["unchecked"]["toy"] == {
        "Figure 7": "needs <b>a corpus</b>"
    }


def test_no_element_of_a_study_reaches_the_page(page):
    found = Elements(page)
    assert found.tags.count("script") == 1
    assert page.count(f"<script>{asset('report.js')}</script>") == 1
    assert not [a for a in found.attributes if a[1].startswith("on")]
    assert not [a for a in found.attributes if a[1] == "style"]
    assert all(
        value.startswith("data:image/png;base64,")
        for tag, name, value in found.attributes
        if tag == "img" and name == "src"
    )


def test_the_page_points_only_into_itself(page):
    found = Elements(page).attributes
    links = [
        value
        for _, name, value in found
        if name in ("href", "src", "srcset", "action", "data", "poster")
    ]
    assert links
    elsewhere = [v for v in links if not v.startswith(("#", "data:image/png;base64,"))]
    assert elsewhere == []
    assert not re.search(r"url\(|@import|<link|<base|<iframe|<object", page)


def test_every_link_of_the_page_has_its_place(page):
    found = Elements(page).attributes
    places = [value for _, name, value in found if name == "id"]
    assert len(places) == len(set(places))
    assert {v[1:] for _, name, v in found if name == "href" and v.startswith("#")} <= set(places)


def test_the_page_allows_its_own_script_and_style_and_nothing_else(page):
    given = next(v for _, name, v in Elements(page).attributes if name == "content")
    assert given == policy(asset("page.css"), asset("report.js"))
    assert "default-src 'none'" in given
    assert "unsafe" not in given
    digest = base64.b64encode(hashlib.sha256(asset("report.js").encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in given


def test_the_script_holds_nothing_that_would_end_it_or_reach_out():
    script = asset("report.js").lower()
    assert not re.search(r"</|fetch|xmlhttp|import|eval|innerhtml|document\.write", script)


def test_the_page_follows_the_readers_choice_of_light_or_dark(page):
    assert "@media (prefers-color-scheme: dark)" in page
    assert "color-scheme: light dark" in page


def test_a_row_opens_to_a_plot_of_what_was_compared_and_to_the_command_that_makes_it_again(page):
    opened = page.split('<details class="row" id="row-toy-lem5-training-theory"')[1].split(
        "</details>"
    )[0]
    assert 'aria-label="loss against time; lower bound, measured"' in opened
    assert "phasescope check toy --claim lem5" in opened
    assert "<math" in opened
    assert "table curves" in opened


def test_a_row_whose_check_kept_nothing_has_no_plot(page):
    opened = page.split('<details class="row" id="row-toy-falls-published"')[1].split("</details>")[
        0
    ]
    assert "largest step -1e-4" in opened
    assert "<svg" not in opened


def test_the_end_of_the_page_says_what_words_mean_and_how_it_was_made(page):
    end = page[page.index(' id="vocabulary"') :]
    for said in (
        "a counter-example inside the assumptions",
        "an assumption of the statement is broken",
        f"phasescope {ps.__version__}",
        "jax ",
        "cpu: cpu",
        "UTC",
    ):
        assert said in end


def test_the_ledger_lies_beside_the_page_as_json_markdown_and_latex(written):
    assert all(file.is_file() for file in (written.json, written.markdown, written.latex))
    assert written.latex.read_text(encoding="utf-8") == report.ledger_latex(written.ledger)


def test_json_is_the_ledger_and_nothing_else(written):
    assert json.loads(written.json.read_text()) == json.loads(json.dumps(written.ledger.to_json()))


def test_json_stays_json_when_a_number_is_not_finite(tmp_path):
    odd = ps.claim("Theorem 3", ps.tables(curves))(
        lambda ds: ps.Verdict(HOLDS, "", "", value=float("nan"))
    )
    made = report.write_report([study(claims=(odd,), figures=())], Context(), tmp_path)
    refuse = lambda constant: pytest.fail(constant)
    assert json.loads(made.json.read_text(), parse_constant=refuse)["rows"][0]["value"] == "nan"


def test_a_broken_figure_is_named_and_the_rest_is_drawn(written, page):
    assert [p.split(" could")[0] for p in written.problems] == [
        "toy: figure wrong_name",
        "toy: figure no_evidence",
    ]
    assert "figure wrong_name could not be drawn" in page
    assert (written.figures / "toy-learning_curve.png").is_file()


def test_a_study_cannot_choose_where_its_figures_are_written(written):
    assert {path.parent for path in written.drawn} == {written.figures}


def test_evidence_that_fails_is_asked_for_once(tmp_path):
    asked = []

    def failing():
        asked.append(1)
        raise RuntimeError("after an hour")

    claim = ps.claim("Theorem 4", ps.tables(failing))(lambda ds: None)
    figure = ps.figure("Figure 4", ps.tables(failing))(lambda ds, axes: None)
    report.write_report([study(claims=(claim,), figures=(figure,))], Context(), tmp_path)
    assert len(asked) == 1


@pytest.mark.parametrize("format", ["png", "pdf", "svg"])
def test_the_same_figure_has_the_same_bytes(format, tmp_path):
    one, two = (
        report.draw_figures([study()], Context(), tmp_path / name, ["learning_curve"], (format,))[
            0
        ].read_bytes()
        for name in "ab"
    )
    assert one == two
    assert b"CreationDate" not in one
    assert b"dc:date" not in one


def test_draw_warns_of_a_broken_figure_by_name_and_draws_the_rest(tmp_path):
    with pytest.warns(UserWarning, match="wrong_name|no_evidence"):
        paths = report.draw_figures([study()], Context(), tmp_path)
    assert [p.name for p in paths] == ["toy-learning_curve.png"]


def test_an_unknown_figure_is_answered_with_the_nearest_name(tmp_path):
    with pytest.raises(ps.errors.StudyNotFound, match='Did you mean "learning_curve"'):
        report.draw_figures([study()], Context(), tmp_path, ["learning_curves"])


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ps.errors.SpecError, match="gif"):
        report.draw_figures([study()], Context(), tmp_path, formats=("gif",))


def test_different_words_never_share_a_name():
    given = [
        ("a", "b"),
        ("a-b", ""),
        ("a", "b/"),
        ("a", "../b"),
        ("a-b", "c"),
        ("a", "b-c"),
        ("a/b", "c"),
        ("", ""),
    ]
    names = [safe_name(*words) for words in given]
    assert len(set(names)) == len(names)
    assert not any("/" in name or name.startswith(".") for name in names)


def test_text_added_to_markup_is_escaped():
    assert tag("b", "x") + "<i>" == "<b>x</b>&lt;i&gt;"


def test_the_report_is_imported_without_matplotlib():
    code = "import sys, phasescope.report; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
