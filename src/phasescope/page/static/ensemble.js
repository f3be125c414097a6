// The band of many runs: the median and the middle nine tenths of a quantity at every time.

import { inPath, numbers } from "./api.js";
import { Curves } from "./curves.js";
import { between } from "./scales.js";

const MOST = 48;
const POINTS = 200;

function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const low = Math.floor(place);
  return sorted[low] + ((sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (place - low));
}

/** Curves with a band, of {id, lane}: at most so many of them as can be asked for at once, spread evenly. */
export async function ensemble(variable, lanes) {
  const every = Math.ceil(lanes.length / MOST);
  const chosen = lanes.filter((_, i) => i % every === 0);
  const found = await Promise.all(chosen.map(({ id, lane }) => numbers(`runs/${inPath(id)}/values`, { name: variable.name, points: POINTS, lane })));
  const { times } = found[0];
  const size = found[0].values.length / times.length;
  const curves = found.map((array) => Float64Array.from(array.times, (_, i) => array.values[i * size]));
  const line = { label: variable.name, values: [], lower: [], upper: [] };
  for (const t of times) {
    const sorted = curves.map((values, k) => between(found[k].times, values, t)).filter(Number.isFinite).sort((a, b) => a - b);
    line.values.push(sorted.length ? quantile(sorted, 0.5) : NaN);
    line.lower.push(sorted.length ? quantile(sorted, 0.05) : NaN);
    line.upper.push(sorted.length ? quantile(sorted, 0.95) : NaN);
  }
  return new Curves({ times, lines: [line] });
}
