// Files that the browser saves: nothing goes to the server.

import { el } from "./dom.js";

/** Offers `blob` to be saved under `name`. */
export function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name.replace(/[^\w.-]+/g, "_") });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Rows as comma-separated values; text that a spreadsheet would take for a formula is kept text. */
export function csv(rows) {
  const cell = (value) => {
    if (typeof value === "number") return String(value);
    const text = String(value ?? "").replace(/^([=+\-@\t\r])/, "'$1");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}
