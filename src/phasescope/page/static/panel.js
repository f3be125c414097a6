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
  /**
   * `load` gives the picture (once, when the panel is first seen), `whole` the same with all records that fit into one
   * answer, for files (a picture of fewer says so in `part`, which becomes a part of the file's name);
   * `look` gives clock, phases, theory and theme.
   */
  constructor({ name, title, meaning, load, whole, look, log = false, onTime, onLog }) {
    Object.assign(this, { name, load, whole, look, log, onTime });
    this.base = el("canvas", { class: "base", role: "img", "aria-label": `${name}: ${meaning || "a measured quantity"}` });
    this.over = el("canvas", { class: "over", "aria-hidden": "true" });
    this.reading = el("output", { class: "reading", "aria-live": "off" });
    this.space = el("div", { class: "space" }, this.base, this.over);
    this.scaleButton = this.button("lin", `scale of ${name}`, () => {
      this.log = !this.log;
      this.redraw();
      onLog?.(this.name, this.log);
    });
    const tools = el("div", { class: "tools", role: "group", "aria-label": `${name}: scale and files` }, this.scaleButton, ["png", "svg", "csv"].map((kind) =>
      this.button(kind, `save ${name} as ${kind.toUpperCase()}`, () => this.save(kind))));
    this.node = el("figure", { class: "panel", "data-name": name },
      el("figcaption", {}, el("strong", {}, title ?? name), meaning ? el("span", { class: "quiet" }, ` ${meaning}`) : ""),
      tools, this.space, this.reading);
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
  /** A pen on a canvas of the size that was measured when the panel was last drawn: the layout is not asked again. */
  penOn(canvas) {
    const { wide, high } = this;
    const density = Math.min(devicePixelRatio || 1, 2);
    const [w, h] = [Math.round(wide * density), Math.round(high * density)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    const context = canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.clearRect(0, 0, wide, high);
    return new CanvasPen(context);
  }
  redraw() {
    this.stale = !this.visible || !this.picture;
    if (this.stale) return;
    this.wide = this.space.clientWidth;
    this.high = this.space.clientHeight || HIGH;
    if (this.wide < 20) return;
    const look = this.seeing();
    this.picture.kept = undefined;
    this.frame = undefined;
    this.picture.draw(this.penOn(this.base), this.wide, this.high, look);
    if (!this.picture.hasTime) this.penOn(this.over);
    this.key(look);
    this.scaleButton.textContent = look.log ? "log" : "lin";
    this.scaleButton.setAttribute("aria-pressed", String(look.log));
    this.scaleButton.disabled = !this.picture.canLog;
    this.node.dataset.drawn = String(1 + Number(this.node.dataset.drawn ?? 0));
    this.move(this.at);
  }
  /** The names of the lines, each with its colour and a place for its value at the cursor. */
  key({ theme }) {
    const keys = this.picture.keys();
    this.places = keys.map(() => el("b", {}));
    this.reading.replaceChildren(...keys.map(({ label, colour, dash }, i) => {
      const mark = el("i", { class: "mark" });
      if (colour !== undefined) mark.style.borderTop = `3px ${dash ? "dashed" : "solid"} ${theme.lines[colour % theme.lines.length]}`;
      return el("span", { class: "key", title: label }, colour === undefined ? "" : mark, label ? el("span", {}, label) : "", this.places[i]);
    }));
    this.reading.classList.toggle("many", keys.length > 1);
  }
  /** Moves the cursor: the thin layer alone is drawn. */
  move(at) {
    this.at = at;
    if (!this.visible || !this.picture || at === undefined || !this.wide) return;
    this.node.dataset.at = String(at);
    const frame = this.picture.frame?.(at) ?? at;
    if (frame === this.frame) return;
    this.frame = frame;
    if (this.picture.hasTime) this.picture.cursor(this.penOn(this.over), this.wide, this.high, this.seeing(), at);
    const words = this.picture.readings(at);
    this.places.forEach((place, i) => {
      if (place.firstChild) place.firstChild.data = words[i] ?? "";
      else place.textContent = words[i] ?? "";
    });
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
  async save(kind) {
    if (!this.picture) return;
    const [wide, high] = [this.wide, this.high];
    const look = this.seeing();
    if (kind === "csv") {
      const picture = this.whole ? await this.whole() : this.picture;
      const part = picture.part ? `_${picture.part}` : "";
      return save(new Blob([csv(picture.rows())], { type: "text/csv" }), `${this.name}${part}.csv`);
    }
    if (kind === "svg") {
      const pen = new SvgPen(wide, high);
      this.paint(pen, wide, high, look);
      return save(new Blob([pen.written()], { type: "image/svg+xml" }), `${this.name}.svg`);
    }
    const canvas = el("canvas");
    [canvas.width, canvas.height] = [wide * 2, high * 2];
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    this.paint(new CanvasPen(context), wide, high, look);
    canvas.toBlob((blob) => save(blob, `${this.name}.png`));
  }
  paint(pen, wide, high, look) {
    pen.rect(0, 0, wide, high, look.theme.paper);
    this.picture.draw(pen, wide, high, look, this.at);
  }
  close() {
    seen.unobserve(this.node);
    resized.unobserve(this.space);
  }
}
