// The page: which view is shown, light or dark, keys that work everywhere, and news of background runs.

import { listen } from "./api.js";
import { isDark } from "./colours.js";
import { el, failure } from "./dom.js";
import { address, go, read } from "./state.js";
import * as ledger from "./ledger.js";
import * as run from "./run.js";
import * as map from "./map.js";
import * as lab from "./lab.js";

const VIEWS = { ledger, run, map, lab };
const place = document.getElementById("view");
const live = document.getElementById("live");
let shown = null;

async function open() {
  const state = read();
  if (!(state.view in VIEWS)) return;
  const mine = {};
  shown?.view?.close?.();
  shown = mine;
  for (const link of document.querySelectorAll("nav [data-view]"))
    link.toggleAttribute("aria-current", link.dataset.view === state.view);
  document.querySelector("nav [aria-current]")?.setAttribute("aria-current", "page");
  document.title = `${state.id || state.view} · phasescope`;
  const into = el("div", { class: `view-${state.view}`, "aria-busy": "true" }, el("p", { class: "loading quiet", role: "status" }, "Loading…"));
  place.replaceChildren(into);
  try {
    const view = await VIEWS[state.view].open(into, state);
    if (shown === mine) mine.view = view;
    else view?.close?.();
  } catch (problem) {
    if (shown === mine) into.replaceChildren(failure(problem, open));
  }
  into.removeAttribute("aria-busy");
}

function paint(theme) {
  document.documentElement.dataset.theme = theme;
  shown?.view?.repaint?.();
}

function kept() {
  try {
    return localStorage.getItem("phasescope-theme");
  } catch {
    return null;
  }
}

function keep(theme) {
  try {
    localStorage.setItem("phasescope-theme", theme);
  } catch {
    // A browser that keeps nothing: the choice lasts as long as the page.
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
const asSystem = () => (system.matches ? "dark" : "light");
paint(kept() ?? asSystem());
system.addEventListener("change", () => kept() || paint(asSystem()));
document.getElementById("theme").addEventListener("click", () => {
  const theme = isDark() ? "light" : "dark";
  keep(theme);
  paint(theme);
});

const dialog = document.getElementById("keys");
document.getElementById("help").addEventListener("click", () => dialog.showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  place.focus();
});

const TYPED = "input:not([type=range], [type=checkbox]), select, textarea";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (event.target.matches?.(TYPED)) return;
  const views = Object.keys(VIEWS);
  if (event.key === "?") dialog.showModal();
  else if (event.key in { 1: 0, 2: 0, 3: 0, 4: 0 }) go(views[+event.key - 1]);
  else if (event.key === "/") {
    const search = place.querySelector("input[type=search]");
    if (!search) return;
    search.focus();
  } else if (event.key === " " && event.target.closest?.("button, summary, a, input[type=checkbox]")) return;
  else if (!shown?.view?.key?.(event)) return;
  event.preventDefault();
});

const opened = Date.now() / 1000;
const heard = new Set();

listen((news) => {
  const old = news.done && news.began < opened && !heard.has(news.job);
  heard.add(news.job);
  if (old) return;
  const what = news.check ? `check of ${news.check}` : news.map ? `map of ${news.study}: ${news.map}` : `${news.study} / ${news.arm}`;
  const words = !news.done ? `${what}: ${Math.round(100 * (news.progress ?? 0))}%` : news.problem ? `${what} failed: ${news.problem}` : `${what}: ${news.state} `;
  const link = news.run ? address(news.map ? "map" : "run", news.run) : news.check && !news.problem ? address("ledger", "", { study: news.check }) : "";
  live.replaceChildren(words, news.done && link ? el("a", { href: link }, "open it") : "");
  shown?.view?.heard?.(news);
});

addEventListener("hashchange", open);
if (!location.hash) history.replaceState(null, "", "#/ledger");
open();
