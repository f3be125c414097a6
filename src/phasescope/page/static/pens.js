// Two pens with the same strokes: one draws on a canvas, the other writes SVG. A panel is drawn by either.

const FONT = "system-ui, sans-serif";

export class CanvasPen {
  constructor(context) {
    this.c = context;
  }
  rect(x, y, wide, high, fill, alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = fill;
    this.c.fillRect(x, y, wide, high);
    this.c.globalAlpha = 1;
  }
  /** A line through points [x0, y0, x1, y1, ...]; a point that is not a number lifts the pen. */
  line(points, colour, { width = 1, dash = [], alpha = 1 } = {}) {
    const c = this.c;
    c.globalAlpha = alpha;
    c.strokeStyle = colour;
    c.lineWidth = width;
    c.lineJoin = "round";
    c.setLineDash(dash);
    c.beginPath();
    let down = false;
    for (let i = 0; i < points.length; i += 2) {
      const y = points[i + 1];
      if (y !== y) down = false;
      else if (down) c.lineTo(points[i], y);
      else {
        c.moveTo(points[i], y);
        down = true;
      }
    }
    c.stroke();
    c.setLineDash([]);
    c.globalAlpha = 1;
  }
  fill(points, colour, alpha = 1) {
    const c = this.c;
    c.globalAlpha = alpha;
    c.fillStyle = colour;
    c.beginPath();
    for (let i = 0; i < points.length; i += 2) c.lineTo(points[i], points[i + 1]);
    c.fill();
    c.globalAlpha = 1;
  }
  text(x, y, words, colour, { align = "left", base = "alphabetic", size = 11, turn = 0 } = {}) {
    const c = this.c;
    c.save();
    c.translate(x, y);
    c.rotate(turn);
    c.font = `${size}px ${FONT}`;
    c.fillStyle = colour;
    c.textAlign = align;
    c.textBaseline = base;
    c.fillText(words, 0, 0);
    c.restore();
  }
  image(canvas, x, y, wide, high) {
    this.c.imageSmoothingEnabled = false;
    this.c.drawImage(canvas, x, y, wide, high);
  }
  clipped(x, y, wide, high, draw) {
    this.c.save();
    this.c.beginPath();
    this.c.rect(x, y, wide, high);
    this.c.clip();
    draw();
    this.c.restore();
  }
}

const SVG = "http://www.w3.org/2000/svg";
const ANCHOR = { left: "start", center: "middle", right: "end" };
const BASE = { top: "hanging", middle: "central", alphabetic: "auto", bottom: "text-after-edge" };

export class SvgPen {
  constructor(wide, high) {
    this.root = this.made("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, "font-family": FONT });
    this.into = this.root;
    this.clips = 0;
  }
  made(name, attributes) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  }
  put(name, attributes) {
    const node = this.made(name, attributes);
    this.into.append(node);
    return node;
  }
  rect(x, y, width, height, fill, alpha = 1) {
    this.put("rect", { x, y, width, height, fill, "fill-opacity": alpha });
  }
  line(points, colour, { width = 1, dash = [], alpha = 1 } = {}) {
    let d = "", down = false;
    for (let i = 0; i < points.length; i += 2) {
      const y = points[i + 1];
      if (y !== y) down = false;
      else {
        d += `${down ? "L" : "M"}${points[i].toFixed(1)} ${y.toFixed(1)}`;
        down = true;
      }
    }
    const given = { d, fill: "none", stroke: colour, "stroke-width": width, "stroke-opacity": alpha };
    this.put("path", dash.length ? { ...given, "stroke-dasharray": dash.join(" ") } : given);
  }
  fill(points, colour, alpha = 1) {
    const pairs = [];
    for (let i = 0; i < points.length; i += 2) pairs.push(`${points[i].toFixed(1)},${points[i + 1].toFixed(1)}`);
    this.put("polygon", { points: pairs.join(" "), fill: colour, "fill-opacity": alpha });
  }
  text(x, y, words, colour, { align = "left", base = "alphabetic", size = 11, turn = 0 } = {}) {
    const given = { x, y, fill: colour, "font-size": size, "text-anchor": ANCHOR[align], "dominant-baseline": BASE[base] };
    if (turn) given.transform = `rotate(${(turn * 180) / Math.PI} ${x} ${y})`;
    this.put("text", given).textContent = words;
  }
  image(canvas, x, y, width, height) {
    const given = { x, y, width, height, preserveAspectRatio: "none", "image-rendering": "pixelated" };
    this.put("image", { ...given, href: canvas.toDataURL("image/png") });
  }
  clipped(x, y, width, height, draw) {
    const id = `clip${this.clips++}`;
    this.put("clipPath", { id }).append(this.made("rect", { x, y, width, height }));
    const before = this.into;
    this.into = this.put("g", { "clip-path": `url(#${id})` });
    draw();
    this.into = before;
  }
  written() {
    return new XMLSerializer().serializeToString(this.root);
  }
}
