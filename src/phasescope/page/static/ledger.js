// The Ledger view: every claim with its word, chosen and ordered; a row opens to what was measured and where.

import { get, send } from "./api.js";
import { theme } from "./colours.js";
import { Curves } from "./curves.js";
import { chooser, el, failure, mathematics, message, settled } from "./dom.js";
import { Panel } from "./panel.js";
import { short } from "./scales.js";
import { address, note } from "./state.js";

// So many checks of a row are shown at once; those that decide come first.
const FIRST = 6;
const FILTERS = ["word", "kind", "whose", "regime"];

export async function open(into, { params }) {
  const studies = await get("studies");
  const view = new LedgerView(studies, { ...params });
  into.replaceChildren(...view.nodes);
  await view.fill();
  return view;
}

const signed = (margin) => (Number.isFinite(margin) ? `${margin > 0 ? "+" : ""}${short(margin, 3)}` : "");
const clean = (word) => String(word ?? "").toLowerCase().replace(/[^a-z]+/g, "-");

class LedgerView {
  constructor(studies, state) {
    Object.assign(this, { studies, state, panels: [] });
    this.rows = el("div", { class: "rows" });
    this.count = el("p", { class: "quiet", role: "status" });
    this.filters = el("div", { class: "bar", role: "search" });
    this.nodes = [el("h1", {}, "Ledger"), el("p", { class: "quiet" }, "What the papers claim, and what the runs in this store say of it."), this.filters, this.count, this.rows];
  }
  async fill() {
    this.found = await get("ledger", { study: this.state.study });
    name(this.found.rows);
    this.bar();
    this.show();
  }
  bar() {
    const { state } = this;
    const search = el("input", { type: "search", name: "text", value: state.text ?? "", placeholder: "words of the claim", oninput: settled(() => this.change({ text: search.value }), 120) });
    const choice = (key) => {
      const values = [...new Set(this.found.rows.map((row) => row[key]).filter(Boolean))].sort();
      return chooser(key[0].toUpperCase() + key.slice(1), key, [["", "all"], ...values], state[key], (value) => this.change({ [key]: value }));
    };
    const check = el("button", { type: "button", onclick: () => this.check(check) }, this.found.rows.length ? "Check again" : "Check");
    this.filters.replaceChildren(
      el("label", {}, el("span", {}, "Search"), search),
      chooser("Study", "study", [["", "all"], ...this.studies.map((s) => s.name)], state.study, async (study) => {
        this.state.study = study;
        note({ study });
        await this.fill();
      }),
      ...FILTERS.map(choice),
      chooser("Order", "sort", [["", "as in the paper"], ["margin", "smallest margin first"], ["-margin", "largest margin first"]], state.sort, (sort) => this.change({ sort })),
      state.study ? check : "");
  }
  async check(button, study = this.state.study) {
    button.disabled = true;
    try {
      await send("POST", "check", { study });
      button.textContent = `Checking ${study}…`;
    } catch (problem) {
      this.count.replaceChildren(failure(problem));
      button.disabled = false;
    }
  }
  heard(news) {
    if (news.done && news.check) this.fill();
  }
  change(changes) {
    Object.assign(this.state, changes);
    note(changes);
    this.show();
  }
  chosen() {
    const { state } = this;
    const text = (state.text ?? "").toLowerCase();
    const rows = this.found.rows.filter((row) => FILTERS.every((key) => !state[key] || row[key] === state[key])
      && `${row.id} ${row.cites} ${row.text} ${row.on}`.toLowerCase().includes(text));
    const size = (row) => (Number.isFinite(row.margin) ? row.margin : Infinity);
    if (state.sort === "margin") rows.sort((a, b) => size(a) - size(b));
    if (state.sort === "-margin") rows.sort((a, b) => size(b) - size(a));
    return rows;
  }
  show() {
    const rows = this.chosen();
    const all = this.found.rows.length;
    this.count.textContent = all ? `${rows.length === all ? "" : `${rows.length} of `}${all} rows` : "";
    if (!all) return this.rows.replaceChildren(this.nothing());
    if (!rows.length) return this.rows.replaceChildren(message("No row is like that.", el("button", { type: "button", onclick: () => this.clear() }, "Show all rows")));
    const head = el("p", { class: "head quiet", "aria-hidden": "true" }, ["Word", "Claim", "Statement", "Margin"].map((word) => el("span", {}, word)));
    this.rows.replaceChildren(head, ...rows.map((row) => this.row(row)));
  }
  /** What is shown before any claim was checked: where to begin. */
  nothing() {
    const asked = this.studies.filter((study) => study.claims && (!this.state.study || study.name === this.state.study));
    if (!asked.length) return message("No study with claims is installed.", el("p", {}, "Make one: ", el("code", {}, "phasescope new NAME"), "."));
    const starters = asked.map((study) => el("button", { type: "button", onclick: (event) => this.check(event.target, study.name) }, `Check ${study.name} (${study.claims} claims)`));
    return message("No claim of these studies has been checked in this store.",
      el("p", {}, "A check makes the runs that are missing, behind this page, and may take minutes; its rows appear here."),
      el("p", { class: "bar" }, starters),
      this.found.hint ? el("p", {}, "In a terminal: ", el("code", {}, this.found.hint)) : "");
  }
  clear() {
    this.change(Object.fromEntries(["text", "sort", ...FILTERS].map((key) => [key, ""])));
    this.bar();
  }
  row(row) {
    const { key } = row;
    const details = el("details", { class: `row ${clean(row.word)}`, "data-id": row.id },
      el("summary", {}, el("span", {}, el("span", { class: "word" }, row.said || row.word)), el("code", {}, row.id), el("p", {}, row.text),
        el("span", { class: "margin", title: "margin: the room to the bound, below 0 where it is missed" }, signed(row.margin))));
    const fill = () => details.querySelector(".inside") ?? details.append(this.inside(row));
    if (this.state.row === key) {
      fill();
      details.open = true;
    }
    details.addEventListener("toggle", () => {
      if (details.open) fill();
      if (details.open) this.state.row = key;
      else if (this.state.row === key) this.state.row = "";
      note({ row: this.state.row });
    });
    return details;
  }
  inside(row) {
    const facts = [["", row.cites], ["study", row.study], ["kind", row.kind], ["whose", row.whose], ["on", row.on], ["regime", row.regime]].filter(([, v]) => v);
    const runs = (row.runs ?? []).map((run) => runLink(run, row.at?.time)).filter(Boolean);
    return el("div", { class: "inside" },
      el("p", {}, mathematics(row.mathml) ?? ""), el("p", { class: "facts" }, facts.map(([k, v]) => el("span", {}, k ? el("b", {}, `${k} `) : "", v))),
      row.why ? el("p", {}, row.why) : "",
      el("div", { class: "columns" }, el("div", {}, subs(row.sub ?? []), runs.length ? el("div", {}, el("h2", {}, "Runs it rests on"), el("ul", {}, runs.map((r) => el("li", {}, r)))) : el("p", { class: "quiet" }, "No run in this store is named by this row.")),
        this.plot(row)),
      el("p", { class: "quiet" }, "By hand: ", el("code", {}, row.command || `phasescope check ${row.study} --claim ${row.id}`)));
  }
  plot(row) {
    const picture = comparison(row.plot) ?? (row.sub ?? []).map((sub) => comparison(sub.plot)).find(Boolean);
    if (!picture) return "";
    const panel = new Panel({ name: `${row.id}`, title: "What was compared", load: async () => picture, look: () => ({ theme: theme(), clock: { of: (v) => v, back: (v) => v, label: picture.along }, logX: picture.logX }), log: picture.isLog });
    this.panels.push(panel);
    return panel.node;
  }
  /** Arrow keys go from row to row; the browser opens and closes the row in focus with Enter. */
  key(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return false;
    const rows = [...this.rows.querySelectorAll("summary")];
    const now = rows.indexOf(document.activeElement);
    if (now < 0 && document.activeElement !== document.body) return false;
    rows[Math.max(0, Math.min(rows.length - 1, now + by))]?.focus();
    return rows.length > 0;
  }
  close() {
    this.panels.forEach((panel) => panel.close());
  }
  repaint() {
    this.panels.forEach((panel) => panel.redraw());
  }
}

