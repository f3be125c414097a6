// Background runs: how far they are, a way to stop them, and a link once they have landed in the store.

import { get, send } from "./api.js";
import { el } from "./dom.js";
import { short } from "./scales.js";
import { address } from "./state.js";

export function jobList() {
  const node = el("ul", { class: "jobs" });
  const known = new Map();
  const show = () => {
    const items = [...known.values()].sort((a, b) => +b.job - +a.job).slice(0, 20).map(item);
    node.replaceChildren(...(items.length ? items : [el("li", { class: "quiet" }, "none yet")]));
  };
  const heard = (job) => {
    known.set(job.job, job);
    show();
  };
  const fill = async () => {
    for (const job of await get("jobs")) known.set(job.job, job);
    show();
  };
  return { node, heard, fill };
}

function item(job) {
  const numbers = Object.entries(job.fields ?? {}).map(([k, v]) => `${k} = ${short(v)}`).join(", ");
  const title = job.check ? `check of ${job.check}` : `${job.study} / ${job.arm}${numbers ? `, ${numbers}` : ""}`;
  const stop = () => send("DELETE", `jobs/${encodeURIComponent(job.job)}`);
  const end = job.run ? el("a", { href: address("run", job.run) }, "open") : job.done ? el("span", {}, job.state) : el("button", { type: "button", "aria-label": `stop ${title}`, onclick: stop }, "stop");
  return el("li", { "data-job": job.job, "data-state": job.state }, el("span", {}, title), end,
    job.done ? "" : el("progress", { max: 1, value: job.progress, "aria-label": `progress of ${title}` }), job.problem ? el("span", { class: "quiet" }, job.problem) : "");
}
