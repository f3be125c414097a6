"""The page in a real browser: every view opened, moved and restored by mouse and keyboard, and nothing leaves the machine."""

from __future__ import annotations

import contextlib
import re
import shutil
import socket
import threading
from urllib.parse import unquote

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import phasescope as ps

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

playwright = pytest.importorskip(
    "playwright.sync_api", reason="browser tests need playwright (pip install playwright)"
)
uvicorn = pytest.importorskip("uvicorn", reason="the page needs phasescope[page]")
pytest.importorskip("starlette", reason="the page needs phasescope[page]")
pytest.importorskip("websockets", reason="the page needs phasescope[page]")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:claim .* is checked one cell after the other"),
    pytest.mark.skipif(
        BROWSER is None, reason="browser tests need chromium on the path (apt-get install chromium)"
    ),
]
expect = playwright.expect
expect.set_options(timeout=30_000)  # a busy machine compiles slowly


class Spec(ps.Spec):
    rate: float = 0.1


class Seen(ps.Observables):
    """One quantity for every kind of picture."""

    height: Float[Array, ""] = ps.field(symbol=r"\eta", doc="a curve")
    few: Float[Array, "head"]
    many: Float[Array, "token"]
    table: Float[Array, "row column"]
    tables: Float[Array, "layer row column"]


def every_shape(spec):
    """A wave as a curve, curves, a heat map and matrices, in two phases."""

    def seen(state):
        t = state["t"]
        wave = lambda size: jnp.exp(-spec.rate * t) * jnp.cos(t + jnp.arange(size))
        layers = jnp.stack([jnp.outer(wave(4), wave(5)), jnp.outer(wave(4), 10 + wave(5))])
        return Seen(wave(1)[0], wave(3), wave(12), jnp.outer(wave(4), wave(5)), layers)

    now = ps.formula(lambda t: {"t": jnp.asarray(t)})
    phases = (
        ps.Stage("phase_1", now, np.linspace(0.25, 10, 40)),
        ps.Stage("phase_2", now, np.linspace(0.25, 30, 120)),
    )
    derive = lambda ds: ds.assign(sign_change=ps.crossing(ds.height, 0.0))
    return ps.Plan(lambda key: {"t": jnp.zeros(())}, phases, seen, derive=derive)


def every_shape_again(spec):
    """The same from a theory that agrees."""
    return every_shape(spec)


shapes = ps.Study("shapes", Spec(), arms=(every_shape, every_shape_again))


@pytest.fixture(scope="module")
def ids(tmp_path_factory):
    """A store with a run of every kind of picture, a sweep over two axes and the checked claims of the example."""
    from phasescope.page import ledger
    from phasescope.page.datasets import Datasets
    from phasescope.page.maps import Maps
    from phasescope.report.kept_maps import KeptMaps
    from phasescope.store import Store
    from phasescope.verbs.context import Context
    from phasescope.verbs.run_index import RunIndex

    folder = tmp_path_factory.mktemp("page") / "store"
    given = {"store": folder, "progress": False}
    found = {
        arm: ps.run(shapes, arm, **given).attrs["id"]
        for arm in ("every_shape", "every_shape_again")
    }
    ps.sweep("linear_modes", "logistic", epsilon=[1e-4, 2e-3, 2e-2], modes=[2, 4], **given)
    for arm in ("descent", "flow"):
        found[arm] = ps.run("linear_modes", arm, **given).attrs["id"]
    study = ps.find("linear_modes")
    ledger.check(study, Context(Store(folder)))
    mapped = ps.map(
        study, "stronger_modes_are_learnt_first", epsilon=[1e-3, 0.1, 2.0], modes=[2, 3], **given
    )
    index = RunIndex(Store(folder))
    index.refresh()
    sweeps = Maps(index, Datasets(index)).all().values()
    found["sweep"] = next(one.id for one in sweeps if [*one.axes.get("modes", ())] == [2, 4])
    index.close()
    found["claim_map"] = f"claim-{KeptMaps(folder).keep(mapped, study)}"
    return {**found, "folder": folder}


@contextlib.contextmanager
def served(folder):
    """The page over a store in a thread of its own; gives the URL with its token."""
    from phasescope.page.app import application
    from phasescope.page.guard import Door, Keys
    from phasescope.store import Store

    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    keys = Keys()
    app = application(Store(folder), keys, Door.at(port))
    config = uvicorn.Config(
        app, log_level="error", ws="websockets-sansio", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{port}/?token={keys.token}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=BROWSER, args=FLAGS.split())
        yield started
        started.close()


