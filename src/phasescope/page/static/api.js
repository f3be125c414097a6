// Requests to the server that this page came from. Every failure is an Error whose message can be shown.

async function asked(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...options });
  } catch (problem) {
    if (problem.name === "AbortError") throw problem;
    throw new Error("The server does not answer. Is `phasescope serve` still running? Start it again and open its link.");
  }
  if (answer.ok) return answer;
  throw new Error(await said(answer));
}

async function said(answer) {
  if (answer.status === 401 || answer.status === 403)
    return "The server does not know this browser. Open the link that `phasescope serve` printed.";
  const text = await answer.text();
  try {
    const found = JSON.parse(text);
    const words = found.error ?? found.detail ?? found.message;
    if (typeof words === "string") return words;
  } catch {
    // Not JSON: the text itself is the best there is.
  }
  return text.slice(0, 300) || `The server answered ${answer.status} ${answer.statusText}.`;
}

function query(given) {
  const kept = Object.entries(given).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return kept.length ? `?${new URLSearchParams(kept)}` : "";
}

export async function get(path, given = {}, signal) {
  return (await asked(`/api/${path}${query(given)}`, { signal })).json();
}

/** Sends a request that changes or computes something; `raw` gives the bytes of the answer instead of its JSON. */
export async function send(method, path, body, signal, raw = false) {
  const options = { method, signal, headers: { "Content-Type": "application/json" } };
  if (body !== undefined) options.body = JSON.stringify(body);
  const answer = await asked(`/api/${path}`, options);
  if (raw) return answer.arrayBuffer();
  const text = await answer.text();
  return text ? JSON.parse(text) : {};
}

/** An id in a path: its slashes stay, all else is escaped. */
export function inPath(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}

/** An array with its header: {dims, shape, min, max, times, values: Float64Array}. */
export async function numbers(path, given, signal) {
  const answer = await asked(`/api/${path}${query(given)}`, { signal });
  return decoded(await answer.arrayBuffer());
}

export function decoded(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const start = Math.ceil((4 + length) / 8) * 8;
  return { ...header, names: header.values, values: new Float64Array(buffer, start) };
}

/** Calls `hear` with every message about background runs; connects again by itself. Returns a way to stop. */
export function listen(hear) {
  let socket, ended = false, wait = 500;
  const connect = () => {
    socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/live`);
    socket.addEventListener("open", () => (wait = 500));
    socket.addEventListener("message", (event) => hear(JSON.parse(event.data)));
    socket.addEventListener("close", () => {
      if (!ended) setTimeout(connect, (wait = Math.min(wait * 2, 30000)));
    });
  };
  connect();
  return () => {
    ended = true;
    socket.close();
  };
}
