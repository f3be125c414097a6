// The Run view: every observable of a run as a panel, under one cursor. Without an id: the list of runs.

import { get, inPath, numbers } from "./api.js";
import { clocksOf, usualClock } from "./clocks.js";
import { theme } from "./colours.js";
import { Cursor } from "./cursor.js";
import { Curves } from "./curves.js";
import { chooser, el, message } from "./dom.js";
import { Panel } from "./panel.js";
import { pictureOf, pointsFor } from "./pictures.js";
import { listOfRuns } from "./runs.js";
import { between, short } from "./scales.js";
import { address, note } from "./state.js";

export async function open(into, { id, params }) {
  if (!id) return listOfRuns(into, params);
  const run = await get(`runs/${inPath(id)}`);
  const view = new RunView(run, params);
  into.replaceChildren(...view.nodes);
  return view;
}

const split = (text) => (text ? text.split(",") : []);

export class RunView {
  /** `read(variable)` gives the numbers of a variable; by itself it asks the server. `keeps`: the address holds the state. */
  constructor(run, params = {}, { read, keeps = true } = {}) {
    Object.assign(this, { run, params, keeps });
    this.read = read ?? ((variable, from = run) => this.ask(variable, from));
    this.lanes = Object.fromEntries(split(params.lane).map((index, i) => [this.laneDims()[i], +index]));
    this.logs = new Set(split(params.log));
    this.linears = new Set(split(params.lin));
    this.others = [];
    this.panels = [];
    const times = (run.coords.time ?? []).filter((t) => t !== null);
    this.clocks = clocksOf(run);
    this.clock = this.clocks.find((c) => c.name === params.clock) ?? usualClock(this.clocks, times);
    this.cursor = new Cursor({
      times, clocks: this.clocks, clock: this.clock, at: params.at === undefined ? undefined : +params.at,
      moved: (at) => this.moved(at),
      ticked: (clock) => {
        this.clock = clock;
        this.keep({ clock: clock.name });
        this.panels.forEach((panel) => panel.redraw());
      },
    });
    this.grid = el("div", { class: "panels" });
    const nothing = run.variables.length === 0 && message("This run kept no observables. Run it again with at least one observable in its measure.");
    this.nodes = [this.head(), times.length > 1 && this.cursor.node, nothing, this.grid].filter(Boolean);
    this.fill();
    split(params.over).forEach((other) => this.overlay(other, true));
  }
  keep(changes) {
    if (this.keeps) note(changes);
  }
  /** A sweep keeps its runs along `lane`; one of them is shown. */
  laneDims() {
    return this.run.dims.lane >= 1 ? ["lane"] : [];
  }
  /** What a lane was run with, in words. */
  laneWords(i) {
    const along = Object.keys(this.run.swept ?? {}).filter((key) => this.run.coords[key]?.length === this.run.dims.lane);
    return along.length ? along.map((key) => `${key} = ${short(this.run.coords[key][i])}`).join(", ") : `lane ${i}`;
  }
  head() {
    const { run } = this;
    const spec = Object.entries(run.spec ?? {}).map(([key, value]) => el("span", {}, el("b", {}, `${key} `), short(value)));
    const lanes = this.laneDims().map((dim) => {
      const given = Array.from({ length: run.dims[dim] }, (_, i) => [String(i), this.laneWords(i)]);
      return chooser("Run of the sweep", `lane-${dim}`, given, String(this.lanes[dim] ?? 0), (i) => this.lane(dim, +i));
    });
    const over = (run.arms ?? []).map((other) => {
      const { id, arm } = typeof other === "string" ? { id: other, arm: other.split("/").at(-2) ?? other } : other;
      const box = el("input", { type: "checkbox", name: "over", value: id, checked: split(this.params.over).includes(id),
        onchange: () => this.overlay(id, box.checked) });
      return el("label", { class: "check" }, box, `overlay ${arm}`);
    });
    const title = el("h1", {}, run.study, " / ", run.arm);
    if (!this.keeps) return el("div", { class: "bar" }, lanes);
    return el("section", {}, title, el("p", { class: "facts" }, spec),
      el("details", { class: "more" }, el("summary", {}, "Where it comes from"),
        el("p", {}, "id ", el("code", {}, run.id)), el("pre", {}, JSON.stringify(run.provenance ?? {}, null, 2))),
      lanes.length || over.length ? el("div", { class: "bar" }, lanes, over) : "",
      el("p", {}, el("a", { href: address("lab", "", { study: run.study, arm: run.arm, ...prefixed(run.spec) }) }, "Change its numbers in the lab")));
  }
  lane(dim, index) {
    this.lanes[dim] = index;
    this.keep({ lane: this.laneText() });
    this.panels.forEach((panel) => panel.fill());
  }
  laneText() {
    return this.laneDims().map((dim) => this.lanes[dim] ?? 0).join(",");
  }
  ask(variable, from) {
    const points = pointsFor(variable, this.run.dims);
    return numbers(`runs/${inPath(from.id)}/values`, { name: variable.name, points, lane: this.laneText() });
  }
  look = () => ({ clock: this.clock, theme: theme(), phases: this.run.phases, theory: this.run.theory, span: this.run.coords.time });
  fill() {
    for (const variable of this.run.variables) this.grid.append(this.panelOf(variable).node);
  }
  panelOf(variable) {
    const { name, symbol, meaning, unit } = variable;
    const hint = variable.log_hint && !this.linears.has(name);
    const panel = new Panel({
      name, title: symbol && symbol !== name ? `${symbol}  (${name})` : name, meaning: [meaning, unit && `[${unit}]`].filter(Boolean).join(" "),
      load: () => this.picture(variable, panel), look: this.look, log: Boolean(hint || this.logs.has(name)),
      onTime: (time) => this.cursor.to(time), onLog: (which, log) => this.scaled(which, log),
    });
    panel.at = this.cursor.at;
    panel.variable = variable;
    this.panels.push(panel);
    return panel;
  }
  scaled(name, log) {
    (log ? this.logs : this.linears).add(name);
    (log ? this.linears : this.logs).delete(name);
    this.keep({ log: [...this.logs].join(","), lin: [...this.linears].join(",") });
  }
  async picture(variable, panel) {
    const own = pictureOf(this.run, await this.read(variable), variable.name);
    if (!(own instanceof Curves)) return own;
    if (own.lines.length > 1 || this.others.length) panel.legend.replaceChildren(legend(own, this.others.length ? this.run.arm : ""));
    for (const [i, other] of this.others.entries()) {
      if (!other.variables.some((v) => v.name === variable.name)) continue;
      const theirs = pictureOf(other, await this.read(variable, other), variable.name);
      if (!(theirs instanceof Curves)) continue;
      const single = own.lines.length === 1;
      own.lines.push(...theirs.lines.map((line, k) => ({ ...line, times: theirs.times, label: `${other.arm} ${line.label}`, dash: [6, 3 + 2 * i], colour: single ? i + 1 : k, over: other })));
      panel.legend.append(el("span", {}, ` dashed: ${other.arm}`));
    }
    return own;
  }
  async overlay(id, on) {
    if (!on) this.others = this.others.filter((other) => other.id !== id);
    else if (!this.others.some((other) => other.id === id)) this.others.push(await get(`runs/${inPath(id)}`));
    this.keep({ over: this.others.map((other) => other.id).join(",") });
    this.panels.filter((panel) => panel.residual).forEach((panel) => panel.node.remove());
    this.panels = this.panels.filter((panel) => !panel.residual);
    for (const panel of [...this.panels]) {
      if (panel.asked) panel.fill();
      for (const other of this.others) this.residual(panel, other);
    }
  }
  /** This arm less the other, at the records of this one, in a panel beside the curves. */
  residual(panel, other) {
    const { variable } = panel;
    const few = variable.dims.filter((d) => d !== "time" && !this.laneDims().includes(d)).length <= 1;
    if (!variable.dims.includes("time") || !few || !other.variables.some((v) => v.name === variable.name)) return;
    const made = new Panel({
      name: `${variable.name} residual ${other.arm}`, title: `${variable.name}: ${this.run.arm} − ${other.arm}`, meaning: "residual",
      look: this.look, onTime: (time) => this.cursor.to(time),
      load: async () => {
        const own = pictureOf(this.run, await this.read(variable), variable.name);
        const theirs = pictureOf(other, await this.read(variable, other), variable.name);
        if (!(own instanceof Curves && theirs instanceof Curves)) throw new Error("A residual is drawn for curves only; this quantity is shown as colours.");
        const lines = own.lines.map((line, k) => ({ ...line, values: Float64Array.from(own.times, (t, i) => line.values[i] - between(theirs.times, theirs.lines[k]?.values ?? [], t)) }));
        return new Curves({ times: own.times, lines, levels: [0] });
      },
    });
    made.residual = true;
    made.variable = variable;
    made.at = this.cursor.at;
    this.panels.push(made);
    panel.node.after(made.node);
  }
  moved(at) {
    this.keep({ at: +at.toPrecision(8) });
    for (const panel of this.panels) panel.move(at);
  }
  key(event) {
    if (event.target === this.cursor.slider && event.key.startsWith("Arrow") && !event.shiftKey) return false;
    return this.cursor.times.length > 1 && this.cursor.key(event);
  }
  repaint() {
    this.panels.forEach((panel) => panel.redraw());
    this.panels.forEach((panel) => panel.legend.querySelectorAll("i").forEach((mark) => (mark.style.background = theme().lines[+mark.dataset.colour % theme().lines.length])));
  }
  close() {
    this.cursor.close();
  }
}

export function prefixed(spec) {
  return Object.fromEntries(Object.entries(spec ?? {}).filter(([, v]) => typeof v !== "object").map(([key, value]) => [`f.${key}`, value]));
}

function legend(curves, arm) {
  const marks = curves.lines.map((line, i) => {
    const mark = el("i", { class: "mark", "data-colour": i });
    mark.style.background = theme().lines[i % theme().lines.length];
    return el("span", { class: "key" }, mark, line.label, " ");
  });
  return el("span", {}, arm ? `solid: ${arm}. ` : "", marks);
}