@pytest.fixture(scope="module")
def page(ids, browser):
    with served(ids["folder"]) as url:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.said, opened.asked = [], []
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda problem: opened.said.append(str(problem)))
        opened.on("request", lambda request: opened.asked.append(request.url))
        opened.on("websocket", lambda socket: opened.asked.append(socket.url))
        opened.set_default_timeout(30_000)
        opened.goto(url)
        opened.home = url.partition("?")[0]
        yield opened
        opened.goto("about:blank")
        opened.close()


@pytest.fixture(autouse=True)
def wide_and_quiet(page):
    """Every test has a wide window, and ends without a word on the console."""
    page.set_viewport_size({"width": 1280, "height": 900})
    page.said.clear()
    yield
    assert page.said == []


def open_at(page, address):
    """Load the page anew at an address behind the #."""
    page.goto("about:blank")
    page.goto(f"{page.home}#/{address}")


def address(page) -> str:
    """What stands behind the #, once it has been written."""
    page.wait_for_timeout(250)
    return unquote(page.url.partition("#")[2])


def when_drawn(page, count):
    """Wait until so many panels are there and drawn, scrolling to each."""
    expect(page.locator(".panel")).to_have_count(count)
    for panel in page.locator(".panel").all():
        panel.scroll_into_view_if_needed()
        expect(panel).to_have_attribute("data-drawn", re.compile(r"\d+"))
    page.evaluate("scrollTo(0, 0)")


def ink(page, name, layer):
    """A fingerprint of the pixels on a layer (base or over) of a panel."""
    return page.eval_on_selector(
        f'.panel[data-name="{name}"] canvas.{layer}', "canvas => canvas.toDataURL()"
    )


def cursor_at(page) -> float:
    page.wait_for_timeout(60)
    return float(page.locator(".panel[data-at]").first.get_attribute("data-at"))


PANELS = ("height", "few", "many", "table", "tables")


def test_every_view_opens_from_the_front_page(page):
    open_at(page, "")
    expect(page.locator("h1")).to_have_text("Ledger")
    expect(page.locator("details.row")).to_have_count(3)
    for name, title in {
        "Run": "Runs in the store",
        "Map": "Map",
        "Lab": "Lab",
        "Ledger": "Ledger",
    }.items():
        page.click(f"nav >> text={name}")
        expect(page.locator("h1")).to_have_text(title)
        expect(page.locator("nav [aria-current]")).to_have_text(name)


def test_ledger_rows_are_chosen_ordered_and_opened(page):
    open_at(page, "ledger?study=linear_modes")
    rows = page.locator("details.row")
    expect(rows).to_have_count(3)
    page.select_option("[name=kind]", "rate")
    expect(rows).to_have_count(1)
    page.select_option("[name=kind]", "")
    page.fill("[name=text]", "no such words")
    expect(page.locator(".rows")).to_contain_text("No row is like that")
    page.click("text=Show all rows")
    expect(rows).to_have_count(3)
    page.select_option("[name=sort]", "margin")
    margins = page.eval_on_selector_all(
        ".margin", "all => all.map(m => parseFloat(m.textContent.replace('−', '-')))"
    )
    assert margins == sorted(margins)
    rows.filter(has_text="half learnt").locator("summary").click()
    inside = page.locator("details[open] .inside")
    expect(inside.locator("math").first).to_be_visible()
    expect(inside.locator("tbody tr").first).to_be_visible()
    expect(inside.locator(".panel")).to_have_attribute("data-drawn", re.compile(r"\d+"))
    expect(inside).to_contain_text(
        "phasescope check linear_modes --claim stronger_modes_are_learnt_first"
    )
    assert "row=linear_modes/stronger_modes_are_learnt_first" in address(page)


def test_the_cursor_moves_every_panel(page, ids):
    open_at(page, f"run/{ids['every_shape']}?at=0")
    when_drawn(page, len(PANELS) + 1)  # and the moment that was derived, which has no time
    before = {name: ink(page, name, "over") for name in PANELS}
    page.locator(".cursor input").fill("17")
    assert cursor_at(page) == pytest.approx(4.25)
    page.set_viewport_size({"width": 1280, "height": 3000})
    page.wait_for_timeout(100)
    after = {name: ink(page, name, "over") for name in PANELS}
    assert [name for name in PANELS if before[name] == after[name]] == []
    wanted = np.exp(-0.425) * np.cos(4.25)
    expect(page.locator('[data-name="height"] .reading')).to_contain_text(
        f"{wanted:.4g}".replace("-", "−")
    )


