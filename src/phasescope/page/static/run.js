// The Run view: every observable of a run as a panel, under one cursor. Without an id: the list of runs.

import { get, inPath, numbers } from "./api.js";
import { clocksOf, timesOf, usualClock } from "./clocks.js";
import { theme } from "./colours.js";
import { Cursor } from "./cursor.js";
import { Curves } from "./curves.js";
import { chooser, el, message, symbol } from "./dom.js";
import { Panel } from "./panel.js";
import { coordOf, cutDims, pictureOf, pointsFor } from "./pictures.js";
import { listOfRuns } from "./runs.js";
import { between, short } from "./scales.js";
import { address, note } from "./state.js";

export async function open(into, { id, params }) {
  if (!id) return listOfRuns(into, params);
  const run = await get(`runs/${inPath(id)}`);
  if (run.dims.time > (run.coords.time?.length ?? 0)) run.coords.time = await manyTimes(id);
  const view = new RunView(run, params);
  into.replaceChildren(...view.nodes);
  return view;
}

// So many times are listed in one answer of the server.
const LISTED = 20000;

/** The times of a run that has more records than a description lists: as many as a slider can tell apart. */
async function manyTimes(id) {
  const found = await numbers(`runs/${inPath(id)}/values`, { name: "time", points: LISTED });
  return Array.from(found.values);
}

const split = (text) => (text ? text.split(",") : []);

