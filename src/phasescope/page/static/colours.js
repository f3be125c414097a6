// Colours that the colour-blind tell apart: Okabe and Ito's for lines, viridis for sizes, blue to orange for signs.

const LINES = {
  light: ["#0072b2", "#d55e00", "#009e73", "#b0558a", "#b87a00", "#3b8fc4", "#5d5d58", "#7a5195"],
  dark: ["#56b4e9", "#ff8a3d", "#2fc79b", "#e39ac4", "#f0b429", "#9ad1f5", "#b5b3ab", "#c3a0dd"],
};
const SIZES = ["#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725"];
const SIGNS = ["#053061", "#2166ac", "#4393c3", "#92c5de", "#f2f2ef", "#fdc086", "#f08c3a", "#c75b08", "#7f3306"];

/** Whether the page is dark now: as chosen on it, or else as the system has it. */
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The colours that panels are drawn in. */
export function theme() {
  return isDark()
    ? { paper: "#1c1c1b", ink: "#e7e5df", quiet: "#a5a39b", grid: "#33322f", lines: LINES.dark, band: "#8fb8d8", cursor: "#ffd54a" }
    : { paper: "#ffffff", ink: "#1b1b1a", quiet: "#5d5d58", grid: "#e9e8e2", lines: LINES.light, band: "#0072b2", cursor: "#b00020" };
}

function ramp(stops) {
  const table = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (stops.length - 1);
    const left = Math.min(Math.floor(place), stops.length - 2);
    for (let k = 0; k < 3; k++) {
      const a = parseInt(stops[left].slice(1 + 2 * k, 3 + 2 * k), 16);
      const b = parseInt(stops[left + 1].slice(1 + 2 * k, 3 + 2 * k), 16);
      table[4 * i + k] = a + (b - a) * (place - left);
    }
    table[4 * i + 3] = 255;
  }
  return table;
}

const TABLES = { sizes: ramp(SIZES), signs: ramp(SIGNS) };

/** A scale of colours over [low, high]: signs get a middle at zero; `at` gives an index of its `table` or -1. */
export function colours(low, high, log = false) {
  const signed = !log && low < 0 && high > 0;
  const table = signed ? TABLES.signs : TABLES.sizes;
  const most = Math.max(-low, high);
  const [a, b] = signed ? [-most, most] : log ? [Math.log(low), Math.log(high)] : [low, high];
  const per = b > a ? 255 / (b - a) : 0;
  const at = (v) => {
    const seen = log ? Math.log(v) : v;
    if (!(seen === seen) || Math.abs(seen) === Infinity) return -1;
    return per ? Math.max(0, Math.min(255, Math.round((seen - a) * per))) : 128;
  };
  return { table, at, low: signed ? -most : low, high: signed ? most : high, log };
}

const SIDES = {
  light: [["#d55e00", "#fbe6d9"], ["#d9eaf4", "#0072b2"]],
  dark: [["#ff8a3d", "#46301f"], ["#1d3442", "#56b4e9"]],
};

/** Margins of a claim over [-1, 1]: one colour where it fails, another where it holds, with a jump at 0. */
export function sides() {
  const [fails, holds] = SIDES[isDark() ? "dark" : "light"].map(ramp);
  const table = new Uint8ClampedArray(256 * 4);
  for (let i = 0; i < 128; i++) {
    table.set(fails.subarray(8 * i, 8 * i + 4), 4 * i);
    table.set(holds.subarray(8 * i + 4, 8 * i + 8), 4 * (128 + i));
  }
  const at = (v) => (v !== v ? -1 : v < 0 ? Math.max(0, Math.round(127 + 127 * v)) : Math.min(255, Math.round(128 + 127 * v)));
  return { table, at, low: -1, high: 1, log: false };
}

/** A picture of rows x columns numbers, one pixel each, on `canvas`; numbers that are none are left clear. */
export function paint(canvas, values, start, rows, columns, strideRow, strideColumn, shades) {
  if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer), words = new Uint32Array(shades.table.buffer);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const i = shades.at(values[start + r * strideRow + c * strideColumn]);
      if (i < 0) continue;
      pixels[r * columns + c] = words[i];
    }
  context.putImageData(image, 0, 0);
}
