// The clocks of a run: its time as recorded, its steps, gradient-flow time, each linear or logarithmic.

import { between } from "./scales.js";

const perStep = (run) => run.time_per_step ?? run.provenance?.time_per_step;
const rateOf = (run) => Number(run.spec?.eta ?? run.spec?.learning_rate ?? run.spec?.lr);

/** What times of `other` are multiplied by to be times of `run`: one may count steps, the other gradient-flow time. */
export function timesOf(run, other) {
  const [steps, theirs] = [perStep(run) === 1, perStep(other) === 1];
  const factor = steps === theirs ? 1 : steps ? 1 / rateOf(run) : rateOf(other);
  return factor > 0 && factor < Infinity ? factor : 1;
}

/** The clocks that a run can be shown on, by name. */
export function clocksOf(run) {
  const times = run.coords.time ?? [0, 1];
  const found = [{ name: "time", label: "time", of: (t) => t, back: (v) => v }];
  const per = perStep(run);
  if (per > 0 && per !== 1) found.push({ name: "step", label: "step", of: (t) => t / per, back: (v) => v * per });
  if (per === 1) Object.assign(found[0], { name: "step", label: "step" });
  const rate = rateOf(run);
  if (per === 1 && rate > 0)
    found.push({ name: "flow time", label: "flow time = learning rate × step", of: (t) => t * rate, back: (v) => v / rate });
  for (const [name, values] of Object.entries(run.coords))
    if (isClock(name, values, times) && !found.some((clock) => clock.name === name))
      found.push({ name, label: name, of: (t) => between(times, values, t), back: (v) => between(values, times, v) });
  const positive = times.some((t) => t > 0);
  const logs = positive ? found.map((clock) => ({ ...clock, name: `log ${clock.name}`, log: true })) : [];
  return [...found, ...logs];
}

/** Whether a coordinate counts along with time: as many numbers, always rising. */
function isClock(name, values, times) {
  if (name === "time" || name === "stage" || !Array.isArray(values) || values.length !== times.length || values.length < 2) return false;
  return values.every((v, i) => typeof v === "number" && (i === 0 || v > values[i - 1]));
}

/** The clock that shows most: a logarithmic one where records are spread over decades. */
export function usualClock(clocks, times) {
  const positive = times.filter((t) => t > 0);
  const middle = positive[positive.length >> 1], last = positive[positive.length - 1];
  const wide = positive.length > 20 && middle < last / 8;
  return clocks.find((clock) => Boolean(clock.log) === wide) ?? clocks[0];
}
