"""The report in a real browser: chosen, ordered and opened by keyboard and mouse, and nothing leaves the page."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope import report
from phasescope.verbs.context import Context

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

playwright = pytest.importorskip(
    "playwright.sync_api", reason="browser tests need playwright (pip install playwright)"
)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason="browser tests need chromium on the path (apt-get install chromium)"
    ),
]


class Spec(ps.Spec):
    eta: float = 0.1


def idle(spec):
    raise AssertionError("no arm is needed for tables")


def curves():
    t = np.geomspace(1, 1e4, 120)
    return xr.Dataset({"loss": ("time", 1 / t)}, {"time": t})


def claim(id, bound, reach="", **more):
    def check(ds):
        found = ps.at_most(ds.loss, ps.stated(bound, "Theorem 1"), "loss")
        return dataclasses.replace(found, reach=reach)

    check.__doc__ = f"The loss is at most {bound:g}, says {id}."
    given = {"kind": "upper", "tex": r"L_t \le C"} | more
    return ps.claim("Theorem 1", ps.on("closed form", ps.tables(curves)), id=id, **given)(check)


@ps.figure("Figure 1", ps.tables(curves))
def learning_curve(ds, axes):
    """The loss against time."""
    ds.loss.plot(ax=axes)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    bounds = {"wide": 10.0, "narrow": 1.25, "broken": 0.5}
    claims = tuple(claim(id, bound) for id, bound in bounds.items())
    far = "from time = 111.473; from time = 100.228; from time = 100.228"
    ours = claim("mine", 4.0, far, whose="ours", kind="approx", as_=("t", "inf"))
    first = ps.Study("toy", Spec(), arms=(idle,), claims=claims, figures=(learning_curve,))
    second = ps.Study("other", Spec(), arms=(idle,), claims=(ours,))
    made = report.write_report([first, second], Context(), tmp_path_factory.mktemp("report"))
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS.split())
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.said = []
        opened.asked = []
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda problem: opened.said.append(str(problem)))
        opened.on("request", lambda request: opened.asked.append(request.url))
        opened.address = made.html.as_uri()
        yield opened
        browser.close()


@pytest.fixture(autouse=True)
def afresh(page):
    page.set_viewport_size({"width": 1280, "height": 900})
    page.goto("about:blank")
    page.goto(page.address)


def shown(page) -> list[str]:
    return page.eval_on_selector_all(
        "details.row",
        "rows => rows.filter(r => !r.hidden).map(r => r.querySelector('code').textContent)",
    )


def test_nothing_is_said_on_the_console_and_no_request_leaves_the_page(page):
    elsewhere = [url for url in page.asked if not url.startswith(("data:", page.address, "about:"))]
    assert page.said == []
    assert elsewhere == []


def test_rows_are_chosen_by_study_word_kind_whose_and_text(page):
    assert len(shown(page)) == 4
    page.select_option("#filter [name=study]", "other")
    assert shown(page) == ["mine"]
    page.click("#filter button[type=reset]")
    playwright.expect(page.locator("#filter output")).to_have_text("4 rows")
    page.select_option("#filter [name=whose]", "paper")
    assert shown(page) == ["wide", "narrow", "broken"]
    page.fill("#filter [name=text]", "says NARROW")
    assert shown(page) == ["narrow"]
    assert page.text_content("#filter output") == "1 of 4 rows"
    page.fill("#filter [name=text]", "no such thing")
    assert page.text_content("#filter output") == "no row is like that"


def test_rows_are_ordered_by_margin_across_studies_and_back(page):
    page.select_option("#filter [name=order]", "smallest")
    margins = page.eval_on_selector_all("details.row", "rows => rows.map(r => +r.dataset.margin)")
    assert margins == sorted(margins)
    assert shown(page)[0] == "broken"
    assert not page.is_visible("#rows h3")
    page.select_option("#filter [name=order]", "paper")
    assert shown(page) == ["wide", "narrow", "broken", "mine"]
    assert page.is_visible("#rows h3")


def test_a_row_is_opened_by_keyboard_and_shows_formula_plot_and_command(page):
    page.focus("#rows details.row summary")
    page.keyboard.press("Enter")
    opened = page.locator("details.row[open]")
    assert opened.count() == 1
    assert opened.locator("svg .measured").is_visible()
    assert opened.locator("math").first.is_visible()
    assert opened.locator(".command").text_content() == "phasescope check toy --claim wide"


def test_a_slash_goes_to_the_search(page):
    page.keyboard.press("/")
    page.keyboard.type("wide/")
    assert page.input_value("#filter [name=text]") == "wide/"


def test_a_link_to_a_row_that_is_not_shown_shows_and_opens_it(page):
    page.select_option("#filter [name=study]", "other")
    row = page.locator("details.row", has_text="says broken").first
    page.evaluate("id => { location.hash = id }", row.get_attribute("id"))
    page.wait_for_selector("details.row[open]")
    assert len(shown(page)) == 4
    assert page.locator("details.row[open] code").first.text_content() == "broken"


@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_sticks_out_of_the_screen(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.eval_on_selector_all("details", "all => all.forEach(one => { one.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_is_readable_without_its_script(page):
    context = page.context.browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(page.address)
    assert not plain.locator("#filter").is_visible()
    assert plain.locator("details.row").count() == 4
    plain.locator("details.row summary").first.click()
    assert plain.locator("details.row svg .measured").first.is_visible()
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(page, scheme):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="tests of accessibility need axe-playwright-python (pip install axe-playwright-python)",
    )
    page.emulate_media(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
    found = axe.Axe().run(page).response["violations"]
    page.emulate_media(color_scheme="light")
    assert [
        (v["id"], v["nodes"][0]["html"][:200])
        for v in found
        if v["impact"] in ("serious", "critical")
    ] == []
