// A long text instead of a heat map: choosing a word colours the others by their value with it.

import { make, number } from "./dom.js";
import { BEHIND, readout, shade } from "./shades.js";
import { labels } from "./tokens.js";

const LISTED = 6;
let texts = 0; // makes the ids of words unique

export function reading(place, { rows, columns, values, label }, most) {
  const same = rows === columns, one = `reading-${texts++}`;
  const names = { rows: labels(rows), columns: labels(columns) };
  const chooser = make("p", { class: "reading", dir: "auto", role: "listbox", tabindex: "0", "aria-label": `${label} Choose a word.` });
  const choices = spans(rows, names.rows, (at) => ({ role: "option", id: `${one}-${at}`, "aria-selected": "false" }));
  chooser.append(...spaced(rows, choices));
  const other = same ? choices : spans(columns, names.columns, () => ({}));
  const shown = readout(), strongest = make("ol", { class: "ranked" });
  let chosen = 0;
  const choose = (at) => {
    choices[chosen].setAttribute("aria-selected", "false");
    choices[chosen = at].setAttribute("aria-selected", "true");
    chooser.setAttribute("aria-activedescendant", choices[at].id);
    other.forEach((word, column) => shade(word, BEHIND * Math.max(-most, Math.min(most, values[at][column])), most, "backgroundColor"));
    const order = values[at].map((value, column) => [value, column]).filter(([, column]) => !(same && column === at)).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, LISTED);
    if (order.length) shown.show(names.rows[at], names.columns[order[0][1]], order[0][0]);
    strongest.replaceChildren(...order.map(([value, column]) => make("li", {}, make("b", {}, number(value, 4)), make("bdi", {}, names.columns[column]))));
  };
  chooser.addEventListener("click", (event) => { const at = choices.indexOf(event.target.closest("[role=option]")); if (at >= 0) choose(at); });
  const moves = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1, Home: -Infinity, End: Infinity };
  chooser.addEventListener("keydown", (event) => {
    if (!(event.key in moves)) return;
    event.preventDefault();
    const step = getComputedStyle(chooser).direction === "rtl" && event.key.match(/Left|Right/) ? -moves[event.key] : moves[event.key];
    choose(Math.min(choices.length - 1, Math.max(0, chosen + step)));
  });
  place.append(make("p", { class: "hint" }, `This text is too long for a table. Click a word, or use the arrow keys, to colour ${same ? "the other words" : "the words of the second text"} by their value with it.`), chooser);
  if (!same) place.append(make("p", { class: "reading", dir: "auto" }, ...spaced(columns, other)));
  place.append(shown.node, strongest);
  choose(liveliest(values, same, rows));
}

const spans = ({ sources }, names, attributes) => names.map((name, at) => {
  const piece = sources[at] === sources[at - 1] || sources[at] === sources[at + 1];
  return make("span", { class: piece ? "word piece" : "word", ...attributes(at) }, name.replaceAll("‧", ""));
});

// Spaces between words, but not between the pieces of a word.
const spaced = ({ sources }, nodes) => nodes.flatMap((node, at) => (at && sources[at] !== sources[at - 1] ? [" ", node] : [node]));

// The whole word with the largest value, ignoring values of words with themselves.
function liveliest(values, same, { tokens, sources }) {
  const whole = (at) => /\p{L}/u.test(tokens[at]) && sources[at] !== sources[at - 1] && sources[at] !== sources[at + 1];
  let best = 0, most = -1;
  values.forEach((row, at) => row.forEach((value, column) => {
    if (!(same && at === column) && Math.abs(value) > most && whole(at)) { most = Math.abs(value); best = at; }
  }));
  return best;
}