export class RunView {
  /** `read(variable)` gives the numbers of a variable; by itself it asks the server. `keeps`: the address holds the state. */
  constructor(run, params = {}, { read, keeps = true } = {}) {
    Object.assign(this, { run, params, keeps });
    this.read = read ?? ((variable, from = run, whole = false) => this.ask(variable, from, whole));
    this.lanes = Object.fromEntries(split(params.lane).map((index, i) => [this.laneDims()[i], +index]));
    this.logs = new Set(split(params.log));
    this.linears = new Set(split(params.lin));
    this.cuts = Object.fromEntries(split(params.cut).map((part) => part.split(":")).map(([dim, index]) => [dim, +index]));
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
  /** A choice of one place along every axis that the pictures have no room for. */
  cutChoosers() {
    const dims = new Set(this.run.variables.flatMap((variable) => cutDims(variable.dims)));
    return [...dims].map((dim) => {
      const places = coordOf(this.run, dim, this.run.dims[dim]).map((place, i) => [String(i), `${dim} ${short(place)}`]);
      return chooser(dim, `cut-${dim}`, places, String(this.cuts[dim] ?? 0), (index) => {
        this.cuts[dim] = +index;
        this.keep({ cut: Object.entries(this.cuts).map(([d, i]) => `${d}:${i}`).join(",") });
        this.refill();
      });
    });
  }
  head() {
    const { run } = this;
    const cuts = this.cutChoosers();
    const spec = Object.entries(run.spec ?? {}).map(([key, value]) => el("span", {}, el("b", {}, `${key} `), short(value)));
    const lanes = this.laneDims().map((dim) => {
      const given = Array.from({ length: run.dims[dim] }, (_, i) => [String(i), this.laneWords(i)]);
      return chooser("Run of the sweep", `lane-${dim}`, given, String(this.lanes[dim] ?? 0), (i) => this.lane(dim, +i));
    });
    const armOf = (id) => id.split("/").at(-2) ?? id;
    const over = (run.arms ?? []).map((id, _, all) => {
      const arm = all.filter((other) => armOf(other) === armOf(id)).length > 1 ? `${armOf(id)} ${id.split("/").at(-1).slice(0, 6)}` : armOf(id);
      const box = el("input", { type: "checkbox", name: "over", value: id, checked: split(this.params.over).includes(id),
        onchange: () => this.overlay(id, box.checked) });
      return el("label", { class: "check" }, box, `overlay ${arm}`);
    });
    if (run.status && run.status !== "finished") spec.unshift(el("strong", {}, run.status));
    if (run.seed !== null && run.seed !== undefined) spec.push(el("span", {}, el("b", {}, "seed "), short(run.seed)));
    const title = el("h1", {}, run.study, " / ", run.arm);
    if (!this.keeps) return el("div", { class: "bar" }, lanes, cuts);
    return el("section", {}, title, el("p", { class: "facts" }, spec),
      el("details", { class: "more" }, el("summary", {}, "Where it comes from"),
        el("p", {}, "id ", el("code", {}, run.id)), el("pre", {}, JSON.stringify(run.provenance ?? {}, null, 2))),
      lanes.length || over.length || cuts.length ? el("div", { class: "bar" }, lanes, cuts, over) : "",
      el("p", {}, el("a", { href: address("lab", "", { study: run.study, arm: run.arm, ...prefixed(run.spec) }) }, "Change its numbers in the lab")));
  }
  lane(dim, index) {
    this.lanes[dim] = index;
    this.keep({ lane: this.laneText() });
    this.refill();
  }
  /** The panels that were seen get other numbers; those further down ask when they come into sight. */
  refill() {
    this.panels.forEach((panel) => panel.asked && panel.fill());
  }
  laneText() {
    return this.laneDims().map((dim) => this.lanes[dim] ?? 0).join(",");
  }
  ask(variable, from, whole) {
    const points = whole ? LISTED : pointsFor(variable, this.run.dims);
    return numbers(`runs/${inPath(from.id)}/values`, { name: variable.name, points, lane: this.laneText() });
  }
  look = () => ({ clock: this.clock, theme: theme(), phases: this.run.phases, theory: this.run.theory, span: this.run.coords.time });
  fill() {
    for (const variable of this.run.variables) this.grid.append(this.panelOf(variable).node);
  }
  panelOf(variable) {
    const { name, meaning, unit } = variable;
    const hint = variable.log_hint && !this.linears.has(name);
    const panel = new Panel({
      name, title: symbol(variable), meaning: [meaning, unit && `[${unit}]`].filter(Boolean).join(" "),
      load: () => this.picture(variable), whole: () => this.picture(variable, true), look: this.look, log: Boolean(hint || this.logs.has(name)),
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
  /** The picture of a quantity of this run or of one laid over it, at the times of this run. */
  async curves(run, variable, whole) {
    const array = await this.read(variable, run, whole);
    const made = pictureOf(run, array, variable.name, this.cuts);
    if (array.records > array.times?.length) made.part = `${array.times.length}_of_${array.records}_records`;
    const factor = timesOf(this.run, run);
    if (factor !== 1) made.times = Float64Array.from(made.times, (t) => t * factor);
    return made;
  }
  async picture(variable, whole = false) {
    const own = await this.curves(this.run, variable, whole);
    if (!(own instanceof Curves)) return own;
    const single = own.lines.length === 1;
    if (this.others.length && single) own.lines[0].label = this.run.arm;
    for (const [i, other] of this.others.entries()) {
      if (!other.variables.some((v) => v.name === variable.name)) continue;
      const theirs = await this.curves(other, variable, whole);
      if (!(theirs instanceof Curves)) continue;
      own.lines.push(...theirs.lines.map((line, k) => ({ ...line, times: theirs.times, label: single ? other.arm : `${other.arm} ${line.label}`, dash: [6, 3 + 2 * i], colour: single ? i + 1 : k, over: other })));
    }
    return own;
  }
  async overlay(id, on) {
    if (!on) this.others = this.others.filter((other) => other.id !== id);
    else if (!this.others.some((other) => other.id === id)) this.others.push(await get(`runs/${inPath(id)}`));
    this.keep({ over: this.others.map((other) => other.id).join(",") });
    this.panels.filter((panel) => panel.residual).forEach((panel) => {
      panel.close();
      panel.node.remove();
    });
    this.panels = this.panels.filter((panel) => !panel.residual);
    this.refill();
    for (const panel of [...this.panels]) for (const other of this.others) this.residual(panel, other);
  }
  /** This arm less the other, at the records of this one, in a panel beside the curves. */
  residual(panel, other) {
    const { variable } = panel;
    const few = variable.dims.filter((d) => d !== "time" && !this.laneDims().includes(d)).length <= 1;
    if (!variable.dims.includes("time") || !few || !other.variables.some((v) => v.name === variable.name)) return;
    const made = new Panel({
      name: `${variable.name} residual ${other.arm}`, title: `${variable.name}: ${this.run.arm} − ${other.arm}`, meaning: "residual, interpolated between records",
      look: this.look, onTime: (time) => this.cursor.to(time),
      load: async () => {
        const [own, theirs] = [await this.curves(this.run, variable), await this.curves(other, variable)];
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
    if (event.key === "[" || event.key === "]") return this.jump(event.key === "]");
    return this.cursor.times.length > 1 && this.cursor.key(event);
  }
  /** To the next or the last moment that has a name: where a phase begins or ends, or the theory has a boundary. */
  jump(forward) {
    const { at } = this.cursor;
    const named = [...(this.run.phases ?? []).flatMap(({ start, end }) => [start, end]), ...(this.run.theory ?? []).map((moment) => moment.at)];
    const beyond = named.filter((t) => Number.isFinite(t) && (forward ? t > at : t < at));
    if (beyond.length) this.cursor.to(forward ? Math.min(...beyond) : Math.max(...beyond));
    return true;
  }
  repaint() {
    this.panels.forEach((panel) => panel.redraw());
  }
  close() {
    this.cursor.close();
    this.panels.forEach((panel) => panel.close());
  }
}

export function prefixed(spec) {
  return Object.fromEntries(Object.entries(spec ?? {}).filter(([, v]) => typeof v !== "object").map(([key, value]) => [`f.${key}`, value]));
}
