// The band of many runs: the median and the middle nine tenths of a quantity at every time.

import { inPath, numbers } from "./api.js";
import { Curves } from "./curves.js";
import { pictureOf } from "./pictures.js";
import { between } from "./scales.js";

const MOST = 48;
const POINTS = 400;
const LINES = 3;

function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low] + ((sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (place - low));
}

/** Whether a quantity of a run is drawn as curves over time, so that a band of many can be drawn. */
export function hasBand(run, { dims }) {
  const others = dims.filter((dim) => dim !== "time" && dim !== "lane");
  return dims.includes("time") && others.length <= 1 && others.every((dim) => run.dims[dim] <= 8);
}

/** At most so many of some lanes as can be asked for at once, spread evenly. */
export function someOf(lanes) {
  const every = Math.ceil(lanes.length / MOST);
  return lanes.filter((_, i) => i % every === 0);
}

/** Curves with a band, of runs {id, lane}. */
export async function ensemble(run, variable, chosen) {
  const found = await Promise.all(chosen.map(async ({ id, lane }) => {
    const array = await numbers(`runs/${inPath(id)}/values`, { name: variable.name, points: POINTS, lane });
    return pictureOf({ coords: { ...run.coords, time: array.times } }, array, variable.name);
  }));
  const { times } = found[0];
  const shared = Math.min(LINES, ...found.map((picture) => picture.lines?.length ?? 0));
  const lines = Array.from({ length: shared }, (_, k) => band(found, times, k));
  return new Curves({ times, lines });
}

/** The median, and what nine tenths of the runs lie between, of the k-th curve of each. */
function band(pictures, times, k) {
  const line = { label: pictures[0].lines[k].label, values: [], lower: [], upper: [] };
  for (const t of times) {
    const sorted = pictures.map((picture) => between(picture.times, picture.lines[k].values, t)).filter(Number.isFinite).sort((a, b) => a - b);
    line.values.push(sorted.length ? quantile(sorted, 0.5) : NaN);
    line.lower.push(sorted.length ? quantile(sorted, 0.05) : NaN);
    line.upper.push(sorted.length ? quantile(sorted, 0.95) : NaN);
  }
  return line;
}
