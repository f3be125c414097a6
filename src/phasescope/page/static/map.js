// The Map view: a quantity of a sweep over any two of its axes, slices along the others.

import { get, inPath, numbers } from "./api.js";
import { clocksOf, usualClock } from "./clocks.js";
import { theme } from "./colours.js";
import { chooser, el, failure, message, symbol } from "./dom.js";
import { ensemble, hasBand, someOf } from "./ensemble.js";
import { MapPicture } from "./map_picture.js";
import { Maker } from "./map_maker.js";
import { Panel } from "./panel.js";
import { short } from "./scales.js";
import { address, go, note } from "./state.js";

export async function open(into, { id, params }) {
  const maps = await get("maps");
  const chosen = maps.find((map) => map.id === id) ?? maps[0];
  const maker = new Maker(!maps.length, chosen?.study);
  if (!maps.length) {
    into.replaceChildren(el("h1", {}, "Map"), message("There is no map in this store: no sweep over two axes or more, and no map of a claim.",
      el("p", {}, "A sweep is made in a terminal: ", el("code", {}, "phasescope sweep STUDY ARM FIELD=1e-3,1e-2 FIELD=1,2,4")),
      el("p", {}, "A map of a claim is made here:")), maker.node);
    return { heard: (news) => maker.heard(news) };
  }
  const view = new MapView(maps, chosen, { ...params }, maker);
  into.replaceChildren(...view.nodes);
  await view.timeline();
  await view.fill();
  await view.restore();
  return view;
}

// So many quantities of a region are drawn.
const BANDS = 6;

const hint = () => message("Drag over cells, or hold Shift and use the arrow keys and Enter: the band of their runs is drawn here.");

function titleOf(map) {
  const axes = map.axes.map((axis) => axis.name).join(", ");
  return map.claim ? `${map.study}: claim ${map.claim} over ${axes}` : `${map.study} / ${map.arm} over ${axes}`;
}

/** What colours and lines of a claim's map mean. */
function legend({ assumptions }) {
  const mark = (kind) => el("i", { class: `swatch ${kind}` });
  const broken = assumptions.filter(({ ratios }) => ratios.some((ratio) => ratio < 1));
  return el("p", { class: "legend quiet" },
    el("span", {}, mark("holding"), "it holds"), el("span", {}, mark("failing"), "it does not"), el("span", {}, mark("open"), "undecided"), el("span", {}, mark("turns"), "where it turns"),
    broken.length ? el("span", {}, mark("broken"), `broken: ${broken.map(({ name }) => name).join(", ")}`) : "");
}

