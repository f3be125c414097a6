// Chooses and orders the rows of the report. The page can be read without it.
"use strict";

const form = document.getElementById("filter");
const list = document.querySelector("#rows .rows");
const items = Array.from(list.children);
const rows = items.filter((item) => item.matches("details.row"));
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
const FIELDS = ["study", "word", "kind", "whose", "regime"];

// A row is shown if it has every value that was chosen, and every word of the text.
function isChosen(row) {
  const words = form.elements.text.value.toLowerCase().split(/\s+/).filter(Boolean);
  return (
    FIELDS.every((name) => !form.elements[name].value || row.dataset[name] === form.elements[name].value) &&
    words.every((word) => texts.get(row).includes(word))
  );
}

// Rows without a margin come last, whatever the order.
function byMargin(order) {
  const value = (row) => {
    if (row.dataset.margin === "") return Infinity;
    const margin = Number(row.dataset.margin);
    if (order === "nearest") return Math.abs(margin);
    return order === "largest" ? -margin : margin;
  };
  return (a, b) => value(a) - value(b) || a.dataset.at - b.dataset.at;
}

let order = "paper";
function update() {
  let shown = 0;
  for (const row of rows) {
    row.hidden = !isChosen(row);
    shown += row.hidden ? 0 : 1;
  }
  const wanted = form.elements.order.value;
  if (wanted !== order) {
    order = wanted;
    list.append(...(order === "paper" ? items : rows.slice().sort(byMargin(order))));
  }
  list.classList.toggle("mixed", order !== "paper");
  let heading = null;
  for (const item of items) {
    if (item.matches("h3")) {
      heading = item;
      heading.hidden = true;
    } else if (!item.hidden && order === "paper" && heading) {
      heading.hidden = false;
    }
  }
  form.querySelector("output").textContent =
    shown === rows.length ? `${shown} rows` : shown === 0 ? "no row is like that" : `${shown} of ${rows.length} rows`;
}

// A link to something that is closed or filtered out opens and shows it.
function reveal() {
  let id = "";
  try {
    id = decodeURIComponent(location.hash.slice(1));
  } catch {
    return;
  }
  const target = id && document.getElementById(id);
  if (!target) return;
  if (target.hidden) {
    form.reset();
    update();
  }
  for (let outer = target; outer; outer = outer.parentElement) {
    if (outer.matches("details")) outer.open = true;
  }
  target.scrollIntoView();
}

form.hidden = false;
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", update);
form.addEventListener("reset", () => setTimeout(update));
addEventListener("hashchange", reveal);
addEventListener("keydown", (event) => {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    form.elements.text.focus();
    form.scrollIntoView({ block: "start" });
  } else if (event.key === "Escape" && document.activeElement === form.elements.text) {
    form.elements.text.blur();
  }
});

// On paper the headlines are read with their conditions; rows are printed as they stand.
const closed = [];
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll(".headlines details:not([open])")) {
    one.open = true;
    closed.push(one);
  }
});
addEventListener("afterprint", () => {
  for (const one of closed.splice(0)) one.open = false;
});
update();
reveal();
