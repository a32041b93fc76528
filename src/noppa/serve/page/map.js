// A map of points, with panning and zooming by mouse, touch or keyboard.

import { $ } from "./dom.js";

export const COLOURS = ["#3b7dd8", "#d9822b", "#2f9e6b", "#c0448f", "#8a6fd1", "#b8a11c", "#d14b4b", "#2aa3b5", "#7a8b3c", "#a0674a"];
const NEAR = 14, TAP = 6, EDGE = 18, DIM = 0.12;

function ends(values) { return values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]); }

export class Map {
  constructor(canvas, report) {
    this.canvas = canvas;
    this.report = report;
    this.points = [];
    this.middle = [0, 0];
    this.half = [1, 1];
    this.labels = [];
    this.names = [];
    this.lit = null;
    this.marked = -1;
    this.pointers = new globalThis.Map();
    this.all();
    new ResizeObserver(() => this.draw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    addEventListener("theme", () => this.draw());
    let pressed = null;
    canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); this.pointers.set(event.pointerId, event); pressed = event; });
    canvas.addEventListener("pointerup", (event) => { // a tap: touch screens cannot hover
      if (pressed && Math.hypot(event.offsetX - pressed.offsetX, event.offsetY - pressed.offsetY) < TAP) this.point(this.nearest(event.offsetX, event.offsetY, 2 * NEAR));
    });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.pointers.delete(event.pointerId));
    canvas.addEventListener("pointermove", (event) => this.moved(event));
    canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, event.offsetX, event.offsetY); }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.typed(event));
    canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) this.centre(); });
    canvas.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") this.point(-1); });
    canvas.addEventListener("blur", () => this.point(-1));
    $("zoom-in").addEventListener("click", () => this.zoom(1.5));
    $("zoom-out").addEventListener("click", () => this.zoom(1 / 1.5));
    $("zoom-all").addEventListener("click", () => { this.all(); this.draw(); });
  }

  all() { this.scale = 1; this.x = 0; this.y = 0; this.canvas.dataset.scale = "1"; }

  show(points, labels) {
    this.points = points;
    const [left, right] = ends(points.map(([x]) => x)), [low, high] = ends(points.map(([, y]) => y));
    this.middle = [(left + right) / 2, (low + high) / 2];
    this.half = [Math.max(1e-9, (right - left) / 2), Math.max(1e-9, (high - low) / 2)];
    this.labels = labels;
    this.marked = -1;
    this.draw();
  }

  recolour(labels, names) { this.labels = labels; this.names = names; this.draw(); }

  mark(at) { this.marked = at; this.draw(); }

  // Highlights these points and dims the others; null highlights none.
  light(points) {
    this.lit = points && new Set(points);
    this.canvas.dataset.lit = points ? String(points.length) : "";
    this.draw();
  }

  // Pixels per unit; at scale 1 everything fits.
  size(scale = this.scale) {
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return scale * Math.min((w / 2 - EDGE) / this.half[0], (h / 2 - EDGE) / this.half[1]);
  }

  place([x, y]) {
    const { clientWidth: w, clientHeight: h } = this.canvas, size = this.size();
    return [w / 2 + (x - this.middle[0] + this.x) * size, h / 2 - (y - this.middle[1] + this.y) * size];
  }

  draw() {
    const { canvas } = this, ratio = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const radius = Math.max(1.5, Math.min(5, 120 / Math.sqrt(this.points.length + 1))) * Math.min(2, Math.sqrt(this.scale));
    const full = this.points.length > 2000 && !this.lit ? 0.5 : 0.85;
    const dot = (at, alpha, size) => {
      const [x, y] = this.place(this.points[at]);
      pen.globalAlpha = alpha;
      pen.fillStyle = COLOURS[(this.labels[at] ?? 0) % COLOURS.length];
      pen.beginPath(); pen.arc(x, y, size, 0, 7); pen.fill();
    };
    this.points.forEach((_, at) => { if (!this.lit?.has(at)) dot(at, this.lit ? DIM : full, radius); });
    for (const at of this.lit ?? []) if (at < this.points.length) dot(at, 1, Math.max(4, radius * 1.3));
    pen.globalAlpha = 1;
    this.drawNames(pen);
    if (this.marked >= 0 && this.marked < this.points.length) {
      const [x, y] = this.place(this.points[this.marked]);
      pen.lineWidth = 2.5;
      pen.strokeStyle = getComputedStyle(canvas).color;
      pen.beginPath(); pen.arc(x, y, radius + 4, 0, 7); pen.stroke();
    }
  }

  // Draws the name of each cluster at its center, largest first; skips names that would overlap.
  drawNames(pen) {
    const style = getComputedStyle(this.canvas), taken = [];
    pen.font = `600 13px ${style.fontFamily}`;
    pen.textAlign = "center";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = style.backgroundColor;
    pen.fillStyle = style.color;
    this.middles().forEach((middle, cluster) => {
      if (!middle || (this.lit && !middle.lit)) return;
      const [x, y] = this.place(middle.at), half = pen.measureText(this.names[cluster]).width / 2;
      const left = Math.max(half + 4, Math.min(this.canvas.clientWidth - half - 4, x));
      if (taken.some(([a, b, wide]) => Math.abs(a - left) < wide + half + 6 && Math.abs(b - y) < 18)) return;
      taken.push([left, y, half]);
      pen.strokeText(this.names[cluster], left, y);
      pen.fillText(this.names[cluster], left, y);
    });
  }

  // The center of each named cluster, and whether any of its points is highlighted.
  middles() {
    const sums = this.names.map(() => null);
    this.points.forEach(([x, y], at) => {
      const cluster = this.labels[at];
      if (!this.names[cluster]) return;
      const sum = sums[cluster] ??= { x: 0, y: 0, count: 0, lit: false };
      sum.x += x; sum.y += y; sum.count += 1;
      sum.lit ||= Boolean(this.lit?.has(at));
    });
    return sums.map((sum) => sum && { at: [sum.x / sum.count, sum.y / sum.count], lit: sum.lit });
  }

  nearest(x, y, most = Infinity) {
    let best = -1, least = most * most;
    this.points.forEach((point, at) => {
      const [px, py] = this.place(point), far = (px - x) ** 2 + (py - y) ** 2;
      if (far < least) { least = far; best = at; }
    });
    return best;
  }

  // Selects a point and reports its position; -1 for none.
  point(at) {
    if (at === this.marked) return;
    this.marked = at;
    this.report(at, ...(at < 0 ? [] : this.place(this.points[at])));
    this.draw();
  }

  // Places a card next to a position, on the side with more room.
  attach(card, x, y) {
    const { clientWidth: w, clientHeight: h } = this.canvas, gap = 12;
    card.style.left = `${Math.max(4, Math.min(w - card.offsetWidth - 4, x > w / 2 ? x - card.offsetWidth - gap : x + gap))}px`;
    card.style.top = `${Math.max(4, Math.min(h - card.offsetHeight - 4, y > h / 2 ? y - card.offsetHeight - gap : y + gap))}px`;
  }

  centre() { this.point(this.nearest(this.canvas.clientWidth / 2, this.canvas.clientHeight / 2)); }

  zoom(by, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    const next = Math.min(200, Math.max(0.5, this.scale * by));
    const dx = x - this.canvas.clientWidth / 2, dy = this.canvas.clientHeight / 2 - y;
    this.x += dx / this.size(next) - dx / this.size();
    this.y += dy / this.size(next) - dy / this.size();
    this.scale = next;
    this.canvas.dataset.scale = String(next);
    this.draw();
  }

  pan(dx, dy) {
    this.x += dx / this.size();
    this.y -= dy / this.size();
    this.draw();
  }

  moved(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) { this.point(this.nearest(event.offsetX, event.offsetY, NEAR)); return; }
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers.values()].filter((one) => one.pointerId !== event.pointerId);
      const apart = (one) => Math.hypot(one.offsetX - other.offsetX, one.offsetY - other.offsetY);
      this.zoom(apart(event) / Math.max(1, apart(before)), (event.offsetX + other.offsetX) / 2, (event.offsetY + other.offsetY) / 2);
    } else this.pan(event.offsetX - before.offsetX, event.offsetY - before.offsetY);
    this.pointers.set(event.pointerId, event);
  }

  typed(event) {
    const step = 40, moves = { ArrowUp: [0, step], ArrowDown: [0, -step], ArrowLeft: [step, 0], ArrowRight: [-step, 0] };
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "0") { this.all(); this.draw(); }
    else return;
    event.preventDefault();
    this.centre();
  }
}
