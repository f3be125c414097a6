// Elements made of plain text: nothing that comes from a store is ever read as markup.

/** An element with attributes and children; strings become text, nothing is parsed. */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked" || key === "open") made[key] = value;
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  append(made, children);
  return made;
}

function append(made, children) {
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    made.append(child instanceof Node ? child : String(child));
  }
}

/** A paragraph that says what is the case and what to do about it. */
export function message(text, ...more) {
  return el("div", { class: "message", role: "status" }, el("p", {}, text), more);
}

/** What is shown where a request failed: the words of the server, and a way to try again. */
export function failure(problem, again) {
  const button = again && el("button", { type: "button", onclick: again }, "Try again");
  return el("div", { class: "message error", role: "alert" }, el("p", {}, problem.message), button);
}

/** A select with a label; `options` are strings or [value, text]. */
export function chooser(label, name, options, chosen, onchange) {
  const made = options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return el("option", { value }, text);
  });
  const select = el("select", { name, onchange: () => onchange(select.value) }, made);
  select.value = chosen ?? "";
  if (select.selectedIndex < 0) select.selectedIndex = 0;
  return el("label", {}, el("span", {}, label), select);
}

const MATHML = "http://www.w3.org/1998/Math/MathML";
const TAGS = new Set(
  ("math semantics mrow mi mn mo ms mtext mspace mfrac msqrt mroot mstyle mpadded mphantom msub msup msubsup munder " +
    "mover munderover mmultiscripts mprescripts none mtable mtr mtd mfenced menclose merror").split(" "),
);
const ATTRIBUTES = new Set(
  ("display mathvariant stretchy fence separator form lspace rspace minsize maxsize largeop movablelimits accent " +
    "accentunder linethickness columnalign rowspacing columnspacing width height depth displaystyle scriptlevel " +
    "open close separators notation symmetric").split(" "),
);

/** Formulas of the server as MathML elements, everything else of them left out; or nothing if they do not parse. */
export function mathematics(text) {
  if (!text) return null;
  const parsed = new DOMParser().parseFromString(text, "application/xml").documentElement;
  if (parsed.localName !== "math") return null;
  return filtered(parsed);
}

function filtered(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || !TAGS.has(node.localName)) return null;
  const made = document.createElementNS(MATHML, node.localName);
  for (const { name, value } of node.attributes) if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  for (const child of node.childNodes) {
    const kept = filtered(child);
    if (kept) made.append(kept);
  }
  return made;
}

/** The name of a quantity or a field, after its symbol in real mathematics if it has one. */
export function symbol({ name, symbol: sign, mathml }) {
  if (!sign || sign === name) return name;
  return el("span", {}, mathematics(mathml) ?? sign, " ", el("code", {}, name));
}

/** Calls `act` with the last arguments only, once `wait` milliseconds have gone by without another call. */
export function settled(act, wait) {
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => act(...given), wait);
  };
}
