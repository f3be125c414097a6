// From numbers to places on the screen and back, ticks, and numbers as text.

const NICE = [1, 2, 5, 10];

/** A linear or logarithmic scale from [low, high] to the pixels [from, to]. */
export function scale(low, high, from, to, log = false) {
  const inner = log ? Math.log10 : (v) => v;
  const outer = log ? (v) => 10 ** v : (v) => v;
  let [a, b] = [inner(low), inner(high)];
  if (!(b > a)) {
    const by = log ? 0.5 : Math.abs(a) * 0.05 || 1;
    [a, b] = [a - by, a + by];
  }
  const per = (to - from) / (b - a);
  return {
    log, from, to, low: outer(a), high: outer(b),
    at: (v) => from + (inner(v) - a) * per,
    back: (p) => outer(a + (p - from) / per),
    ticks: (most) => (log ? decades(a, b, most) : steps(a, b, most)),
  };
}

function steps(a, b, most) {
  const rough = (b - a) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * NICE.find((n) => n * power >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(a / step - 1e-9); i * step <= b + step * 1e-9; i++) found.push(+(i * step).toPrecision(12));
  return found;
}

function decades(a, b, most) {
  const first = Math.ceil(a - 1e-9), last = Math.floor(b + 1e-9);
  if (last - first < 1) return steps(10 ** a, 10 ** b, most).filter((v) => v > 0);
  const every = Math.max(1, Math.ceil((last - first + 1) / Math.max(1, most)));
  const found = [];
  for (let p = Math.ceil(first / every) * every; p <= last; p += every) found.push(10 ** p);
  return found;
}

const DIGITS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A number as short text: 0.25, 1500, 10⁻⁴, 2.5·10⁶. */
export function short(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (Number.isNaN(value)) return "none";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e5) return String(+value.toPrecision(digits)).replace("-", "−");
  const [front, power] = value.toExponential(digits - 1).split("e");
  const raised = "10" + String(+power).replace(/./g, (c) => DIGITS[c] ?? c);
  const factor = String(+front).replace("-", "−");
  if (factor === "1") return raised;
  return factor === "−1" ? `−${raised}` : `${factor}·${raised}`;
}

/** The least and largest finite number, or of the positive ones alone. */
export function range(arrays, positive = false) {
  let low = Infinity, high = -Infinity;
  for (const values of arrays)
    for (let i = 0; i < values.length; i++) {
      const v = values[i];
      if (v < low && v > (positive ? 0 : -Infinity)) low = v;
      if (v > high && v < Infinity) high = v;
    }
  return low <= high ? [low, high] : positive ? [0.1, 1] : [0, 1];
}

/** The index of the number nearest to `wanted` in numbers that rise. */
export function nearest(numbers, wanted) {
  let low = 0, high = numbers.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= wanted) low = middle;
    else high = middle;
  }
  return Math.abs(numbers[high] - wanted) < Math.abs(wanted - numbers[low]) ? high : low;
}

/** The value at `x` on the line through the points (xs, ys); none outside them. */
export function between(xs, ys, x) {
  if (!xs.length || x < xs[0] || x > xs[xs.length - 1]) return NaN;
  let i = nearest(xs, x);
  if (xs[i] > x) i -= 1;
  if (i >= xs.length - 1 || xs[i] === x) return ys[Math.min(i, xs.length - 1)];
  return ys[i] + ((ys[i + 1] - ys[i]) * (x - xs[i])) / (xs[i + 1] - xs[i]);
}
