// A table of numbers as coloured cells: a mouse, a finger or the arrow keys tell each value.

import { make, number, svg } from "./dom.js";

const CELL = 26, LETTER = 7.6, MOST = 16;

function shown(token) { return token.length > MOST ? token.slice(0, MOST - 1) + "…" : token; }

export function heatmap(place, rows, columns, values, label) {
  place.replaceChildren();
  if (!rows.length || !columns.length) return;
  const widest = Math.max(...rows.map((token) => shown(token).length));
  const highest = Math.max(...columns.map((token) => shown(token).length));
  const left = widest * LETTER + 12, top = highest * LETTER * 0.78 + 14;
  const slant = highest * LETTER * 0.72;
  const width = left + columns.length * CELL + slant, height = top + rows.length * CELL + 2;
  const most = Math.max(1e-12, ...values.flat().map(Math.abs));
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`, role: "application", tabindex: "0", "aria-roledescription": "table of values",
    "aria-label": `${label}: ${rows.length} by ${columns.length}. Arrow keys move from cell to cell.`, "font-size": "13",
  });
  picture.style.maxWidth = `${Math.max(width * 1.5, 160)}px`;
  columns.forEach((token, at) => {
    const x = left + at * CELL + CELL / 2 + 3, y = top - 5;
    picture.append(svg("text", { x, y, transform: `rotate(-48 ${x} ${y})` }, shown(token)));
  });
  rows.forEach((token, row) => {
    const y = top + row * CELL;
    picture.append(svg("text", { x: left - 6, y: y + CELL * 0.67, "text-anchor": "end" }, shown(token)));
    columns.forEach((_, column) => {
      const x = left + column * CELL, value = values[row][column];
      const kind = value < 0 ? "--negative" : "--positive";
      const cell = svg("rect", { x, y, width: CELL, height: CELL, class: "cell", "data-row": row, "data-column": column });
      cell.style.fill = `rgba(var(${kind}), ${(Math.abs(value) / most).toFixed(3)})`;
      picture.append(svg("rect", { x, y, width: CELL, height: CELL, class: "base" }), cell);
    });
  });
  const cursor = svg("rect", { width: CELL, height: CELL, class: "cursor", visibility: "hidden" });
  picture.append(cursor);
  const readout = make("p", { class: "readout", role: "status" }, "–");
  let at = [0, 0];
  const tell = (row, column) => {
    at = [row, column];
    cursor.setAttribute("x", left + column * CELL);
    cursor.setAttribute("y", top + row * CELL);
    cursor.setAttribute("visibility", "visible");
    readout.textContent = `${rows[row]} → ${columns[column]}: ${number(values[row][column], 4)}`;
  };
  const pointed = (event) => {
    const cell = event.target.closest?.("[data-row]");
    if (cell) tell(Number(cell.dataset.row), Number(cell.dataset.column));
  };
  picture.addEventListener("pointermove", pointed);
  picture.addEventListener("pointerdown", pointed);
  picture.addEventListener("focus", () => tell(...at));
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  picture.addEventListener("keydown", (event) => {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    tell(Math.min(rows.length - 1, Math.max(0, at[0] + move[0])), Math.min(columns.length - 1, Math.max(0, at[1] + move[1])));
  });
  place.append(picture, readout);
}
