// Numbers as colours: one axis over time, or a matrix at the time of the cursor. The scale is that of all times.

import { colours, paint } from "./colours.js";
import { across, axes, boundaries, boxOf, colourBar, phases } from "./frame.js";
import { nearest, range, scale, short } from "./scales.js";

const BAR = 76;

function shadesOf(values, given, log) {
  const [low, high] = !log && given ? given : range([values], log);
  return colours(log ? Math.max(low, high * 1e-12) : low, high, log);
}

/** The least and the largest of some numbers, in words. */
function spread(values) {
  const [low, high] = range([values]);
  return `${short(low)} to ${short(high)}`;
}

/** One axis over time: {times, coord, values} with values of shape (time, coord). */
export class TimeHeat {
  constructor({ times, coord, along, values, limits }) {
    Object.assign(this, { times, coord, along, values, limits });
    this.hasTime = true;
    this.canLog = values.some((v) => v > 0);
    this.picture = document.createElement("canvas");
  }
  geometry(wide, high, look) {
    const box = boxOf(wide, high, BAR);
    const x = across(box, look.clock, look.span ?? this.times);
    const y = scale(-0.5, this.coord.length - 0.5, box.y + box.high, box.y);
    return { box, x, y };
  }
  draw(pen, wide, high, look) {
    const { box, x, y } = this.geometry(wide, high, look);
    const shades = shadesOf(this.values, this.limits, look.log);
    const columns = Math.round(box.wide), size = this.coord.length;
    const spread = new Float64Array(columns * size);
    const [first, last] = [this.times[0], this.times[this.times.length - 1]];
    for (let c = 0; c < columns; c++) {
      const time = look.clock.back(x.back(box.x + c + 0.5));
      const i = time < first || time > last ? -1 : nearest(this.times, time);
      for (let r = 0; r < size; r++) spread[(size - 1 - r) * columns + c] = i < 0 ? NaN : this.values[i * size + r];
    }
    paint(this.picture, spread, 0, size, columns, columns, 1, shades);
    axes(pen, box, x, labelled(y, this.coord), look.theme, look.clock.label);
    pen.text(10, box.y + box.high / 2, this.along, look.theme.quiet, { align: "center", base: "middle", size: 10, turn: -Math.PI / 2 });
    pen.image(this.picture, box.x, box.y, box.wide, box.high);
    phases(pen, { ...box, high: 0 }, x, look);
    boundaries(pen, box, x, look);
    colourBar(pen, box.x + box.wide + 8, box.y, box.high, shades, look.theme);
  }
  cursor(pen, wide, high, look, at) {
    const { box, x } = (this.kept ??= this.geometry(wide, high, look));
    const p = Math.max(box.x, Math.min(box.x + box.wide, x.at(look.clock.of(at)) || box.x));
    pen.line([p, box.y, p, box.y + box.high], look.theme.paper, { width: 4 });
    pen.line([p, box.y, p, box.y + box.high], look.theme.cursor, { width: 1.5 });
  }
  timeAt(px, wide, high, look) {
    const { x } = (this.kept ??= this.geometry(wide, high, look));
    return look.clock.back(x.back(px));
  }
  keys() {
    return [{ label: `over ${this.along}:` }];
  }
  readings(at) {
    const i = nearest(this.times, at) * this.coord.length;
    return [spread(this.values.subarray(i, i + this.coord.length))];
  }
  rows() {
    const size = this.coord.length;
    const line = (t, i) => [t, ...this.values.subarray(i * size, (i + 1) * size)];
    return [["time", ...this.coord.map((c) => `${this.along}=${c}`)], ...Array.from(this.times, line)];
  }
}

/** The scale of an axis of indices whose ticks say the coordinate. */
function labelled(y, coord) {
  return { ...y, ticks: (most) => y.ticks(most).filter((i) => i in coord), word: (i) => String(short(coord[i], 3)).slice(0, 8) };
}

/** A matrix, at the time of the cursor if it has times: values of shape (time, rows, columns) or (rows, columns). */
export class Matrix {
  constructor({ times, down, over, names, values, limits }) {
    Object.assign(this, { times, down, over, names, values, limits });
    this.hasTime = Boolean(times);
    this.canLog = values.some((v) => v > 0);
    this.picture = document.createElement("canvas");
  }
  box(wide, high) {
    const whole = boxOf(wide, high, BAR);
    const cell = Math.min(whole.wide / this.over.length, whole.high / this.down.length);
    const stretched = Math.min(whole.wide / this.over.length / cell, 2.5);
    const [w, h] = [cell * stretched * this.over.length, cell * this.down.length];
    return { x: whole.x + (whole.wide - w) / 2, y: whole.y + (whole.high - h) / 2, wide: w, high: h, edge: whole.x + whole.wide };
  }
  draw(pen, wide, high, look, at) {
    const box = this.box(wide, high);
    this.shades = shadesOf(this.values, this.limits, look.log);
    pen.text(box.x + box.wide / 2, box.y + box.high + 17, this.names[1], look.theme.quiet, { align: "center", base: "top" });
    pen.text(box.x - 34, box.y + box.high / 2, this.names[0], look.theme.quiet, { align: "center", base: "bottom", turn: -Math.PI / 2 });
    this.ticks(pen, box, look);
    colourBar(pen, box.edge + 8, 16, high - 46, this.shades, look.theme);
    if (!this.hasTime || at !== undefined) this.cursor(pen, wide, high, look, at ?? 0);
  }
  /** The coordinates beside the rows and below the columns, as many as there is room for. */
  ticks(pen, box, look) {
    const [dx, dy] = [box.wide / this.over.length, box.high / this.down.length];
    const [everyX, everyY] = [Math.ceil(34 / dx), Math.ceil(13 / dy)];
    const word = (place) => String(short(place, 3)).slice(0, 6);
    this.over.forEach((place, i) => i % everyX === 0 && pen.text(box.x + (i + 0.5) * dx, box.y + box.high + 4, word(place), look.theme.quiet, { align: "center", base: "top", size: 10 }));
    this.down.forEach((place, i) => i % everyY === 0 && pen.text(box.x - 4, box.y + (i + 0.5) * dy, word(place), look.theme.quiet, { align: "right", base: "middle", size: 10 }));
  }
  cursor(pen, wide, high, look, at) {
    const [rows, columns] = [this.down.length, this.over.length];
    const i = this.frame(at);
    this.shades ??= shadesOf(this.values, this.limits, look.log);
    paint(this.picture, this.values, i * rows * columns, rows, columns, columns, 1, this.shades);
    const box = this.box(wide, high);
    pen.image(this.picture, box.x, box.y, box.wide, box.high);
  }
  /** The record that is shown at a time: while it stays the same, nothing is drawn. */
  frame(at) {
    return this.hasTime ? nearest(this.times, at) : 0;
  }
  keys() {
    return [{ label: "entries:" }];
  }
  readings(at) {
    const size = this.down.length * this.over.length;
    const i = this.frame(at);
    return [spread(this.values.subarray(i * size, (i + 1) * size))];
  }
  rows() {
    const found = [["time", ...this.names, "value"]];
    const [rows, columns] = [this.down.length, this.over.length];
    for (let i = 0; i < this.values.length; i++) {
      const t = Math.floor(i / (rows * columns));
      found.push([this.times ? this.times[t] : "", this.down[Math.floor(i / columns) % rows], this.over[i % columns], this.values[i]]);
    }
    return found;
  }
}
