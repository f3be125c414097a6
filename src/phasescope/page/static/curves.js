// Curves over time (or over a coordinate), each drawn with at most four points for a column of pixels.

import { across, axes, boundaries, boxOf, phases } from "./frame.js";
import { between, range, scale, short } from "./scales.js";

// So many lines have a mark at the cursor and a reading below.
const MOST = 24;

/** What a curve is drawn of: of every column of pixels its first, least, largest and last point. */
export function decimated(xs, ys, x, y) {
  const points = [];
  let column = NaN, low = 0, high = 0, last = 0, lastX = 0;
  const close = () => {
    if (low !== high) points.push(lastX, low, lastX, high);
    points.push(lastX, last);
  };
  for (let i = 0; i < xs.length; i++) {
    const px = x.at(xs[i]), py = y.at(ys[i]);
    if (px !== px || Math.abs(px) === Infinity) continue;
    if (py !== py || Math.abs(py) === Infinity) {
      if (column === column) close();
      points.push(px, NaN);
      column = NaN;
      continue;
    }
    const here = Math.floor(px);
    if (here === column) {
      if (py < low) low = py;
      if (py > high) high = py;
    } else {
      if (column === column) close();
      points.push(px, py);
      column = here;
      low = high = py;
    }
    last = py;
    lastX = px;
  }
  if (column === column) close();
  return points;
}

/** Lines over shared or their own times: {times, lines: [{label, values, times?, dash?, lower?, upper?}]}. */
export class Curves {
  constructor({ times, lines, along = "time", levels = [] }) {
    Object.assign(this, { times, lines, along, levels });
    this.hasTime = along === "time";
    this.canLog = lines.some((line) => line.values.some((v) => v > 0));
  }
  geometry(wide, high, look) {
    const box = boxOf(wide, high);
    const clock = this.hasTime ? look.clock : { of: (v) => v, log: look.logX ?? false, label: this.along };
    const arrays = this.lines.flatMap((line) => [line.values, line.lower ?? [], line.upper ?? []]);
    let [low, top] = range([...arrays, this.levels], look.log);
    if (look.log) low = Math.max(low, top * 1e-30);
    const pad = look.log ? 1 : (top - low) * 0.04;
    const y = look.log
      ? scale(low / 1.15, top * 1.15, box.y + box.high, box.y, true)
      : scale(low - pad, top + pad, box.y + box.high, box.y);
    return { box, clock, x: across(box, clock, this.hasTime ? (look.span ?? this.times) : this.times), y };
  }
  draw(pen, wide, high, look) {
    const { box, clock, x, y } = this.geometry(wide, high, look);
    const { theme } = look;
    if (this.hasTime) phases(pen, box, x, look);
    axes(pen, box, x, y, theme, clock.label);
    pen.clipped(box.x, box.y - 2, box.wide + 2, box.high + 4, () => {
      this.lines.forEach((line, i) => {
        const colour = theme.lines[(line.colour ?? i) % theme.lines.length];
        const xs = Float64Array.from(line.times ?? this.times, clock.of);
        if (line.lower) this.shade(pen, xs, line, x, y, colour);
        pen.line(decimated(xs, line.values, x, y), colour, { width: line.dash ? 2 : 1.6, dash: line.dash ?? [] });
      });
    });
    if (this.hasTime) boundaries(pen, box, x, look);
  }
  shade(pen, xs, line, x, y, colour) {
    const forth = [], back = [];
    xs.forEach((v, i) => {
      const [px, low, high] = [x.at(v), y.at(line.lower[i]), y.at(line.upper[i])];
      if (![px, low, high].every(Number.isFinite)) return;
      forth.push(px, low);
      back.unshift(px, high);
    });
    pen.fill([...forth, ...back], colour, 0.2);
  }
  cursor(pen, wide, high, look, at) {
    if (!this.hasTime) return;
    const { box, x, y } = (this.kept ??= this.geometry(wide, high, look));
    const p = Math.max(box.x, Math.min(box.x + box.wide, x.at(look.clock.of(at)) || box.x));
    pen.line([p, box.y, p, box.y + box.high], look.theme.cursor, { width: 1.5 });
    this.lines.slice(0, MOST).forEach((line, i) => {
      const v = y.at(between(line.times ?? this.times, line.values, at));
      if (v >= box.y && v <= box.y + box.high) pen.rect(p - 2.5, v - 2.5, 5, 5, look.theme.lines[(line.colour ?? i) % look.theme.lines.length]);
    });
  }
  timeAt(px, wide, high, look) {
    const { x } = (this.kept ??= this.geometry(wide, high, look));
    return look.clock.back(x.back(px));
  }
  /** What is said below the picture: the lines by name, and their values at a time. */
  keys() {
    if (this.lines.length === 1) return [this.hasTime ? { label: "" } : { label: this.lines[0].label }];
    return this.lines.slice(0, MOST).map((line, i) => ({ label: line.label, colour: line.colour ?? i, dash: line.dash }));
  }
  readings(at) {
    if (!this.hasTime) return [];
    return this.lines.slice(0, MOST).map((line) => short(between(line.times ?? this.times, line.values, at)));
  }
  rows() {
    const same = this.lines.every((line) => !line.times);
    if (same) {
      const head = [this.along, ...this.lines.map((line) => line.label)];
      return [head, ...Array.from(this.times, (t, i) => [t, ...this.lines.map((line) => line.values[i])])];
    }
    const long = this.lines.flatMap((line) => Array.from(line.times ?? this.times, (t, i) => [line.label, t, line.values[i]]));
    return [["line", this.along, "value"], ...long];
  }
}
