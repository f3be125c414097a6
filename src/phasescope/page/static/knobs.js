// One number of a Spec as something to turn: a slider for floats, a field, a box or a choice for others.

import { el, symbol } from "./dom.js";
import { short } from "./scales.js";

const STEPS = 400;

function reach(field, value) {
  const size = Math.abs(Number(value)) || 1;
  if (field.log) return [Math.max(field.low || 0, size / 100) || size / 100, field.high ?? size * 100];
  return [field.low ?? (value < 0 ? -2 * size : 0), field.high ?? 2 * size];
}

/** The control of a field; `turned(value, moving)` is called with every change, `moving` while a slider is. */
export function knob(field, value, turned) {
  const id = `knob-${field.name}`;
  const label = el("label", { for: id }, el("strong", {}, symbol(field)), field.meaning ? el("span", { class: "quiet" }, ` ${field.meaning}`) : "", field.unit ? ` [${field.unit}]` : "");
  const wrap = (...inner) => el("div", { class: "knob", "data-field": field.name }, label, inner);
  if (field.type === "bool") {
    const box = el("input", { id, type: "checkbox", checked: Boolean(value), onchange: () => turned(box.checked) });
    return wrap(box);
  }
  if (field.type === "choice") {
    const select = el("select", { id, onchange: () => turned(field.choices.find((c) => String(c) === select.value)) }, field.choices.map((c) => el("option", { value: c }, String(c))));
    select.value = String(value);
    return wrap(select);
  }
  const several = typeof value === "object" && value !== null;
  if (field.type === "text" || several) {
    const text = el("input", { id, class: "wide", type: "text", value: value ?? "", disabled: several, onchange: () => turned(text.value) });
    return wrap(text);
  }
  if (field.type === "int" || value === null) {
    const whole = field.type === "int", optional = field.optional || field.default === null;
    const number = el("input", { id, class: "wide", type: "number", step: whole ? 1 : "any", min: field.low, max: field.high, value: value ?? "", placeholder: optional ? "as the study decides" : undefined, onchange: () => {
      if (number.value !== "") turned(whole ? Math.round(+number.value) : +number.value);
      else if (optional) turned(null);
    } });
    return wrap(number);
  }
  return wrap(...slider(field, id, Number(value), turned));
}

function slider(field, id, value, turned) {
  const [low, high] = reach(field, field.default || value);
  const to = (v) => (field.log ? Math.log(v / low) / Math.log(high / low) : (v - low) / (high - low)) * STEPS;
  const from = (s) => (field.log ? low * (high / low) ** (s / STEPS) : low + ((high - low) * s) / STEPS);
  const number = el("input", { type: "number", step: "any", value, "aria-label": `${field.name} as a number`, onchange: () => {
    if (number.value === "") return;
    range.value = String(to(+number.value));
    turned(+number.value);
  } });
  const range = el("input", { id, type: "range", min: 0, max: STEPS, step: 1, oninput: () => {
    const found = +from(+range.value).toPrecision(4);
    number.value = String(found);
    range.setAttribute("aria-valuetext", short(found));
    turned(found, true);
  } });
  range.value = String(to(value));
  range.setAttribute("aria-valuetext", short(value));
  return [range, number];
}
