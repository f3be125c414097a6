// The Lab view: study, arm, preset and its numbers. Quick arms answer while a slider moves; others run behind.

import { decoded, get, send } from "./api.js";
import { chooser, el, failure, message, settled } from "./dom.js";
import { jobList } from "./job_list.js";
import { knob } from "./knobs.js";
import { RunView } from "./run.js";
import { short } from "./scales.js";
import { note } from "./state.js";

export async function open(into, { params }) {
  const studies = (await get("studies")).filter((study) => study.arms.length);
  if (!studies.length) {
    into.replaceChildren(el("h1", {}, "Lab"), message("No study is installed.", el("p", {}, "Make one: ", el("code", {}, "phasescope new NAME"), ", install it, and open this page again.")));
    return {};
  }
  const view = new LabView(studies, params);
  into.replaceChildren(...view.nodes);
  await view.jobs.fill();
  view.ask();
  return view;
}

// Milliseconds after the last movement of a slider, after which a run is asked for and not a preview.
const REST = 250;

class LabView {
  constructor(studies, params) {
    this.studies = studies;
    this.study = studies.find((s) => s.name === params.study) ?? studies[0];
    this.arm = this.study.arms.find((a) => a.name === params.arm) ?? this.study.arms.find((a) => a.quick) ?? this.study.arms[0];
    this.preset = params.preset ?? "";
    this.fields = {};
    for (const [key, value] of Object.entries(params)) if (key.startsWith("f.")) this.fields[key.slice(2)] = this.typed(key.slice(2), value);
    this.controls = el("div", { class: "controls" });
    this.result = el("div", { class: "result" });
    this.status = el("div", { class: "quiet status", role: "status" });
    this.jobs = jobList();
    this.rested = settled(() => this.closed || this.ask(), REST);
    this.nodes = [el("h1", {}, "Lab"), el("div", { class: "lab" }, el("section", { "aria-label": "Numbers of the run" }, this.controls, el("h2", {}, "Background runs"), this.jobs.node), el("section", { "aria-label": "Result" }, this.status, this.result))];
    this.bar();
  }
  typed(name, text) {
    const type = this.arm.fields.find((f) => f.name === name)?.type;
    if (type === "bool") return text === "true";
    return type === "int" || type === "float" ? Number(text) : text;
  }
  valueOf({ name, default: usual }) {
    if (name in this.fields) return this.fields[name];
    return name in this.presetValues() ? this.presetValues()[name] : usual;
  }
  presetValues() {
    return this.arm.presets.find((p) => (p.name ?? p) === this.preset)?.values ?? {};
  }
  bar() {
    const { study, arm } = this;
    const start = el("button", { type: "button", class: "main", id: "start", onclick: () => this.start() }, "Run and keep in the store");
    this.controls.replaceChildren(el("div", { class: "bar" },
      chooser("Study", "study", this.studies.map((s) => s.name), study.name, (name) => {
        this.study = this.studies.find((s) => s.name === name);
        this.switchTo(this.study.arms.find((a) => a.quick) ?? this.study.arms[0]);
      }),
      chooser("Arm", "arm", study.arms.map((a) => [a.name, a.quick ? `${a.name} (at once)` : a.name]), arm.name, (name) => this.switchTo(study.arms.find((a) => a.name === name))),
      arm.presets.length ? chooser("Preset", "preset", [["", "as the study has it"], ...arm.presets.map((p) => p.name ?? p)], this.preset, (preset) => {
        this.preset = preset;
        this.fields = {};
        this.changed();
        this.bar();
      }) : ""),
    arm.doc ? el("p", { class: "quiet" }, arm.doc) : "",
    ...arm.fields.map((field) => knob(field, this.valueOf(field), (value, moving) => {
      this.fields[field.name] = value;
      this.changed(moving);
    })), el("p", { class: "bar" }, start, el("button", { type: "button", onclick: () => {
      this.fields = {};
      this.forget();
      this.changed();
      this.bar();
    } }, "Reset")));
  }
  forget() {
    note(Object.fromEntries(this.arm.fields.map((f) => [`f.${f.name}`, ""])));
  }
  switchTo(arm) {
    this.forget();
    this.arm = arm;
    this.preset = "";
    const known = new Set(arm.fields.map((f) => f.name));
    this.fields = Object.fromEntries(Object.entries(this.fields).filter(([name]) => known.has(name)));
    this.shape = "";
    this.inner?.close();
    this.inner = undefined;
    this.result.replaceChildren();
    this.bar();
    this.changed();
  }
  changed(moving = false) {
    note({ study: this.study.name, arm: this.arm.name, preset: this.preset, ...Object.fromEntries(Object.entries(this.fields).map(([k, v]) => [`f.${k}`, v])) });
    this.ask(moving);
  }
  request() {
    return { study: this.study.name, arm: this.arm.name, preset: this.preset || null, fields: this.fields };
  }
  /** One question is under way at a time; of those asked meanwhile only the last is sent. While a slider moves, slower
   * arms answer with the beginning of the run, and the whole is asked for once it rests. */
  async ask(moving = false) {
    if (!this.arm.quick) {
      this.result.replaceChildren(message("This arm is trained, which takes longer than a slider moves.", el("p", {}, "Choose its numbers and press Run: it goes on behind this page and lands in the store.")));
      this.status.textContent = "";
      this.shape = "";
      return;
    }
    if (this.asking) {
      this.again = { moving };
      return;
    }
    this.asking = true;
    const begun = performance.now();
    const slow = setTimeout(() => (this.status.textContent = "computing… (the first answer of an arm takes seconds: it is compiled)"), 300);
    try {
      const answer = await send("POST", "lab", { ...this.request(), preview: moving }, undefined, true);
      clearTimeout(slow);
      const found = decoded(answer);
      this.show(found);
      this.status.textContent = `${inWords(found.part)}answered in ${Math.round(performance.now() - begun)} ms`;
      if (found.part) this.rested();
    } catch (problem) {
      clearTimeout(slow);
      this.status.replaceChildren(failure(problem, () => this.ask()));
    }
    this.asking = false;
    const { again } = this;
    this.again = undefined;
    if (again && !this.closed) this.ask(again.moving);
  }
  show(found) {
    const arrays = Object.fromEntries(found.variables.map((v) => [v.name, { ...v, values: found.values.subarray(v.offset, v.offset + v.shape.reduce((a, b) => a * b, 1)) }]));
    const longest = found.variables.map((v) => v.times ?? []).reduce((a, b) => (b.length > a.length ? b : a), []);
    const dims = Object.fromEntries(found.variables.flatMap((v) => v.dims.map((d, i) => [d, v.shape[i]])));
    const shape = JSON.stringify([this.study.name, this.arm.name, found.variables.map((v) => [v.name, v.dims])]);
    const run = { id: "", study: found.study, arm: found.arm, spec: Object.fromEntries(this.arm.fields.map((field) => [field.name, this.valueOf(field)])), time_per_step: found.time_per_step, dims, coords: { ...found.coords, time: longest }, variables: found.variables, phases: found.phases ?? [], theory: found.theory ?? [], arms: [] };
    this.arrays = arrays;
    if (found.part && this.inner) return this.renew({ ...run, dims: { ...this.inner.run.dims, ...dims }, coords: { ...this.inner.run.coords, ...run.coords }, variables: this.inner.run.variables });
    if (shape === this.shape) return this.renew(run);
    this.shape = shape;
    this.inner?.close();
    this.inner = new RunView(run, {}, { keeps: false, read: async (variable) => this.arrays[variable.name] });
    this.result.replaceChildren(...this.inner.nodes);
  }
  /** The same panels with other numbers: nothing flickers, scales and cursor stay. */
  renew(run) {
    const { inner } = this;
    Object.assign(inner.run, run);
    inner.cursor.times = run.coords.time;
    inner.cursor.slider.max = String(Math.max(0, run.coords.time.length - 1));
    for (const panel of inner.panels) {
      const known = panel.name in this.arrays;
      panel.node.classList.toggle("waits", !known);
      if (known && panel.asked) panel.fill();
    }
  }
  async start() {
    try {
      await send("POST", "jobs", this.request());
      await this.jobs.fill();
    } catch (problem) {
      this.status.replaceChildren(failure(problem));
    }
  }
  heard(news) {
    this.jobs.heard(news);
  }
  key(event) {
    return this.inner?.key(event) ?? false;
  }
  repaint() {
    this.inner?.repaint();
  }
  close() {
    this.closed = true;
    this.inner?.close();
  }
}

/** What a preview shows of a run. */
function inWords(part) {
  if (!part) return "";
  const whole = part.until >= part.end ? "" : ` up to time ${short(part.until, 3)} of ${short(part.end, 3)}`;
  return `preview: ${part.records} of ${part.of} records${whole}, the run itself when the slider rests; `;
}
