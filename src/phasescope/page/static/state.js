// The state of the page lives in its address: #/view/id?key=value.

/** The view, the id (which may hold slashes) and the parameters that the address names. */
export function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...id] = path.split("/").map(decoded);
  return { view: view || "ledger", id: id.join("/"), params: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view; parameters that are empty are left out. */
export function address(view, id = "", params = {}) {
  const kept = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString();
  const path = id ? `${view}/${id.split("/").map(encodeURIComponent).join("/")}` : view;
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** Goes to another view, leaving a step in the browser's history. */
export function go(view, id, params) {
  location.hash = address(view, id, params);
}

let waiting = null;

/** Notes changed parameters of the view shown, without a step in the history; at most five times a second. */
export function note(changes) {
  if (waiting) {
    Object.assign(waiting.changes, changes);
    return;
  }
  waiting = { changes: { ...changes }, on: location.hash.split("?")[0] };
  setTimeout(write, 200);
}

function write() {
  const { changes, on } = waiting;
  waiting = null;
  if (location.hash.split("?")[0] !== on) return;
  const { view, id, params } = read();
  history.replaceState(null, "", address(view, id, { ...params, ...changes }));
}