def test_colours_keep_their_scale_while_the_cursor_moves(page, ids):
    open_at(page, f"run/{ids['every_shape']}?at=0")
    when_drawn(page, len(PANELS) + 1)
    drawn = page.locator('[data-name="table"]').get_attribute("data-drawn")
    scale = ink(page, "table", "base")
    page.keyboard.press("End")
    page.wait_for_timeout(100)
    assert ink(page, "table", "base") == scale
    assert page.locator('[data-name="table"]').get_attribute("data-drawn") == drawn


def test_phases_are_shaded_and_the_derived_moment_is_dashed(page, ids):
    open_at(page, f"run/{ids['every_shape']}")
    when_drawn(page, len(PANELS) + 1)
    with page.expect_download() as saved:
        page.click('[aria-label="save height as SVG"]')
    drawing = saved.value.path().read_text()
    assert drawing.count('fill-opacity="0.06"') == drawing.count('fill-opacity="0.14"') == 1
    assert "stroke-dasharray" in drawing
    assert ">phase 1<" in drawing and ">sign_change<" in drawing


def test_a_panel_is_saved_with_all_its_numbers(page, ids):
    open_at(page, f"run/{ids['every_shape']}")
    when_drawn(page, len(PANELS) + 1)
    with page.expect_download() as saved:
        page.click('[aria-label="save few as CSV"]')
    head, *rows = saved.value.path().read_text().splitlines()
    assert head == "time,head 0,head 1,head 2"
    numbers = np.array([[float(x) for x in row.split(",")] for row in rows])
    ds = ps.open(ids["every_shape"], store=ids["folder"])
    assert np.array_equal(numbers, np.column_stack([ds.time, ds.few]))
    with page.expect_download() as saved:
        page.click('[aria-label="save few as PNG"]')
    assert saved.value.path().read_bytes().startswith(b"\x89PNG")


def test_keys_move_the_cursor_play_and_change_the_clock(page, ids):
    open_at(page, f"run/{ids['every_shape']}?clock=time")
    when_drawn(page, len(PANELS) + 1)
    page.keyboard.press("Home")
    assert cursor_at(page) == 0
    page.keyboard.press("ArrowRight")
    assert cursor_at(page) == 0.25
    page.keyboard.press("Shift+ArrowRight")
    assert cursor_at(page) == pytest.approx(2.75)
    page.keyboard.press("]")
    page.keyboard.press("]")
    assert cursor_at(page) == pytest.approx(10)
    page.keyboard.press("c")
    expect(page.locator("[name=clock]")).to_have_value("log time")
    page.keyboard.press("Space")
    expect(page.locator(".play")).to_have_attribute("aria-label", "Pause")
    page.wait_for_function("() => +document.querySelector('.panel').dataset.at > 11")
    page.keyboard.press("Space")
    expect(page.locator(".play")).to_have_attribute("aria-label", "Play")
    for key, title in {"3": "Map", "4": "Lab", "1": "Ledger"}.items():
        page.keyboard.press(key)
        expect(page.locator("h1")).to_have_text(title)
    expect(page.locator("details.row").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("details[open]")).to_have_count(1)
    page.keyboard.press("/")
    expect(page.locator("[name=text]")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")


def test_a_curve_is_dragged_along(page, ids):
    open_at(page, f"run/{ids['every_shape']}?clock=time")
    when_drawn(page, len(PANELS) + 1)
    box = page.locator('[data-name="height"] .space').bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 100, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, middle)
    first = cursor_at(page)
    page.mouse.move(box["x"] + 250, middle)
    second = cursor_at(page)
    page.mouse.up()
    assert 0 < first < second < 40


def test_the_address_restores_cursor_clock_scales_and_axes(page, ids):
    open_at(page, f"run/{ids['every_shape']}")
    when_drawn(page, len(PANELS) + 1)
    page.locator(".cursor input").fill("20")
    page.select_option("[name=clock]", "log time")
    page.click('[aria-label="scale of few"]')
    page.select_option("[name=cut-layer]", "1")
    page.check("text=overlay every_shape_again")
    expect(page.locator('[data-name="few residual every_shape_again"]')).to_be_attached()
    there = address(page)
    open_at(page, "lab")
    open_at(page, there.removeprefix("/"))
    expect(page.locator("[name=clock]")).to_have_value("log time")
    expect(page.locator("[name=cut-layer]")).to_have_value("1")
    expect(page.locator("[name=over]")).to_be_checked()
    expect(page.locator('[aria-label="scale of few"]')).to_have_text("log")
    assert cursor_at(page) == pytest.approx(5)
    assert address(page) == there


