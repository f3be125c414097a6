// A grid of coloured cells with two axes: pointed at, clicked, brushed by mouse or keys.

import { claimLines } from "./claim_lines.js";
import { colours, paint, sides, theme } from "./colours.js";
import { el } from "./dom.js";
import { colourBar } from "./frame.js";
import { CanvasPen } from "./pens.js";
import { range, short } from "./scales.js";

const LEFT = 70, RIGHT = 84, TOP = 14, BOTTOM = 46;

export class MapPicture {
  constructor({ opened, brushed, pointed }) {
    Object.assign(this, { opened, brushed, pointed, cell: { i: 0, j: 0 } });
    this.base = el("canvas");
    this.over = el("canvas");
    this.node = el("div", { class: "map", tabindex: 0, role: "application", "aria-label": "Map: arrow keys move between cells, Enter opens the run of a cell" }, this.base, this.over);
    this.waiting = el("p", { class: "loading quiet", role: "status" }, "Reading the runs of the map…");
    this.node.append(this.waiting);
    this.small = el("canvas");
    this.node.addEventListener("pointerdown", (event) => this.press(event));
    this.node.addEventListener("pointermove", (event) => this.hover(event));
    this.sizes = new ResizeObserver(() => this.shown && this.draw());
    this.sizes.observe(this.node);
  }
  close() {
    this.sizes.disconnect();
  }
  show(shown) {
    this.shown = shown;
    this.waiting.remove();
    this.cell = this.kept(this.cell);
    this.draw();
  }
  box() {
    const wide = this.node.clientWidth - LEFT - RIGHT, high = this.node.clientHeight - TOP - BOTTOM;
    return { x: LEFT, y: TOP, wide: Math.max(10, wide), high: Math.max(10, high) };
  }
  index({ i, j }) {
    return j * this.shown.x.values.length + i;
  }
  valueAt(cell) {
    return this.shown.values[this.index(cell)];
  }
  pen(canvas) {
    const density = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.round(this.node.clientWidth * density);
    canvas.height = Math.round(this.node.clientHeight * density);
    const context = canvas.getContext("2d");
    context.scale(density, density);
    return new CanvasPen(context);
  }
  draw() {
    const { x, y, values, log, label, limits, claim, signed } = this.shown;
    const [columns, rows] = [x.values.length, y.values.length];
    const box = this.box(), look = theme(), pen = this.pen(this.base);
    const [low, high] = limits && (!log || limits[0] > 0) ? limits : range([values], log);
    const shades = signed ? sides() : colours(log ? Math.max(low, high * 1e-12) : low, high, log);
    const upside = new Float64Array(rows * columns);
    for (let j = 0; j < rows; j++) for (let i = 0; i < columns; i++) upside[(rows - 1 - j) * columns + i] = values[j * columns + i];
    paint(this.small, upside, 0, rows, columns, columns, 1, shades);
    pen.rect(box.x, box.y, box.wide, box.high, look.grid);
    pen.image(this.small, box.x, box.y, box.wide, box.high);
    if (claim) claimLines(pen, box, this.shown, look);
    this.ticks(pen, box, look);
    pen.text(box.x + box.wide / 2, box.y + box.high + 26, x.name, look.ink, { align: "center", base: "top", size: 13 });
    pen.text(14, box.y + box.high / 2, y.name, look.ink, { align: "center", base: "middle", size: 13, turn: -Math.PI / 2 });
    colourBar(pen, box.x + box.wide + 12, box.y, box.high, shades, look);
    pen.text(box.x + box.wide + 12, box.y + box.high + 8, label, look.quiet, { base: "top", size: 10 });
    this.node.dataset.drawn = String(1 + Number(this.node.dataset.drawn ?? 0));
    this.mark();
  }
  ticks(pen, box, look) {
    const { x, y } = this.shown;
    const [dx, dy] = [box.wide / x.values.length, box.high / y.values.length];
    const everyX = Math.ceil(58 / dx), everyY = Math.ceil(18 / dy);
    x.values.forEach((v, i) => i % everyX === 0 && pen.text(box.x + (i + 0.5) * dx, box.y + box.high + 6, short(v, 3), look.quiet, { align: "center", base: "top" }));
    y.values.forEach((v, j) => j % everyY === 0 && y.name && pen.text(box.x - 6, box.y + box.high - (j + 0.5) * dy, short(v, 3), look.quiet, { align: "right", base: "middle" }));
  }
  /** The frame around the cell pointed at, or around the region chosen. */
  mark() {
    const pen = this.pen(this.over), box = this.box(), look = theme();
    const r = this.region ?? { i0: this.cell.i, i1: this.cell.i, j0: this.cell.j, j1: this.cell.j };
    const [dx, dy] = [box.wide / this.shown.x.values.length, box.high / this.shown.y.values.length];
    const [a, b] = [box.x + r.i0 * dx, box.x + (r.i1 + 1) * dx];
    const [c, d] = [box.y + box.high - r.j0 * dy, box.y + box.high - (r.j1 + 1) * dy];
    for (const [colour, width] of [[look.paper, 4], [look.cursor, 2]]) pen.line([a, c, b, c, b, d, a, d, a, c], colour, { width });
  }
  cellAt(event) {
    const edge = this.node.getBoundingClientRect(), box = this.box();
    const i = Math.floor(((event.clientX - edge.left - box.x) / box.wide) * this.shown.x.values.length);
    const j = Math.floor((1 - (event.clientY - edge.top - box.y) / box.high) * this.shown.y.values.length);
    return this.kept({ i, j });
  }
  kept({ i, j }) {
    const within = (v, size) => Math.max(0, Math.min(size - 1, v));
    return { i: within(i, this.shown.x.values.length), j: within(j, this.shown.y.values.length) };
  }
  to(cell) {
    this.cell = this.kept(cell);
    this.mark();
    this.pointed(this.cell);
  }
  hover(event) {
    if (!this.shown || this.pressed) return;
    if (!this.region) this.to(this.cellAt(event));
    else this.pointed(this.cellAt(event));
  }
  press(event) {
    if (!this.shown || event.button) return;
    const first = (this.pressed = this.cellAt(event));
    this.region = undefined;
    this.node.setPointerCapture(event.pointerId);
    const move = (e) => this.span(first, this.cellAt(e));
    this.node.addEventListener("pointermove", move);
    this.node.addEventListener("pointerup", (e) => {
      this.node.removeEventListener("pointermove", move);
      this.pressed = undefined;
      const last = this.cellAt(e);
      if (last.i === first.i && last.j === first.j) {
        this.region = undefined;
        this.opened(first);
      } else this.brushed(this.region);
    }, { once: true });
  }
  span(given, other) {
    const [a, b] = [this.kept(given), this.kept(other)];
    this.region = { i0: Math.min(a.i, b.i), i1: Math.max(a.i, b.i), j0: Math.min(a.j, b.j), j1: Math.max(a.j, b.j) };
    this.mark();
  }
  key(event) {
    if (event.target !== this.node || !this.shown) return false;
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (step) {
      this.anchor = event.shiftKey ? (this.anchor ?? this.cell) : undefined;
      this.to({ i: this.cell.i + step[0], j: this.cell.j + step[1] });
      this.region = undefined;
      if (this.anchor) this.span(this.anchor, this.cell);
      else this.mark();
      return true;
    }
    if (event.key !== "Enter") return false;
    if (this.region) this.brushed(this.region);
    else this.opened(this.cell);
    return true;
  }
}
