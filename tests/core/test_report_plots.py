"""Plots of what was compared, formulas and prose: right, small, and unable to bring anything else into a page."""

import html.parser
import re

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.ledger.headlines import Headline
from phasescope.report.axes import Axis, linear, logarithmic
from phasescope.report.mathematics import ATTRIBUTES, ELEMENTS, formula
from phasescope.report.plot import path, plot
from phasescope.report.prose import about, lead_and_rest, prose

HOSTILE = (
    "</svg><script>alert(1)</script><img src=x onerror=alert(1)>$\\href{javascript:alert(1)}{x}$"
)


class Elements(html.parser.HTMLParser):
    """Tags and attributes, as a browser sees them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


def falling(count=3000):
    t = np.geomspace(1, 1e4, count)
    return xr.DataArray(1 / t, {"time": t}, ("time",))


# --- plots ------------------------------------------------------------------------------------------------------------


def test_a_curve_is_drawn_with_its_bound_and_the_point_that_decides():
    drawn = plot(ps.at_most(falling(30), 0.5, "loss").trace)
    assert re.search(r'class="upper"', drawn)
    assert re.search(r'class="measured"', drawn)
    (x, y) = re.search(r'<circle cx="([\d.]+)" cy="([\d.]+)"', drawn).groups()
    first = re.search(r'<path d="M([\d.]+) ([\d.]+)[^"]*" class="measured"', drawn).groups()
    assert (float(x), float(y)) == pytest.approx(tuple(map(float, first)), abs=0.11)


def test_a_long_curve_takes_little_room():
    assert len(plot(ps.at_most(falling(100_000), 0.5, "loss").trace)) < 7000


def test_two_curves_that_cannot_be_told_apart_are_shown_by_their_difference():
    drawn = plot(ps.agree(falling(50), falling(50) * 1.00001, rtol=1e-4, what="loss").trace)
    assert "| loss − what it is held against | against time" in drawn
    assert 'class="reference"' not in drawn


def test_two_curves_that_can_be_told_apart_are_both_shown():
    drawn = plot(ps.agree(falling(50), falling(50) * 1.3, rtol=0.5, what="loss").trace)
    assert 'class="reference"' in drawn
    assert 'aria-label="loss against time' in drawn


def test_one_number_is_shown_on_a_line_with_what_is_allowed():
    drawn = plot(ps.within(0.4, 0.0, 1.0, "slope").trace)
    left, width = map(
        float, re.search(r'<rect x="([\d.]+)" y="6" width="([\d.]+)"', drawn).groups()
    )
    value = float(re.search(r'<circle cx="([\d.]+)"', drawn)[1])
    assert value == pytest.approx(left + 0.4 * width, abs=0.2)


def test_a_power_law_that_is_flat_looks_flat():
    drawn = plot(ps.big_o({n: [2.0 + 1e-7 * n] for n in (8, 16, 32, 64)}).trace)
    ends = re.search(r'<path d="M[\d.]+ [\d.]+([^"]*)" class="fitted"', drawn)[1]
    assert re.fullmatch(r"h[\d.]+", ends)


@pytest.mark.parametrize(
    "verdict",
    [
        ps.at_most(np.array([1.0, np.inf, -np.inf, np.nan, 2.0]), 5.0),
        ps.positive(np.zeros(5)),
        ps.agree(np.zeros(5), np.zeros(5)),
        ps.agree(1.0, np.inf, rtol=0.1),
        ps.at_most(np.array([1e-300, 1e300]), 1.0),
        ps.positive(xr.DataArray([1.0, 2.0], {"g": ["a", "b"]}, ("g",))),
        ps.at_least(xr.DataArray([3.0, 4.0], {"time": [0.0, 1e9]}, ("time",)), 1.0),
        ps.ordered(1.0, 2.5, 4.0),
        ps.share(np.ones(200), 0.05),
    ],
)
def test_odd_numbers_can_be_drawn_and_stay_in_the_picture(verdict):
    drawn = plot(verdict.trace)
    assert not re.search(r"\b(nan|inf)\b", drawn)
    spots = [float(x) for x in re.findall(r'c[xy]="([^"]*)"', drawn)]
    assert all(0 <= spot <= 460 for spot in spots)


def test_where_no_number_was_kept_there_is_no_plot():
    assert plot(None) is None
    assert plot(ps.at_most([np.inf], 1.0).trace) is None


def test_no_name_of_a_study_becomes_an_element_of_a_plot():
    x = xr.DataArray([1.0, 2.0], {HOSTILE: [HOSTILE, "b"]}, (HOSTILE,))
    found = Elements(plot(ps.negative(x, HOSTILE).trace))
    assert not {"script", "img"} & set(found.tags)
    assert not [name for name in found.attributes if name.startswith("on") or name == "style"]


def test_a_line_is_broken_where_a_point_has_no_place():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    y = np.array([0.0, 1.0, np.nan, 2.0, 2.0])
    assert path(x, y) == "M0 0l1 1M3 2h1"


def test_points_that_a_line_does_not_need_are_left_out_and_those_that_it_needs_are_not():
    x = np.linspace(0.0, 400.0, 201)
    assert path(x, 0.5 * x) == "M0 0l400 200"
    bent = np.where(x == 200.0, 30.0, 0.0)
    assert path(x, bent) == "M0 0h198l2 30l2-30h198"


def test_places_on_axes_are_where_their_ticks_say():
    down = linear(np.array([0.0, 10.0]), 100.0, 0.0)
    ticks = {label: place for place, label in down.ticks()}
    assert ticks["5"] == pytest.approx(float(down.place(np.array([5.0]))[0]))
    across = logarithmic(np.array([1.0, 1e6]), 0.0, 100.0)
    powers = {label: place for place, label in across.ticks()}
    assert powers["10⁴"] == pytest.approx(float(across.place(np.array([1e4]))[0]))


def test_ticks_that_lie_close_are_told_apart():
    labels = [label for _, label in linear(np.array([0.83621, 0.83628]), 0.0, 100.0).ticks()]
    assert len(set(labels)) == len(labels) >= 2


def test_zero_has_a_place_of_its_own_left_of_a_logarithmic_axis():
    across = logarithmic(np.array([0.0, 1.0, 1e4]), 0.0, 100.0, zero=True)
    zero, one = across.place(np.array([0.0, 1.0]))
    assert 0 <= zero < one
    assert across.ticks()[0][1] == "0"
    assert np.isnan(Axis(0.0, 1.0, 0.0, 1.0, log=True).place(np.array([0.0, -1.0]))).all()


# --- formulas ---------------------------------------------------------------------------------------------------------


def test_tex_becomes_mathml():
    made = formula(r"\langle u_2, E_2^w\rangle \le -\Omega(\eta^2 t^2)")
    assert made.startswith("<math")
    assert "<mi>Ω</mi>" in made
    assert set(Elements(made).tags) <= ELEMENTS


@pytest.mark.parametrize(
    "tex",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\style{background:url(http://x)}{y}",
        r"\class{a}{b}",
        r"\notacommand{x}",
        r"\frac{1",
        "x" * 5000,
        "{" * 500,
        "",
    ],
)
def test_tex_that_is_not_understood_in_full_is_shown_as_it_is_written(tex):
    made = formula(tex)
    assert made.startswith('<code class="tex">')
    assert Elements(made).tags == ["code"]


def test_whatever_stands_in_a_formula_becomes_signs_and_nothing_else():
    found = Elements(formula(HOSTILE.partition("$")[0]))
    assert set(found.tags) <= ELEMENTS
    assert set(found.attributes) <= ATTRIBUTES


# --- prose ------------------------------------------------------------------------------------------------------------


def test_emphasis_code_and_formulas_of_a_page_are_shown_and_links_are_not_followed():
    made = prose("**all** *few* `c_L` $x_1$ [text](javascript:alert) <b>")
    assert made.startswith("<b>all</b> <i>few</i> <code>c_L</code> <math")
    assert made.endswith("</math> text &lt;b&gt;")


def test_no_prose_of_a_study_becomes_an_element():
    for text in (HOSTILE, f"**{HOSTILE}**", f"`{HOSTILE}`", f"[{HOSTILE}: holds]"):
        assert not {"script", "img", "a"} & set(Elements(prose(text)).tags)


@pytest.mark.parametrize(
    ("text", "lead"),
    [
        ("**It is so.** At N = 6 it is [a: holds].", "**It is so.**"),
        (
            "**Smallness**: it is $f(x. y)$ small [a: holds], and so on.",
            "**Smallness**: it is $f(x. y)$ small",
        ),
        ("It moves on; the rest [a: holds].", "It moves on;"),
        ("It moves on", "It moves on"),
    ],
)
def test_a_headline_is_led_by_its_first_sentence(text, lead):
    found, rest = lead_and_rest(Headline(text))
    assert found == lead
    assert f"{found} {rest}".split() == text.split()


def test_a_page_tells_title_setting_paper_and_headlines():
    top = "# `toy`: one weight\n\nA. Author (arXiv 2505.00926).\n\n"
    setting = "## Setting\n\nOne\nline.\n\nTwo.\n"
    page = f"{top}{setting}## What we found\n\n* It [a: holds].\n"
    found = about(page)
    assert (found.title, found.setting, found.arxiv) == ("one weight", "One line.", "2505.00926")
    assert [headline.items for headline in found.found] == [("a: holds",)]


def test_a_study_without_a_page_has_nothing_to_tell():
    assert about("") == about("no heading at all")