def test_another_arm_is_laid_over_and_its_residual_is_zero(page, ids):
    open_at(page, f"run/{ids['every_shape']}?over={ids['every_shape_again']}")
    residual = page.locator('[data-name="height residual every_shape_again"]')
    expect(residual).to_have_attribute("data-drawn", re.compile(r"\d+"))
    expect(residual.locator(".reading")).to_have_text("0")
    expect(page.locator('[data-name="height"] .key')).to_have_count(2)


def test_a_flow_is_laid_over_a_descent_at_the_same_moments(page, ids):
    descent, flow = (ps.open(ids[arm], store=ids["folder"]) for arm in ("descent", "flow"))
    step = 172.0  # when the second mode is learnt
    open_at(page, f"run/{ids['descent']}?at={step}&over={ids['flow']}")
    residual = page.locator('[data-name="loss residual flow"] .reading')
    expect(residual).to_contain_text(re.compile(r"\d"))
    eta = 0.01  # of the example: gradient-flow time is eta times steps
    wanted = float(descent.loss.sel(time=step)) - np.interp(eta * step, flow.time, flow.loss)
    assert wanted > 0.01
    assert float(residual.text_content()) == pytest.approx(wanted, rel=1e-3)


def test_a_click_on_a_map_opens_the_run_of_the_cell(page, ids):
    open_at(page, f"map/{ids['sweep']}?x=epsilon&y=modes")
    page.wait_for_selector(".map[data-drawn]")
    box = page.locator(".map").bounding_box()
    page.mouse.click(
        box["x"] + 0.8 * box["width"] - 60, box["y"] + 40
    )  # the largest epsilon, four modes
    expect(page.locator("h1")).to_have_text("linear_modes / logistic")
    expect(page.locator("[name=lane-lane] option:checked")).to_have_text("epsilon = 0.02")
    expect(page.locator(".facts").first).to_contain_text("modes 4")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Map")


def test_a_region_of_a_map_is_brushed_by_mouse_and_keys_and_restored(page, ids):
    open_at(page, f"map/{ids['sweep']}?x=epsilon&y=modes")
    page.wait_for_selector(".map[data-drawn]")
    box = page.locator(".map").bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 80, steps=4)
    page.mouse.up()
    title = page.locator(".ensemble h2")
    expect(title).to_have_text(re.compile(r"^[23] runs of the region"))
    expect(page.locator(".ensemble .panel").first).to_have_attribute(
        "data-drawn", re.compile(r"\d+")
    )
    there, words = address(page), title.text_content()
    open_at(page, "lab")
    open_at(page, there.removeprefix("/"))
    expect(title).to_have_text(words)
    page.locator(".map").focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown", "Shift+ArrowUp", "Enter"):
        page.keyboard.press(key)
    expect(title).to_have_text("2 runs of the region")


def test_a_map_is_shown_at_any_record(page, ids):
    open_at(page, f"map/{ids['sweep']}?x=epsilon&y=modes")
    page.wait_for_selector(".map[data-drawn]")
    page.locator("[name=record]").fill("0")
    expect(page.locator(".record")).not_to_contain_text("the last record")
    page.wait_for_timeout(200)
    page.locator(".map").hover(position={"x": 120, "y": 300})
    expect(page.locator(".view-map [role=status]").first).to_contain_text("epsilon = 10⁻⁴")
    assert "record=0" in address(page)


