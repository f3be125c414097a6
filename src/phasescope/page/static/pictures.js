// From an array with named dims to a picture: the dims alone decide which.

import { Curves } from "./curves.js";
import { Matrix, TimeHeat } from "./heat.js";
import { short } from "./scales.js";

// So many curves can be told apart; more are shown as colours.
const CURVES = 8;

/** How many records are worth asking for: of a curve nearly all, of matrices fewer, since each is large. */
export function pointsFor(variable, dims) {
  const others = variable.dims.filter((d) => d !== "time" && d !== "lane").reduce((n, d) => n * (dims[d] ?? 1), 1);
  if (others <= CURVES) return Math.max(2000, Math.floor(20000 / others));
  return Math.max(50, Math.min(4000, Math.floor(400000 / others)));
}

export function coordOf(run, dim, size) {
  const given = run.coords[dim];
  return Array.isArray(given) && given.length === size ? given : Array.from({ length: size }, (_, i) => i);
}

/** The dims of a variable that no picture has room for: all but the last two that are neither time nor lane. */
export function cutDims(dims) {
  const others = dims.filter((d) => d !== "time" && d !== "lane");
  return others.slice(0, Math.max(0, others.length - 2));
}

/** The part of an array at one index of every dim that a picture has no room for. */
function cut(array, at) {
  let found = array;
  for (const dim of cutDims(array.dims)) found = taken(found, dim, at[dim] ?? 0);
  return found;
}

function taken(array, dim, index) {
  const axis = array.dims.indexOf(dim);
  const inner = array.shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const outer = array.shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const values = new Float64Array(outer * inner);
  for (let o = 0; o < outer; o++) {
    const start = (o * array.shape[axis] + Math.min(index, array.shape[axis] - 1)) * inner;
    values.set(array.values.subarray(start, start + inner), o * inner);
  }
  const without = (list) => list.filter((_, i) => i !== axis);
  return { ...array, dims: without(array.dims), shape: without(array.shape), values };
}

/** The same numbers with time as the first dim. */
function timeFirst(array) {
  const axis = array.dims.indexOf("time");
  if (axis <= 0) return array;
  const outer = array.shape.slice(0, axis).reduce((a, b) => a * b, 1);
  const many = array.shape[axis];
  const inner = array.shape.slice(axis + 1).reduce((a, b) => a * b, 1);
  const values = new Float64Array(array.values.length);
  for (let o = 0; o < outer; o++)
    for (let t = 0; t < many; t++)
      for (let i = 0; i < inner; i++) values[(t * outer + o) * inner + i] = array.values[(o * many + t) * inner + i];
  const moved = (list) => [list[axis], ...list.filter((_, i) => i !== axis)];
  return { ...array, dims: moved(array.dims), shape: moved(array.shape), values };
}

/** The curves of an array of shape (time,) or (time, few). */
export function linesOf(run, array) {
  const [many, size = 1] = array.shape;
  const dim = array.dims[1];
  const names = dim ? coordOf(run, dim, size).map((c) => `${dim} ${c}`) : [""];
  return names.map((label, k) => {
    if (size === 1) return { label, values: array.values };
    const values = new Float64Array(many);
    for (let i = 0; i < many; i++) values[i] = array.values[i * size + k];
    return { label, values };
  });
}

/** The picture that shows an array best; `at` has the index along each dim that there is no room for. */
export function pictureOf(run, given, name, at = {}) {
  const array = timeFirst(cut(given.dims.includes("lane") ? taken(given, "lane", 0) : given, at));
  const hasTime = array.dims[0] === "time";
  const limits = Number.isFinite(array.min) && Number.isFinite(array.max) ? [array.min, array.max] : undefined;
  const times = array.times ?? run.coords.time;
  const others = array.dims.slice(hasTime ? 1 : 0);
  const sizes = array.shape.slice(hasTime ? 1 : 0);
  if (hasTime && (others.length === 0 || (others.length === 1 && sizes[0] <= CURVES))) {
    const lines = linesOf(run, array).map((line) => ({ ...line, label: line.label || name }));
    return new Curves({ times, lines });
  }
  if (hasTime && others.length === 1)
    return new TimeHeat({ times, coord: coordOf(run, others[0], sizes[0]), along: others[0], values: array.values, limits });
  if (others.length === 2) {
    const [down, over] = others.map((dim, i) => coordOf(run, dim, sizes[i]));
    return new Matrix({ times: hasTime ? times : undefined, down, over, names: others, values: array.values, limits });
  }
  if (others.length === 1) {
    const coord = coordOf(run, others[0], sizes[0]);
    const numeric = coord.every((c) => typeof c === "number") ? coord : coord.map((_, i) => i);
    return new Curves({ times: numeric, lines: [{ label: name, values: array.values }], along: others[0] });
  }
  return new Single(name, array.values[0]);
}

/** One number. */
class Single {
  constructor(name, value) {
    Object.assign(this, { name, value, hasTime: false, canLog: false });
  }
  draw(pen, wide, high, look) {
    pen.text(wide / 2, high / 2, short(this.value, 6), look.theme.ink, { align: "center", base: "middle", size: 20 });
  }
  keys() {
    return [];
  }
  readings() {
    return [];
  }
  rows() {
    return [[this.name], [this.value]];
  }
}
