// Numbers as colours, their legend, and the line that shows one value.

import { make, number } from "./dom.js";

// Maximum opacity behind a word that keeps it readable in both themes.
export const BEHIND = 0.5;

export function shade(node, value, most, property = "fill") {
  node.style[property] = `rgba(var(${value < 0 ? "--negative" : "--positive"}), ${Math.min(1, Math.abs(value) / most).toFixed(3)})`;
}

// The line below a table that shows the value of a cell.
export function readout() {
  const node = make("p", { class: "readout", role: "status" }, "–");
  const show = (row, column, value) => node.replaceChildren(make("bdi", {}, row), " → ", make("bdi", {}, column), `: ${number(value, 4)}`);
  return { node, show };
}

// The colour scale, from 0, or from -most if there are negative values.
export function legend(values, most, opacity = 1) {
  const signed = values.flat().some((value) => value < 0), scale = make("span", { class: "scale", "aria-hidden": "true" });
  scale.style.background = `linear-gradient(to right, ${signed ? `rgba(var(--negative), ${opacity}), ` : ""}transparent, rgba(var(--positive), ${opacity}))`;
  const ends = signed ? [-most, 0, most] : [0, most];
  return make("div", { class: "legend" }, scale, make("span", { class: "ends" }, ...ends.map((end) => make("span", {}, end ? number(end, 2) : "0"))));
}
