// The frame of a picture: its box, axes, phases as bands and boundaries of the theory as dashed lines.

import { scale, short } from "./scales.js";

const LEFT = 56, RIGHT = 24, TOP = 16, BOTTOM = 30;

export function boxOf(wide, high, right = RIGHT) {
  return { x: LEFT, y: TOP, wide: Math.max(10, wide - LEFT - right), high: Math.max(10, high - TOP - BOTTOM) };
}

/** The horizontal scale of a clock over times [first, last]. */
export function across(box, clock, times) {
  const shown = clock.of;
  let low = shown(times[0]), high = shown(times[times.length - 1]);
  if (clock.log && !(low > 0)) {
    const first = times.find((t) => shown(t) > 0);
    low = first === undefined ? 1 : shown(first);
    high = Math.max(high, low * 10);
  }
  return scale(low, high, box.x, box.x + box.wide, clock.log);
}

export function axes(pen, box, x, y, theme, label = "") {
  const bottom = box.y + box.high;
  const put = [];
  for (const tick of x.ticks(Math.max(2, box.wide / 70))) {
    const at = x.at(tick);
    pen.line([at, box.y, at, bottom], theme.grid);
    const words = short(tick, 3);
    if (put.some((p) => Math.abs(p - at) < 9 * Math.max(4, words.length))) continue;
    put.push(at);
    pen.text(at, bottom + 5, words, theme.quiet, { align: "center", base: "top" });
  }
  for (const tick of y.ticks(Math.max(2, box.high / 32))) {
    pen.line([box.x, y.at(tick), box.x + box.wide, y.at(tick)], theme.grid);
    pen.text(box.x - 5, y.at(tick), y.word?.(tick) ?? short(tick, 3), theme.quiet, { align: "right", base: "middle" });
  }
  pen.line([box.x, box.y, box.x, bottom, box.x + box.wide, bottom], theme.quiet);
  if (label) pen.text(box.x + box.wide, bottom + 18, label, theme.quiet, { align: "right", base: "top", size: 10 });
}

/** Phases as shaded bands with their names; every second one is shaded more. */
export function phases(pen, box, x, look) {
  pen.clipped(box.x, 0, box.wide, box.y + box.high, () => {
    (look.phases ?? []).forEach(({ name, start, end }, index) => {
      const [a, b] = [place(x, box, look.clock, start, box.x), place(x, box, look.clock, end, box.x + box.wide)];
      if (!(b > a)) return;
      pen.rect(a, box.y, b - a, box.high, look.theme.band, index % 2 ? 0.14 : 0.06);
      if (b - a > 7 * String(name).length) pen.text((a + b) / 2, 2, name, look.theme.quiet, { align: "center", base: "top", size: 10 });
    });
  });
}

/** Where the theory puts a boundary: a dashed line, its name beside it. */
export function boundaries(pen, box, x, look) {
  for (const { name, at } of look.theory ?? []) {
    const p = place(x, box, look.clock, at, NaN);
    if (!(p >= box.x && p <= box.x + box.wide)) continue;
    pen.line([p, box.y, p, box.y + box.high], look.theme.ink, { width: 1.2, dash: [5, 4] });
    const left = p < box.x + box.wide / 2;
    pen.text(p + (left ? 4 : -4), box.y + 3, name, look.theme.ink, { align: left ? "left" : "right", base: "top", size: 10 });
  }
}

function place(x, box, clock, time, otherwise) {
  if (time === null || time === undefined) return otherwise;
  const p = x.at(clock.of(time));
  if (p !== p || p === -Infinity) return box.x;
  return Math.max(box.x - 1e4, Math.min(box.x + box.wide + 1e4, p));
}

/** A bar of the colours with the numbers at its ends; the colours are those of all times together. */
export function colourBar(pen, x, y, high, shades, theme) {
  const steps = 64;
  for (let i = 0; i < steps; i++) {
    const k = 4 * Math.round(((steps - 1 - i) / (steps - 1)) * 255);
    pen.rect(x, y + (i * high) / steps, 10, high / steps + 0.6, `rgb(${shades.table[k]},${shades.table[k + 1]},${shades.table[k + 2]})`);
  }
  pen.text(x + 14, y, short(shades.high, 3), theme.quiet, { base: "top", size: 10 });
  pen.text(x + 14, y + high, short(shades.low, 3), theme.quiet, { base: "bottom", size: 10 });
}
