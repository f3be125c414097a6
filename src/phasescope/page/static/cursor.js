// The one cursor of a view: a slider over the records, a play button, a choice of clocks, and keys.

import { chooser, el } from "./dom.js";
import { nearest, short } from "./scales.js";

const SECONDS = 10;

export class Cursor {
  /** `moved(time)` is called once a frame at most; `ticked(clock)` when another clock is chosen. */
  constructor({ times, clocks, clock, at, moved, ticked }) {
    Object.assign(this, { times, clocks, clock, moved, ticked });
    this.slider = el("input", { type: "range", min: 0, max: Math.max(0, times.length - 1), step: 1, "aria-label": "Time cursor",
      oninput: () => this.to(times[+this.slider.value]) });
    this.words = el("output", { class: "now" });
    this.playButton = el("button", { type: "button", class: "play", "aria-label": "Play", onclick: () => this.toggle() }, "▶");
    this.choice = chooser("Clock", "clock", clocks.map((c) => c.name), clock.name, (name) => this.choose(name));
    this.node = el("div", { class: "cursor", role: "group", "aria-label": "Time" }, this.playButton, this.slider, this.words, this.choice);
    this.to(at ?? times[times.length - 1] ?? 0);
  }
  choose(name) {
    this.clock = this.clocks.find((c) => c.name === name) ?? this.clocks[0];
    this.choice.querySelector("select").value = this.clock.name;
    this.ticked(this.clock);
    this.show();
  }
  to(time) {
    const { times } = this;
    if (!(time === time) || !times.length) return;
    this.at = Math.max(times[0], Math.min(times[times.length - 1], time));
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.show();
      this.moved(this.at);
    });
  }
  show() {
    const index = nearest(this.times, this.at);
    const words = `${this.clock.name.replace("log ", "")} ${short(this.clock.of(this.at), 5)}`;
    this.slider.value = String(index);
    this.slider.setAttribute("aria-valuetext", `${words}, record ${index + 1} of ${this.times.length}`);
    this.words.textContent = words;
  }
  by(records) {
    const index = Math.max(0, Math.min(this.times.length - 1, nearest(this.times, this.at) + records));
    this.to(this.times[index]);
  }
  toggle() {
    if (this.playing) return this.pause();
    const index = nearest(this.times, this.at);
    let begin = index >= this.times.length - 1 ? 0 : index, started;
    const tick = (now) => {
      started ??= now;
      const place = begin + ((now - started) / 1000 / SECONDS) * (this.times.length - 1);
      this.to(this.times[Math.min(this.times.length - 1, Math.floor(place))]);
      if (place >= this.times.length - 1) this.pause();
      else this.playing = requestAnimationFrame(tick);
    };
    this.playing = requestAnimationFrame(tick);
    this.playButton.textContent = "⏸";
    this.playButton.setAttribute("aria-label", "Pause");
  }
  pause() {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.playButton.textContent = "▶";
    this.playButton.setAttribute("aria-label", "Play");
  }
  /** Whether the key was one of the cursor's. */
  key(event) {
    const by = event.shiftKey ? 10 : 1;
    if (event.key === "ArrowRight") this.by(by);
    else if (event.key === "ArrowLeft") this.by(-by);
    else if (event.key === "Home") this.to(this.times[0]);
    else if (event.key === "End") this.to(this.times[this.times.length - 1]);
    else if (event.key === " ") this.toggle();
    else if (event.key === "c" || event.key === "C") this.choose(this.clocks[(this.clocks.indexOf(this.clock) + 1) % this.clocks.length].name);
    else return false;
    return true;
  }
  close() {
    this.pause();
    cancelAnimationFrame(this.frame);
  }
}
