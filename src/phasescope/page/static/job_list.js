// Background runs: how far they are, a way to stop them, and a link once they have landed in the store.

import { get, send } from "./api.js";
import { el, failure } from "./dom.js";
import { short } from "./scales.js";
import { address } from "./state.js";

const MOST = 20;

export function jobList() {
  const none = el("li", { class: "quiet" }, "none yet");
  const node = el("ul", { class: "jobs" }, none);
  const known = new Map();
  /** What was told last counts, in whatever order it arrives. */
  const heard = (job) => {
    const before = known.get(job.job);
    if (before && before.job.version >= job.version) return;
    if (before) return before.show(job);
    const item = new Item(job);
    known.set(job.job, item);
    none.remove();
    node.insertBefore(item.node, [...node.children].find((one) => +one.dataset.job < +job.job) ?? null);
    while (node.children.length > MOST) node.lastChild.remove();
  };
  const fill = async () => {
    for (const job of await get("jobs")) heard(job);
  };
  return { node, heard, fill };
}

/** One run in the list. Its button stays the same element while progress is shown, so that no click on it is lost. */
class Item {
  constructor(job) {
    const numbers = Object.entries(job.fields ?? {}).map(([k, v]) => `${k} = ${short(v)}`).join(", ");
    const title = job.check ? `check of ${job.check}` : job.map ? `map of ${job.study}: ${job.map}${numbers ? `, ${numbers}` : ""}` : `${job.study} / ${job.arm}${numbers ? `, ${numbers}` : ""}`;
    this.end = el("span");
    this.stop = el("button", { type: "button", "aria-label": `stop ${title}`, onclick: () => this.ask() }, "stop");
    this.bar = el("progress", { max: 1, "aria-label": `progress of ${title}` });
    this.problem = el("span", { class: "quiet" });
    this.node = el("li", { "data-job": job.job }, el("span", {}, title), el("span", {}, this.stop, this.end), this.bar, this.problem);
    this.show(job);
  }
  show(job) {
    this.job = job;
    this.node.dataset.state = job.state;
    this.bar.value = job.progress;
    this.stop.hidden = this.bar.hidden = job.done;
    if (job.done) this.end.replaceChildren(job.run ? el("a", { href: address(job.map ? "map" : "run", job.run) }, "open") : job.state);
    if (job.problem) this.problem.textContent = job.problem;
  }
  async ask() {
    this.stop.disabled = true;
    this.problem.textContent = "";
    try {
      await send("DELETE", `jobs/${encodeURIComponent(this.job.job)}`);
    } catch (problem) {
      this.stop.disabled = false;
      this.problem.replaceChildren(failure(problem));
    }
  }
}
