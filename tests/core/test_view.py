"""ps.view: a run in a notebook, as one page that needs no server, bounded and shut off from what is around it."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
import xarray as xr

import phasescope as ps
from phasescope.page.view import MOST_NUMBERS

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
HOSTILE = '</script><img src=x onerror="document.title=1">\x1b[2J'


def curves(records: int = 300, **more) -> xr.Dataset:
    time = np.geomspace(1, 1e4, records)
    scores = np.outer(np.log(time), np.arange(12.0))
    return xr.Dataset(
        {"loss": ("time", 1 / time), "scores": (("time", "token"), scores)} | more,
        {"time": time},
        {"study": "mine", "arm": "flow", "time_per_step": 1.0},
    )


def data_of(page: str) -> dict:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_a_view_is_one_page_without_addresses():
    shown = ps.view(curves())
    assert "http://" not in shown.html and "https://" not in shown.html
    assert "default-src 'none'" in shown.html and "unsafe-eval" not in shown.html
    frame = shown._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame and frame.count("<") == 2
    assert "mine / flow" in repr(shown)


def test_a_large_dataset_makes_a_bounded_page():
    panels = {f"q{i}": ("time", np.random.default_rng(i).random(10_000)) for i in range(50)}
    panels["cube"] = (("time", "a", "b"), np.zeros((10_000, 40, 40)))
    shown = ps.view(curves(10_000, **panels))
    assert len(shown.html) < 16 * MOST_NUMBERS
    assert shown.left_out == ["cube"]
    wide = xr.Dataset({"x": (("lane", "time"), np.zeros((5000, 50)))}, {"time": np.arange(50.0)})
    assert data_of(ps.view(wide).html)["run"]["dims"]["lane"] == 64


def test_what_a_dataset_says_is_text():
    ds = curves().rename({"loss": HOSTILE}).assign_attrs(study=HOSTILE, spec=HOSTILE, arm=["x"])
    ds[HOSTILE].attrs |= {"symbol": HOSTILE, "long_name": HOSTILE}
    shown = ps.view(ds)
    assert "<img" not in shown.html and "<img" not in shown._repr_html_()
    assert HOSTILE in [one["name"] for one in data_of(shown.html)["run"]["variables"]]


@pytest.mark.parametrize(
    "ds",
    [
        xr.Dataset(),
        xr.Dataset({"word": ("time", ["a", "b"])}),
        xr.Dataset({"x": ("time", [np.nan, np.inf])}, {"time": ["a", "b"]}),
        xr.Dataset({"x": ("time", np.zeros(0))}, {"time": np.zeros(0)}),
        xr.DataArray(np.zeros(3), dims="time"),
    ],
)
def test_any_dataset_has_a_view(ds):
    assert ps.view(ds).left_out == []


@pytest.mark.parametrize("given", [{"ds": 3}, {"ds": None}, {"ds": xr.Dataset(), "height": 5}])
def test_what_cannot_be_shown_is_one_line(given):
    with pytest.raises(ps.SpecError, match="got"):
        ps.view(**given)


# In a browser


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need playwright (pip install playwright)"
    )
    if BROWSER is None:
        pytest.skip("browser tests need chromium on the path (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        open_one = started.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        yield open_one
        open_one.close()


@pytest.fixture
def page(browser):
    """A page that notes what went wrong in it, and what it asked the network for."""
    made = browser.new_page(viewport={"width": 1000, "height": 800})
    made.faults = []
    made.on("pageerror", lambda error: made.faults.append(str(error)))
    made.on(
        "console",
        lambda said: made.faults.append(said.text) if said.type in ("error", "warning") else None,
    )
    made.asked = []
    made.on("request", lambda request: made.asked.append(request.url))
    yield made
    made.close()


def is_drawn(frame, name: str) -> bool:
    """Whether a panel has drawn something: its canvas has pixels that are not empty."""
    return frame.evaluate(
        """(name) => {
          const canvas = document.querySelector(`[data-name="${name}"] canvas`);
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return data.some((value) => value > 0);
        }""",
        name,
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["a file", "a notebook"])
def test_panels_are_drawn_and_the_cursor_moves_all_of_them(page, tmp_path, how):
    shown = ps.view(curves())
    file = tmp_path / "view.html"
    if how == "a file":
        shown.save(file)
    else:
        file.write_text(f"<!doctype html><title>notebook</title>{shown._repr_html_()}")
    page.goto(file.as_uri())
    frame = page.frames[-1]
    frame.wait_for_selector("[data-name=loss][data-at]")
    frame.wait_for_selector("[data-name=scores][data-drawn]")
    assert is_drawn(frame, "loss") and is_drawn(frame, "scores")
    slider = frame.locator("input[type=range]").first
    before = frame.locator("[data-name=loss]").get_attribute("data-at")
    slider.focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowLeft")
    frame.wait_for_function(
        "(before) => ['loss', 'scores'].every((name) => "
        "document.querySelector(`[data-name=${name}]`).dataset.at !== before)",
        arg=before,
    )
    assert page.faults == []
    assert all(url.startswith(("file:", "data:", "about:")) for url in page.asked)


@pytest.mark.slow
def test_hostile_words_stay_words_in_a_browser(page, tmp_path):
    ds = curves().rename({"scores": HOSTILE}).assign_attrs(study=HOSTILE)
    ds.loss.attrs |= {"symbol": HOSTILE, "long_name": HOSTILE}
    ps.view(ds).save(tmp_path / "view.html")
    page.goto((tmp_path / "view.html").as_uri())
    page.wait_for_selector("[data-name=loss][data-drawn]")
    assert page.locator("img").count() == 0 and page.title() != "1"
    assert page.faults == []


@pytest.mark.slow
def test_a_lane_of_a_sweep_is_chosen(page, tmp_path):
    time = np.arange(50.0)
    rates = np.array([0.1, 0.5])
    falls = np.exp(-np.outer(rates, time))
    ds = xr.Dataset({"loss": (("lane", "time"), falls)}, {"time": time, "eta": ("lane", rates)})
    ps.view(ds).save(tmp_path / "view.html")
    page.goto((tmp_path / "view.html").as_uri())
    page.wait_for_selector("[data-name=loss][data-drawn]")
    reading = page.locator("[data-name=loss] output").first
    first = reading.text_content()
    page.select_option("select[name=lane-lane]", "1")
    page.wait_for_function(
        "(first) => document.querySelector('[data-name=loss] output').textContent !== first",
        arg=first,
    )
    assert page.faults == []
