// A panel: one picture with its title, its reading at the cursor, and its buttons. Two canvases lie on each other:
// the picture is drawn once, and only the thin layer with the cursor is drawn again while the cursor moves.

import { el, failure } from "./dom.js";
import { save, csv } from "./saving.js";
import { CanvasPen, SvgPen } from "./pens.js";

const HIGH = 210;

const seen = new IntersectionObserver(
  (entries) => entries.forEach(({ target, isIntersecting }) => target.panel?.shows(isIntersecting)),
  { rootMargin: "120px" },
);
const resized = new ResizeObserver((entries) => entries.forEach(({ target }) => target.panel?.sized()));

export class Panel {
  /** `load` gives the picture (once, when the panel is first seen); `look` gives clock, phases, theory and theme. */
  constructor({ name, title, meaning, load, look, log = false, onTime, onLog, legend }) {
    Object.assign(this, { name, load, look, log, onTime });
    this.base = el("canvas", { class: "base", role: "img", "aria-label": `${name}: ${meaning || "a measured quantity"}` });
    this.over = el("canvas", { class: "over", "aria-hidden": "true" });
    this.reading = el("output", { class: "reading" });
    this.space = el("div", { class: "space" }, this.base, this.over);
    this.scaleButton = this.button("lin", `scale of ${name}`, () => {
      this.log = !this.log;
      this.redraw();
      onLog?.(this.name, this.log);
    });
    const tools = el("div", { class: "tools" }, this.scaleButton, ["png", "svg", "csv"].map((kind) =>
      this.button(kind, `save ${name} as ${kind.toUpperCase()}`, () => this.save(kind))));
    this.legend = el("p", { class: "legend" }, legend ?? []);
    this.node = el("figure", { class: "panel", "data-name": name },
      el("figcaption", {}, el("strong", {}, title ?? name), meaning ? el("span", { class: "quiet" }, ` ${meaning}`) : ""),
      tools, this.space, this.reading, this.legend);
    this.node.panel = this;
    this.space.panel = this;
    this.visible = false;
    seen.observe(this.node);
    resized.observe(this.space);
    this.space.addEventListener("pointerdown", (event) => this.drag(event));
  }
  button(words, label, onclick) {
    return el("button", { type: "button", "aria-label": label, title: label, onclick }, words);
  }
  shows(visible) {
    this.visible = visible;
    if (!visible) return;
    if (!this.asked) this.fill();
    else if (this.stale) this.redraw();
    else this.move(this.at);
  }
  /** Loads the picture (again), then draws it. The old one stays until the new one is there. */
  async fill(load = this.load) {
    this.load = load;
    const mine = (this.asked = {});
    try {
      const picture = await load();
      if (this.asked !== mine) return;
      this.picture = picture;
      this.node.querySelector(".message")?.remove();
      this.redraw();
    } catch (problem) {
      if (this.asked !== mine || problem.name === "AbortError") return;
      this.node.querySelector(".message")?.remove();
      this.space.before(failure(problem, () => this.fill()));
    }
  }
  sized() {
    if (this.picture) this.redraw();
  }
  seeing() {
    return { ...this.look(), log: this.log && this.picture.canLog };
  }
  fit(canvas) {
    const density = Math.min(devicePixelRatio || 1, 2);
    const wide = this.space.clientWidth, high = this.space.clientHeight || HIGH;
    const [w, h] = [Math.round(wide * density), Math.round(high * density)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    const context = canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, wide, high);
    return { pen: new CanvasPen(context), wide, high };
  }
  redraw() {
    this.stale = !this.visible || !this.picture;
    if (this.stale) return;
    const { pen, wide, high } = this.fit(this.base);
    if (wide < 20) return;
    this.picture.kept = undefined;
    this.picture.draw(pen, wide, high, this.seeing());
    this.scaleButton.textContent = this.log && this.picture.canLog ? "log" : "lin";
    this.scaleButton.setAttribute("aria-pressed", String(this.log));
    this.scaleButton.disabled = !this.picture.canLog;
    this.node.dataset.drawn = String(1 + Number(this.node.dataset.drawn ?? 0));
    this.move(this.at);
  }
  /** Moves the cursor: the thin layer alone is drawn. */
  move(at) {
    this.at = at;
    if (!this.visible || !this.picture || at === undefined) return;
    if (this.picture.hasTime) {
      const { pen, wide, high } = this.fit(this.over);
      this.picture.cursor(pen, wide, high, this.seeing(), at);
    }
    this.node.dataset.at = String(at);
    const words = this.picture.readout(at);
    if (this.reading.textContent !== words) this.reading.textContent = words;
  }
  drag(event) {
    if (!this.picture?.timeAt || !this.onTime || event.button) return;
    const edge = this.space.getBoundingClientRect();
    const to = (e) => this.onTime(this.picture.timeAt(e.clientX - edge.left, edge.width, edge.height, this.seeing()));
    const stop = () => this.space.removeEventListener("pointermove", to);
    this.space.setPointerCapture(event.pointerId);
    this.space.addEventListener("pointermove", to);
    this.space.addEventListener("pointerup", stop, { once: true });
    this.space.addEventListener("pointercancel", stop, { once: true });
    to(event);
  }
  save(kind) {
    if (!this.picture) return;
    const [wide, high] = [this.space.clientWidth, this.space.clientHeight];
    const look = this.seeing();
    if (kind === "csv") return save(new Blob([csv(this.picture.rows())], { type: "text/csv" }), `${this.name}.csv`);
    if (kind === "svg") {
      const pen = new SvgPen(wide, high);
      this.whole(pen, wide, high, look);
      return save(new Blob([pen.written()], { type: "image/svg+xml" }), `${this.name}.svg`);
    }
    const canvas = el("canvas");
    [canvas.width, canvas.height] = [wide * 2, high * 2];
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    this.whole(new CanvasPen(context), wide, high, look);
    canvas.toBlob((blob) => save(blob, `${this.name}.png`));
  }
  whole(pen, wide, high, look) {
    pen.rect(0, 0, wide, high, look.theme.paper);
    this.picture.draw(pen, wide, high, look, this.at);
  }
}
