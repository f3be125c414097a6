// The making of a map of a claim: which claim, over which numbers, behind the page.

import { get, send } from "./api.js";
import { chooser, el, failure, symbol } from "./dom.js";
import { short } from "./scales.js";
import { go } from "./state.js";

const POINTS = 24, WHOLE = 4;

/** Where an axis goes if nobody says: a decade up and down, or from its bound to twice the value. */
function usual(field) {
  const value = Number(field.default) || 1;
  if (field.type === "int") return { from: Math.max(field.low ?? 1, Math.ceil(value / 2)), to: 2 * value, points: WHOLE, log: false };
  if (field.log) return { from: Math.max(value / 10, field.low ?? 0) || value / 10, to: Math.min(value * 10, field.high ?? Infinity), points: POINTS, log: true };
  return { from: field.low ?? value / 2, to: field.high ?? value * 2, points: POINTS, log: false };
}

export class Maker {
  /** `open` from the beginning or not; `name` is the study that is offered first. What is installed is asked when it is opened. */
  constructor(open, name) {
    this.name = name;
    this.body = el("div", {});
    this.says = el("div", { class: "quiet", role: "status" });
    this.node = el("details", { class: "more maker", open, ontoggle: () => this.node.open && this.fill() }, el("summary", {}, "Make a map of a claim"), this.body, this.says);
  }
  async fill() {
    if (this.filled && this.filled === this.study?.name) return;
    this.body.replaceChildren(el("p", { class: "quiet" }, "Looking for claims that can be mapped…"));
    try {
      this.studies ??= (await get("studies")).filter((study) => study.claims);
      this.study ??= this.studies.find((study) => study.name === this.name) ?? this.studies[0];
      if (!this.study) return this.body.replaceChildren(el("p", {}, "No study with claims is installed."));
      this.filled = this.study.name;
      this.claims = await get(`claims/${encodeURIComponent(this.study.name)}`);
      this.choose(this.claims[0]);
    } catch (problem) {
      this.filled = undefined;
      this.body.replaceChildren(failure(problem, () => this.fill()));
    }
  }
  choose(claim) {
    this.claim = claim;
    this.axes = [];
    const studies = chooser("Study", "maker-study", this.studies.map((s) => s.name), this.study.name, (name) => {
      this.study = this.studies.find((s) => s.name === name);
      this.fill();
    });
    if (!claim) return this.body.replaceChildren(el("p", { class: "bar" }, studies), el("p", {}, "No claim of this study has a map: their evidence cannot be run at other numbers."));
    const claims = chooser("Claim", "maker-claim", this.claims.map((c) => [c.id, `${c.id} (${c.cites})`]), claim.id, (id) => this.choose(this.claims.find((c) => c.id === id)));
    const names = claim.fields.map((field) => field.name);
    this.rows = el("div", {}, this.axis(0, names[0], names), names.length > 1 ? this.axis(1, names[1], ["", ...names]) : "");
    this.body.replaceChildren(el("div", { class: "bar" }, studies, claims), el("p", {}, claim.statement), this.rows,
      el("p", { class: "bar" }, el("button", { type: "button", class: "main", id: "make-map", onclick: () => this.make() }, "Make the map")));
  }
  /** The controls of one axis: its field, from, to, how many points, and whether they are spaced in their logarithms. */
  axis(number, name, names) {
    const field = this.claim.fields.find((f) => f.name === name);
    const words = number ? "Up" : "Across";
    const pick = chooser(words, `axis-${number}`, names.map((n) => [n, n || "nothing"]), name, () => {});
    if (!field) {
      this.axes[number] = null;
      const old = el("div", { class: "bar" }, pick);
      return this.replaceable(old, pick, number, names);
    }
    const start = usual(field);
    const box = (label, value, attributes = {}) => {
      const input = el("input", { type: "number", step: "any", value: String(+Number(value).toPrecision(4)), "aria-label": `${words}: ${label}`, ...attributes });
      return [el("label", {}, el("span", {}, label), input), input];
    };
    const [from, a] = box("from", start.from), [to, b] = box("to", start.to), [points, n] = box("points", start.points, { step: 1, min: 2 });
    const log = el("input", { type: "checkbox", checked: start.log });
    this.axes[number] = { field, text: () => `${a.value}:${b.value}:${n.value}${log.checked ? ":log" : ""}` };
    const old = el("div", { class: "bar" }, pick, from, to, points, field.type === "int" ? "" : el("label", { class: "check" }, log, "log"),
      el("span", { class: "quiet" }, symbol(field), field.meaning ? ` ${field.meaning}` : "", `, ${short(field.default)} in the claim's evidence`));
    return this.replaceable(old, pick, number, names);
  }
  replaceable(node, pick, number, names) {
    const select = pick.querySelector("select");
    select.onchange = () => node.replaceWith(this.axis(number, select.value, names));
    return node;
  }
  async make() {
    const chosen = this.axes.filter(Boolean);
    const fields = Object.fromEntries(chosen.map(({ field, text }) => [field.name, text()]));
    try {
      if (Object.keys(fields).length < chosen.length) throw new Error("Choose two different numbers for the two axes.");
      this.job = (await send("POST", "maps", { study: this.study.name, claim: this.claim.id, fields })).job;
      this.says.textContent = "The map is being made behind this page; it opens here when it is done.";
      for (const job of await get("jobs")) this.heard(job); // it may be done already
    } catch (problem) {
      this.says.replaceChildren(failure(problem));
    }
  }
  /** The map that was asked for here opens when it is done. */
  heard(news) {
    if (news.job !== this.job) return;
    if (news.done) this.job = undefined;
    if (!news.done) this.says.textContent = `making the map: ${Math.round(100 * (news.progress ?? 0))}% of this part`;
    else if (news.run) go("map", news.run);
    else this.says.textContent = news.problem ?? `The map was ${news.state}.`;
  }
}