class MapView {
  constructor(maps, map, state, maker) {
    Object.assign(this, { maps, map, state, maker, evidence: +(state.of ?? 0) });
    this.axes = map.axes;
    const names = this.axes.map((axis) => axis.name);
    this.x = names.includes(state.x) ? state.x : names[0];
    this.y = names.includes(state.y) && state.y !== this.x ? state.y : names.find((name) => name !== this.x);
    this.measures = [];
    this.name = state.name;
    this.slices = Object.fromEntries((state.slice ?? "").split(",").filter(Boolean).map((part) => part.split(":")));
    this.log = state.log === undefined ? undefined : state.log === "1";
    this.controls = el("div", { class: "bar" });
    this.picture = new MapPicture({ opened: (cell) => this.openCell(cell), brushed: (region) => this.brush(region), pointed: (cell) => this.point(cell) });
    this.reading = el("p", { class: "quiet", role: "status" }, map.claim && !map.runs.length ? "Point at a cell for its word." : "Click a cell to open its run. Drag over a region for the band of its runs.");
    this.side = el("div", { class: "ensemble" }, hint());
    this.when = el("div", { class: "bar" });
    this.nodes = [el("h1", {}, "Map"), this.controls, el("div", { class: "beside" }, el("div", {}, this.about(), this.picture.node, this.reading, this.when), this.side), maker.node];
    this.bar();
  }
  /** What the map of a claim is of, and how many of its cells have which word. */
  about() {
    const { map } = this;
    if (!map.claim) return "";
    const cells = Object.values(map.words).reduce((a, b) => a + b, 0);
    const words = Object.entries(map.words).sort(([, a], [, b]) => b - a).map(([word, n]) => el("span", {}, el("span", { class: `word ${word.replaceAll("_", "-")}` }, word.replaceAll("_", " ")), ` ${n}`));
    const changes = Object.entries(JSON.parse(map.changes || "{}")).map(([k, v]) => `${k} = ${short(v)}`).join(", ");
    return el("section", { class: "about" },
      el("p", {}, el("a", { href: address("ledger", "", { study: map.study, row: `${map.study}/${map.claim}` }) }, `${map.study}: ${map.claim}`), ` (${map.cites}; ${map.row}) ${map.statement}`),
      el("p", { class: "facts" }, el("span", {}, `${cells} cells:`), words),
      el("p", { class: "quiet" }, `Evidence: ${map.evidence.join("; ")}${changes ? `, with ${changes}` : ""}; decided ${map.judged}.`),
      map.outdated ? el("p", { class: "outdated" }, "The code of this study has changed since: make the map again.") : "");
  }
  /** A slider over the records of the sweep, if its runs have some. */
  async timeline() {
    if (this.map.claim) return;
    const run = await get(`runs/${inPath(this.map.runs[0])}`);
    const times = run.coords.time ?? [];
    if (times.length < 2) return;
    const last = times.length - 1;
    this.record = this.state.record === undefined ? undefined : Math.min(+this.state.record, last);
    const words = el("b", {});
    const say = () => (words.textContent = `${short(times[this.record ?? last])}${(this.record ?? last) === last ? " (the last record)" : ""}`);
    const slider = el("input", { type: "range", name: "record", min: 0, max: last, step: 1, value: String(this.record ?? last), oninput: () => {
      this.record = +slider.value === last ? undefined : +slider.value;
      note({ record: this.record ?? "" });
      say();
      this.fill();
    } });
    slider.value = String(this.record ?? last);
    say();
    this.when.replaceChildren(el("label", { class: "record" }, el("span", {}, "At time ", words), slider));
  }
  bar() {
    const names = this.axes.map((axis) => axis.name);
    const others = this.axes.filter((axis) => axis.name !== this.x && axis.name !== this.y);
    const log = el("input", { type: "checkbox", checked: this.log, onchange: () => {
      this.log = log.checked;
      note({ log: this.log ? "1" : "0" });
      this.draw();
    } });
    this.controls.replaceChildren(...[
      chooser("Map", "map", this.maps.map((m) => [m.id, titleOf(m)]), this.map.id, (id) => go("map", id)),
      this.measures.length ? chooser("Quantity", "name", this.measures.map((name) => [name, name.replaceAll("_", " ")]), this.name, (name) => this.set({ name, log: undefined })) : "",
      chooser("Across", "x", names, this.x, (x) => this.set(x === this.y ? { x, y: this.x } : { x })),
      names.length > 1 ? chooser("Up", "y", names, this.y, (y) => this.set(y === this.x ? { y, x: this.y } : { y })) : "",
      ...others.map((axis) => chooser(axis.name, `slice-${axis.name}`, [...axis.values.map((v, i) => [String(i), short(v)]), ...(this.map.claim ? [] : [["mean", "mean over all"]])], String(this.slices[axis.name] ?? 0), (i) => {
        this.slices[axis.name] = i;
        this.set({ slice: this.sliceText() });
      })),
      this.grid?.evidence?.length > 1 ? chooser("Runs of", "of", this.grid.evidence.map(({ name }, i) => [String(i), name]), String(this.evidence), (i) => this.set({ of: i })) : "",
      this.isSigned() ? "" : el("label", { class: "check" }, log, "logarithmic colours"),
    ].filter(Boolean));
  }
  /** Whether colours say on which side of 0 a claim is. */
  isSigned() {
    return Boolean(this.map.claim) && ["margin", "outcome"].includes(this.name ?? "margin");
  }
  sliceText() {
    return Object.entries(this.slices).map(([k, v]) => `${k}:${v}`).join(",");
  }
  async set(changes) {
    Object.assign(this, Object.fromEntries(Object.entries(changes).filter(([k]) => k !== "slice")));
    if (changes.of !== undefined) this.evidence = +changes.of;
    note({ x: this.x, y: this.y, name: this.name, region: "", ...changes });
    this.limits = undefined;
    this.picture.region = undefined;
    this.side.replaceChildren(hint());
    this.bar();
    await this.fill();
  }
  /** One question is under way at a time; of those asked meanwhile only the last is sent. */
  async fill() {
    if (this.asking) {
      this.again = true;
      return;
    }
    this.asking = true;
    try {
      const cuts = Object.fromEntries(Object.entries(this.slices).filter(([name]) => name !== this.x && name !== this.y));
      const slice = Object.entries(cuts).map(([k, v]) => `${k}:${v}`).join(",");
      this.grid = await numbers(`maps/${inPath(this.map.id)}`, { x: this.x, y: this.y, value: this.name, slice, record: this.record });
      this.learn();
      this.draw();
    } catch (problem) {
      this.picture.waiting.remove();
      this.reading.replaceChildren(failure(problem, () => this.fill()));
    }
    this.asking = false;
    if (!this.again) return;
    this.again = false;
    await this.fill();
  }
  axis(name) {
    return this.axes.find((axis) => axis.name === name) ?? { name: "", values: [0] };
  }
  draw() {
    const [x, y] = [this.axis(this.x), this.axis(this.y)];
    const { min, max } = this.grid;
    if (min !== null && max !== null) this.limits = this.limits ? [Math.min(min, this.limits[0]), Math.max(max, this.limits[1])] : [min, max];
    const { grid } = this, cells = x.values.length * y.values.length;
    const part = (offset) => grid.values.subarray(offset, offset + cells);
    const claim = this.map.claim && { outcome: part(grid.outcome), zero: grid.zero, assumptions: grid.assumptions.map(({ name, offset }) => ({ name, ratios: part(offset) })) };
    this.picture.show({ x, y, values: part(0), log: this.log && !this.isSigned(), label: (this.name ?? "").replaceAll("_", " "), limits: this.limits, claim, signed: this.isSigned() });
    this.legend?.remove();
    if (claim) this.picture.node.after((this.legend = legend(claim)));
  }
  point(cell) {
    const [x, y] = [this.axis(this.x), this.axis(this.y)];
    const value = this.picture.valueAt(cell);
    const up = y.name ? `, ${y.name} = ${short(y.values[cell.j])}` : "";
    const word = this.grid.words?.[this.grid.word[cell.j][cell.i]]?.replaceAll("_", " ");
    const number = this.map.claim ? `${word}${Number.isFinite(value) ? `, ${(this.name ?? "").replaceAll("_", " ")} ${short(value, 3)}` : ""}` : short(value);
    this.reading.textContent = `${x.name} = ${short(x.values[cell.i])}${up}: ${number}`;
  }
  /** The quantities that the grid can show are known once one was asked for. */
  learn() {
    const known = this.measures.length;
    if (this.log === undefined) this.log = this.grid.min > 0 && this.grid.max > 1000 * this.grid.min;
    this.measures = this.grid.names ?? [];
    this.name = this.grid.value;
    if (!known || this.map.claim) this.bar();
  }
  /** The run of a cell and its lane there, or nothing where the sweep has no run. */
  source({ i, j }) {
    const cells = this.map.claim ? this.grid.evidence[this.evidence]?.cells : this.grid.cells;
    const [number, lane] = cells?.[j][i] ?? [-1, -1];
    return number < 0 ? null : { id: this.grid.runs[number], lane };
  }
  openCell(cell) {
    const found = this.source(cell);
    if (found) go("run", found.id, { lane: found.lane });
    else this.reading.textContent = this.map.claim ? "The runs of this map were not kept. Make it again below, or in a terminal with --store." : "This cell has no run yet: the sweep did not reach it.";
  }
  async brush(region) {
    note({ region: [region.i0, region.i1, region.j0, region.j1].join("-") });
    const found = [];
    for (let j = region.j0; j <= region.j1; j++) for (let i = region.i0; i <= region.i1; i++) found.push(this.source({ i, j }));
    const cells = found.filter(Boolean);
    this.panels?.forEach((panel) => panel.close());
    this.panels = [];
    if (!cells.length) return this.side.replaceChildren(message("There are no runs in this region.", el("p", {}, "Drag over coloured cells.")));
    const run = await get(`runs/${inPath(cells[0].id)}`);
    const variables = run.variables.filter((v) => hasBand(run, v));
    const chosen = someOf(cells);
    const words = `median and nine tenths of ${chosen.length === cells.length ? "" : `${chosen.length} of `}${cells.length} runs`;
    const clock = usualClock(clocksOf(run), run.coords.time ?? []);
    const look = () => ({ theme: theme(), clock });
    this.panels = variables.slice(0, BANDS).map((v) => new Panel({ name: v.name, title: symbol(v), meaning: words, look, log: Boolean(v.log_hint), load: () => ensemble(run, v, chosen) }));
    this.side.replaceChildren(el("h2", {}, `${cells.length} runs of the region`), el("p", {}, el("a", { href: address("run", cells[0].id, { lane: cells[0].lane }) }, "open the first"), variables.length > BANDS ? `; of ${variables.length} quantities the first ${BANDS}` : ""), ...this.panels.map((panel) => panel.node));
  }
  /** The region that the address names, chosen again. */
  async restore() {
    const parts = (this.state.region ?? "").split("-").map(Number);
    if (!this.grid || parts.length !== 4 || !parts.every(Number.isInteger)) return;
    this.picture.span({ i: parts[0], j: parts[2] }, { i: parts[1], j: parts[3] });
    await this.brush(this.picture.region);
  }
  key(event) {
    return this.picture.key(event);
  }
  heard(news) {
    this.maker.heard(news);
  }
  repaint() {
    this.draw();
    this.panels?.forEach((panel) => panel.redraw());
  }
  close() {
    this.panels?.forEach((panel) => panel.close());
    this.picture.close();
  }
}