def test_a_map_of_a_claim_is_made_opened_and_leads_to_its_runs(page):
    open_at(page, "map")
    page.click("summary:has-text('Make a map of a claim')")
    page.select_option("[name=maker-study]", "linear_modes")
    page.select_option("[name=maker-claim]", "stronger_modes_are_learnt_first")
    page.select_option("[name=axis-0]", "epsilon")
    page.select_option("[name=axis-1]", "modes")
    page.fill("[aria-label='Across: from']", "0.001")
    page.fill("[aria-label='Across: to']", "2")
    page.fill("[aria-label='Across: points']", "6")
    page.check(".maker .bar:has([name=axis-0]) input[type=checkbox]")
    page.fill("[aria-label='Up: from']", "2")
    page.fill("[aria-label='Up: to']", "3")
    page.click("#make-map")
    expect(page.locator(".about")).to_contain_text("Mode i is half learnt before mode j")
    expect(page.locator(".about .facts")).to_contain_text(re.compile(r"12 cells: *holds \d+"))
    expect(page.locator("[name=name]")).to_have_value("margin")
    box = page.locator(".map").bounding_box()
    inside = box["x"] + 80, box["y"] + box["height"] - 60  # the least epsilon, two modes
    page.mouse.move(*inside)
    expect(page.locator(".view-map [role=status]").first).to_contain_text(
        "epsilon = 0.001, modes = 2: holds, margin"
    )
    page.mouse.down()
    page.mouse.move(inside[0] + 150, inside[1] - 10, steps=4)
    page.mouse.up()
    expect(page.locator(".ensemble h2")).to_have_text(re.compile(r"^[2-4] runs of the region"))
    there = address(page)
    open_at(page, "lab")
    open_at(page, there.removeprefix("/"))
    expect(page.locator(".ensemble h2")).to_have_text(re.compile(r"^[2-4] runs of the region"))
    page.locator(".map").focus()
    for key in ("ArrowUp", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator("h1")).to_have_text("linear_modes / flow")
    expect(page.locator(".facts").first).to_contain_text("modes 3")


def test_the_slider_of_the_lab_changes_a_curve(page):
    open_at(page, "lab?study=linear_modes&arm=logistic")
    curve = page.locator('[data-name="loss"]')
    expect(curve).to_have_attribute("data-drawn", re.compile(r"\d+"))
    before = ink(page, "loss", "base")
    slider = page.locator("#knob-epsilon")
    slider.focus()
    for _ in range(5):
        page.keyboard.press("PageDown")
    page.wait_for_function(
        "old => document.querySelector('[data-name=loss] .base').toDataURL() !== old", arg=before
    )
    expect(page.locator(".status")).to_contain_text("answered in")
    assert "f.epsilon=" in address(page)
    chosen = page.input_value("[aria-label='epsilon as a number']")
    assert float(chosen) < 1e-3
    page.reload()
    expect(page.locator("[aria-label='epsilon as a number']")).to_have_value(chosen)


def test_while_a_slider_moves_a_slow_arm_is_previewed_and_then_shown_whole(page, monkeypatch):
    from phasescope.page import lab

    open_at(page, "lab?study=linear_modes&arm=flow")
    loss = page.locator('[data-name="loss"] .reading')
    expect(loss).to_have_text(re.compile(r"\d"))
    monkeypatch.setattr(lab, "AT_ONCE", -1.0)
    page.locator("[aria-label='epsilon as a number']").fill("0.0015")
    with page.expect_response("**/api/lab"):
        page.keyboard.press("Tab")
    page.wait_for_timeout(200)
    page.evaluate(
        """() => {
          const place = document.querySelector(".status");
          window.told = [];
          new MutationObserver(() => window.told.push([place.textContent,
            document.querySelector("[data-name=loss] .reading").textContent])).observe(
            place, { childList: true, characterData: true, subtree: true });
        }"""
    )
    page.locator("#knob-epsilon").focus()
    page.keyboard.press("PageDown")
    page.wait_for_function("() => window.told.some(([words]) => words.startsWith('answered in'))")
    told = page.evaluate("window.told")
    assert re.match(r"preview: \d+ of 151 records up to time \S+ of 15, ", told[0][0]), told
    expect(loss).to_have_text(re.compile(r"^\d"))  # the cursor stands at the end of the whole run


def test_a_number_that_is_refused_is_said_beside_the_curves(page):
    open_at(page, "lab?study=linear_modes&arm=logistic")
    expect(page.locator('[data-name="loss"]')).to_have_attribute("data-drawn", re.compile(r"\d+"))
    page.fill("#knob-modes", "-1")
    page.keyboard.press("Tab")
    expect(page.locator(".status .error")).to_be_visible()
    expect(page.locator('[data-name="loss"]')).to_be_visible()
    page.said.clear()  # the browser names every answer that is no success


def test_a_background_run_lands_in_the_store_and_appears(page):
    open_at(page, "lab?study=linear_modes&arm=descent&f.epsilon=0.0123")
    expect(page.locator(".result")).to_contain_text("press Run")
    page.click("#start")
    page.locator(".jobs li", has_text="linear_modes / descent").first.get_by_text("open").click()
    expect(page.locator("h1")).to_have_text("linear_modes / descent")
    expect(page.locator(".facts").first).to_contain_text("epsilon 0.0123")
    page.goto(f"{page.home}#/run?text=0.0123")
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody")).to_contain_text("epsilon = 0.0123")


