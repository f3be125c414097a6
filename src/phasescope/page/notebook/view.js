// A run in a page of its own: the Run view of the page, with its numbers in the page itself and no server.

import { decoded } from "./api.js";
import { message } from "./dom.js";
import { RunView } from "./run.js";

const { run, numbers } = JSON.parse(document.getElementById("data").textContent);
const place = document.getElementById("view");

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

/** The numbers of one lane: the others are cut out. */
function atLane(array, lane) {
  const axis = array.dims.indexOf("lane");
  if (axis < 0) return array;
  const product = (sizes) => sizes.reduce((a, b) => a * b, 1);
  const [outer, many, inner] = [product(array.shape.slice(0, axis)), array.shape[axis], product(array.shape.slice(axis + 1))];
  const values = new Float64Array(outer * inner);
  for (let o = 0; o < outer; o++) {
    const start = (o * many + lane) * inner;
    values.set(array.values.subarray(start, start + inner), o * inner);
  }
  return { ...array, shape: array.shape.map((size, i) => (i === axis ? 1 : size)), values };
}

const kept = new Map();

async function read(variable) {
  if (!(variable.name in numbers)) throw new Error("This quantity is too large to be shown in a notebook. `phasescope serve` shows it.");
  if (!kept.has(variable.name)) kept.set(variable.name, decoded(bytes(numbers[variable.name])));
  return atLane(kept.get(variable.name), view.lanes.lane ?? 0);
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const paint = () => (document.documentElement.dataset.theme = dark.matches ? "dark" : "light");
paint();
const view = new RunView(run, {}, { read, keeps: false });
place.replaceChildren(...view.nodes);
if (!run.variables.length) place.append(message("There are no numbers to show in this dataset."));
dark.addEventListener("change", () => {
  paint();
  view.repaint();
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches?.("select, button, summary")) return;
  if (view.key(event)) event.preventDefault();
});
