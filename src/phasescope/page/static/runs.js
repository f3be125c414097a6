// The list of runs in the store: searched, chosen by study and arm, ordered, a page at a time.

import { get } from "./api.js";
import { chooser, el, failure, message, settled } from "./dom.js";
import { short } from "./scales.js";
import { address, note } from "./state.js";

const LIMIT = 50;

export async function listOfRuns(into, params) {
  const state = { text: "", study: "", arm: "", sort: "", offset: 0, ...params };
  const studies = await get("studies");
  const table = el("div", { class: "scrolling" });
  const arms = [...new Set(studies.flatMap((s) => s.arms.map((a) => a.name)))];
  const change = (changes) => {
    Object.assign(state, { offset: 0 }, changes);
    note({ ...changes, offset: state.offset || "" });
    fill();
  };
  let last;
  const fill = async () => {
    const mine = (last = {});
    try {
      const found = await get("runs", { ...state, limit: LIMIT });
      if (last === mine) table.replaceChildren(...tableOf(found, state, change));
    } catch (problem) {
      if (last === mine) table.replaceChildren(failure(problem, fill));
    }
  };
  const search = el("input", { type: "search", name: "text", value: state.text, placeholder: "id, field or value", oninput: settled(() => change({ text: search.value }), 150) });
  into.replaceChildren(
    el("h1", {}, "Runs in the store"),
    el("div", { class: "bar", role: "search" }, el("label", {}, el("span", {}, "Search"), search),
      chooser("Study", "study", [["", "all"], ...studies.map((s) => s.name)], state.study, (study) => change({ study })),
      chooser("Arm", "arm", [["", "all"], ...arms], state.arm, (arm) => change({ arm })),
      chooser("Order", "sort", [["", "newest first"], ["when", "oldest first"], ["-size", "largest first"]], state.sort, (sort) => change({ sort }))),
    table);
  await fill();
  return { heard: (news) => news.done && fill() };
}

function tableOf(found, state, change) {
  if (!found.rows.length) {
    const searched = state.text || state.study || state.arm;
    return [searched
      ? message("No run is like that.", el("button", { type: "button", onclick: () => change({ text: "", study: "", arm: "" }) }, "Show all runs"))
      : message("There are no runs in this store yet.", el("p", {}, "Start one in the ", el("a", { href: "#/lab" }, "lab"), ", or type ", el("code", {}, "phasescope run STUDY"), " in a terminal."))];
  }
  const head = el("tr", {}, ["Run", "What differs", "Kind", "When", "Status"].map((words) => el("th", { scope: "col" }, words)));
  const rows = found.rows.map((row) => el("tr", {},
    el("td", {}, el("a", { href: address("run", row.id) }, `${row.study} / ${row.arm}`, " ", el("span", { class: "id" }, row.id.split("/")[2].slice(0, 6)))),
    el("td", {}, differences(row) || el("span", { class: "quiet" }, "as the study has it")),
    el("td", {}, row.kind), el("td", {}, when(row.when)), el("td", {}, row.status)));
  const first = +state.offset + 1, last = +state.offset + found.rows.length;
  const turn = (words, offset, off) => el("button", { type: "button", disabled: off, onclick: () => change({ offset }) }, words);
  return [el("p", { class: "quiet", role: "status" }, `${first} to ${last} of ${found.total} runs`), el("table", { class: "list" }, el("thead", {}, head), el("tbody", {}, rows)),
    found.total > LIMIT ? el("p", { class: "bar" }, turn("Earlier", Math.max(0, state.offset - LIMIT), first <= 1), turn("Further", +state.offset + LIMIT, last >= found.total)) : ""];
}

/** The numbers that are not the study's own, and what was swept from where to where. */
function differences(row) {
  const own = Object.entries(row.differs).map(([name, value]) => `${name} = ${shown(value)}`);
  const swept = Object.entries(row.swept).map(([name, value]) => (Array.isArray(value) && value.length === 2 ? `${name} from ${short(value[0])} to ${short(value[1])}` : `${name} = ${shown(value)}`));
  return [...own, ...swept].join(", ");
}

function shown(value) {
  return Array.isArray(value) ? `${value.slice(0, 3).map((v) => short(v)).join(", ")}${value.length > 3 ? ", …" : ""}` : short(value);
}

function when(given) {
  if (!given) return "";
  const date = new Date(typeof given === "number" ? given * 1000 : given);
  return Number.isNaN(+date) ? String(given) : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