def test_a_background_run_is_stopped_however_long_the_button_is_held(page):
    open_at(page, "lab?study=linear_modes&arm=descent&f.steps=100000000&f.epsilon=0.5")
    page.click("#start")
    job = page.locator(".jobs li").first
    expect(job).to_have_attribute("data-state", "running")
    job.locator("button").hover()
    page.mouse.down()
    before = job.locator("progress").evaluate("bar => bar.value")
    expect(job.locator("progress")).not_to_have_js_property("value", before)
    page.mouse.up()
    expect(job).to_have_attribute("data-state", "stopped")
    expect(job).to_contain_text("stopped")
    expect(job.locator("button")).to_be_hidden()


def test_news_of_a_run_that_arrives_late_does_not_undo_what_was_told_after_it(page):
    open_at(page, "lab")
    shown = page.evaluate(
        """async () => {
          const { jobList } = await import("/static/job_list.js");
          const list = jobList();
          const told = (job, version, state, progress) => list.heard({
            job, version, state, progress, study: "a", arm: "b", fields: {}, run: null, problem: null,
            done: state !== "running" });
          told("2", 1, "running", 0.2); told("2", 4, "stopped", 0.5); told("2", 3, "running", 0.4);
          told("10", 6, "running", 0); told("3", 5, "running", 0);
          return [...list.node.children].map((item) => `${item.dataset.job} ${item.dataset.state}`);
        }"""
    )
    assert shown == ["10 running", "3 running", "2 stopped"]


def test_at_most_six_clicks_lead_from_the_front_page_to_the_moment_that_decides(page):
    clicks = 0

    def click(selector):
        nonlocal clicks
        page.click(selector)
        clicks += 1

    open_at(page, "")
    click("summary:has-text('every_mode_is_logistic')")
    click("details[open] a.to-run >> nth=0")
    expect(page.locator("h1")).to_contain_text("linear_modes")
    when_drawn(page, 2)
    moment = float(re.search(r"at=([\d.e-]+)", address(page)).group(1))
    assert cursor_at(page) == pytest.approx(moment)
    assert clicks <= 6


def test_empty_and_wrong_addresses_say_what_to_do(page, tmp_path, browser):
    open_at(page, "run/linear_modes/flow/0123456789abcdef")
    expect(page.locator("[role=alert]")).to_contain_text("no readable run")
    page.said.clear()
    (tmp_path / "store").mkdir()
    with served(tmp_path / "store") as url:
        fresh = browser.new_page()
        fresh.goto(url)
        expect(fresh.locator(".rows")).to_contain_text("has been checked in this store")
        expect(fresh.locator("button:has-text('Check linear_modes')")).to_be_visible()
        for key, words in {"2": "no runs in this store yet", "3": "phasescope sweep"}.items():
            fresh.keyboard.press(key)
            expect(fresh.locator("main .message").first).to_contain_text(words)
            if key == "3":
                expect(fresh.locator("#make-map")).to_be_visible()
        fresh.goto("about:blank")
        fresh.close()


VIEWS = (
    "ledger?row=linear_modes/every_mode_is_logistic",
    "run",
    "run/{every_shape}",
    "map/{sweep}",
    "map/{claim_map}",
    "lab?study=linear_modes&arm=logistic",
)


@pytest.mark.parametrize("view", VIEWS, ids=["ledger", "runs", "run", "map", "claim", "lab"])
def test_views_fit_a_narrow_screen_and_axe_finds_no_serious_fault(page, ids, view):
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="tests of accessibility need axe-playwright-python (pip install axe-playwright-python)",
    )
    open_at(page, view.format(**ids))
    expect(page.locator("main [aria-busy]")).to_have_count(0)
    page.wait_for_timeout(300)
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        found = axe.Axe().run(page).response["violations"]
        assert [
            (v["id"], v["nodes"][0]["html"][:200])
            for v in found
            if v["impact"] in ("serious", "critical")
        ] == []
    for width in (400, 640):  # a telephone, and a screen of 1280 at 200%
        page.set_viewport_size({"width": width, "height": 700})
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_no_request_leaves_the_machine(page):
    assert page.asked
    host = page.home.removeprefix("http://")
    ours = (f"http://{host}", f"ws://{host}", "data:", "blob:", "about:")
    assert [url for url in page.asked if not url.startswith(ours)] == []
