// A heat map of numbers between two sequences of tokens, with a legend. Pointing or the arrow keys show each value. If the
// cells would be too small, the coloured texts are shown instead (reading.js).

import { number, svg } from "./dom.js";
import { reading } from "./reading.js";
import { BEHIND, legend, readout, shade } from "./shades.js";
import { isolated, labels, rightToLeft, shortened, words } from "./tokens.js";

const LEAST = 15, MOST = 72, VALUES = 33; // limits for the side of a cell, and the side from which its value fits
const ANGLE = 48, SINE = 0.74, COSINE = 0.67;
const pen = document.createElement("canvas").getContext("2d");
const drawn = new WeakMap(); // the table of each element, to redraw it at another width
const watched = new ResizeObserver((entries) => {
  for (const { target } of entries) if (drawn.has(target) && drawn.get(target).width !== target.clientWidth) draw(target, drawn.get(target).table);
});

// `table`: sides `rows` and `columns`, each with `tokens` and `sources`; `values`; and a `label`.
export function heatmap(place, table) {
  watched.observe(place);
  draw(place, table);
}

function draw(place, table) {
  drawn.set(place, { table, width: place.clientWidth });
  place.replaceChildren();
  const { rows, columns, values } = table;
  if (!rows.tokens.length || !columns.tokens.length || !place.clientWidth) return;
  const shape = measured(place.clientWidth, labels(rows), labels(columns), table);
  const text = shape.cell < LEAST;
  place.dataset.form = text ? "text" : "table";
  // Without this, a word's value with itself would make all others pale.
  const seen = values.flatMap((row, at) => row.filter((_, column) => !(text && rows === columns && at === column)));
  const most = Math.max(1e-12, ...seen.map(Math.abs));
  if (text) reading(place, table, most);
  else cells(place, table, shape, most);
  place.append(legend(values, most, text ? BEHIND : 1));
}

// The layout in pixels.
function measured(width, rows, columns, table) {
  pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
  const wide = (label) => pen.measureText(shortened(label)).width;
  const side = Math.max(...rows.map(wide)) + 14, slopes = columns.map(wide);
  if (rightToLeft(table.columns.tokens)) slopes.reverse();
  const top = Math.max(...slopes) * SINE + 16, near = Math.min(MOST, (width - side) / columns.length);
  const slant = Math.max(4, ...slopes.map((slope, at) => slope * COSINE + 8 - (columns.length - at - 0.5) * near)); // slanted labels beyond the edge
  const mirrored = rightToLeft(table.rows.tokens); // row labels are where a line of the text starts
  const left = mirrored ? 2 : side, right = mirrored ? Math.max(side, slant) : slant;
  const cell = Math.min(MOST, (width - left - right) / columns.length);
  return { rows, columns, left, top, mirrored, cell, width: left + columns.length * cell + right, height: top + rows.length * cell + 2 };
}

function cells(place, table, shape, most) {
  const { rows, columns, left, top, mirrored, cell } = shape, { values } = table;
  const backward = rightToLeft(table.columns.tokens);
  const x = (column) => left + (backward ? columns.length - 1 - column : column) * cell, y = (row) => top + row * cell;
  const edge = mirrored ? left + columns.length * cell : left;
  const picture = svg("svg", {
    viewBox: `0 0 ${shape.width} ${shape.height}`, width: shape.width, height: shape.height, role: "application", tabindex: "0",
    "aria-roledescription": "table of values", "font-size": "13",
    "aria-label": `${table.label} ${rows.length} by ${columns.length}. Use the arrow keys to move between cells.`,
  });
  columns.forEach((label, column) => {
    const at = x(column) + cell / 2 + 3;
    picture.append(svg("text", { x: at, y: top - 8, transform: `rotate(${-ANGLE} ${at} ${top - 8})` }, isolated(shortened(label))));
  });
  rows.forEach((label, row) => {
    picture.append(svg("text", { x: mirrored ? edge + 9 : edge - 9, y: y(row) + cell / 2 + 5, "text-anchor": mirrored ? "start" : "end" }, isolated(shortened(label))));
    columns.forEach((_, column) => {
      const value = values[row][column], place = { x: x(column), y: y(row), width: cell, height: cell };
      const square = svg("rect", { ...place, class: "cell", "data-row": row, "data-column": column });
      shade(square, value, most);
      picture.append(svg("rect", { ...place, class: "base" }), square);
      if (cell >= VALUES) picture.append(svg("text", { x: place.x + cell / 2, y: place.y + cell / 2 + 4, class: Math.abs(value) > 0.68 * most ? "value strong" : "value" }, Math.abs(value) < 0.005 ? "0" : number(value, 2)));
    });
  });
  // Connect the pieces of one word with a line.
  for (const { start, end } of words(table.rows).filter(({ start, end }) => end - start > 1)) {
    const at = mirrored ? edge + 4 : edge - 4;
    picture.append(svg("line", { x1: at, x2: at, y1: y(start) + 3, y2: y(end) - 3, class: "word" }));
  }
  for (const { start, end } of words(table.columns).filter(({ start, end }) => end - start > 1)) {
    const ends = [x(start), x(end - 1)].sort((a, b) => a - b);
    picture.append(svg("line", { x1: ends[0] + 3, x2: ends[1] + cell - 3, y1: top - 4, y2: top - 4, class: "word" }));
  }
  const cursor = svg("rect", { width: cell, height: cell, class: "cursor", visibility: "hidden" });
  picture.append(cursor);
  const shown = readout();
  let at = [0, 0];
  const select = (row, column) => {
    at = [row, column];
    for (const [name, value] of [["x", x(column)], ["y", y(row)], ["visibility", "visible"]]) cursor.setAttribute(name, value);
    shown.show(rows[row], columns[column], values[row][column]);
  };
  const pointed = (event) => {
    const square = event.target.closest?.("[data-row]");
    if (square) select(Number(square.dataset.row), Number(square.dataset.column));
  };
  picture.addEventListener("pointermove", pointed);
  picture.addEventListener("pointerdown", pointed);
  picture.addEventListener("focus", () => select(...at));
  const step = backward ? -1 : 1, moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -step], ArrowRight: [0, step] };
  picture.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const within = (value, size) => Math.min(size - 1, Math.max(0, value));
    select(within(at[0] + move[0], rows.length), within(at[1] + move[1], columns.length));
  });
  place.append(picture, shown.node);
}