/** Gives every row a key of its own: a claim that is judged in several regimes has as many rows. */
function name(rows) {
  const counts = new Map();
  for (const row of rows) {
    const plain = `${row.study}/${row.id}`;
    const before = counts.get(plain) ?? 0;
    counts.set(plain, before + 1);
    row.key = before ? `${plain}:${before + 1}` : plain;
  }
}

/** A link to a run, at the moment that decided. */
function runLink(id, at) {
  const moment = at === null || at === undefined ? "" : ` at time ${short(at)}`;
  return el("a", { class: "to-run", href: address("run", id, { at }) }, `${id}${moment}`);
}

function subs(given) {
  if (!given.length) return "";
  const cells = (sub) => {
    return [`${sub.check}${sub.guard ? " (guard)" : ""}${sub.where ? `, ${sub.where}` : ""}`, short(sub.measured), short(sub.required), signed(sub.margin)];
  };
  const body = given.map((sub) => el("tr", {}, el("td", {}, el("span", { class: `word ${clean(sub.outcome)}` }, sub.outcome), " ", cells(sub)[0]), cells(sub).slice(1).map((c) => el("td", {}, c))));
  const table = (rows) => el("table", {}, el("thead", {}, el("tr", {}, ["Check", "measured", "bound", "margin"].map((w) => el("th", { scope: "col" }, w)))), el("tbody", {}, rows));
  if (body.length <= FIRST + 1) return table(body);
  return [table(body.slice(0, FIRST)), el("details", { class: "more" }, el("summary", {}, `${body.length - FIRST} more checks`), table(body.slice(FIRST)))];
}

const COMPARED = { measured: "measured", reference: "held against", lower: "lower bound", upper: "upper bound", fitted: "fitted law" };

/** The curves that a check compared, or nothing where it kept none. */
function comparison(plot) {
  if (!plot?.measured || !Array.isArray(plot.x) || plot.x.length < 2) return null;
  const lines = Object.keys(COMPARED).filter((key) => Array.isArray(plot[key]) && plot[key].length === plot.x.length)
    .map((key, i) => ({ label: COMPARED[key], values: Float64Array.from(plot[key], (v) => v ?? NaN), dash: i ? [6, 3] : undefined }));
  if (!lines.length) return null;
  const picture = new Curves({ times: plot.x, lines, along: plot.along || "x" });
  const spread = (values) => values.every((v) => v > 0) && Math.max(...values) > 50 * Math.min(...values);
  picture.hasTime = false;
  picture.along = plot.along || "x";
  picture.logX = plot.log || spread(plot.x);
  picture.isLog = plot.log || spread([...lines[0].values].filter(Number.isFinite));
  return picture;
}
