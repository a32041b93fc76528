// Two sentences: how similar, and which words make them so.

import { post } from "./api.js";
import { $, make, number } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { request } from "./requests.js";
import { method, note, state } from "./state.js";

const LISTED = 10;

export const refresh = request("pair-problem", ["first", "second"], async (signal) => {
  if (!state.first || !state.second) { empty(); return; }
  const pair = await post("similarity", { a: state.first, b: state.second, explain: true, ...method() }, signal);
  $("similarity").textContent = number(pair.similarity);
  $("gauge").value = Math.max(0, pair.similarity);
  note("pair", pair.note);
  heatmap($("align"), pair.a.tokens, pair.b.tokens, pair.pairs, "What pairs of words give to the similarity");
  const pairs = pair.pairs.flatMap((row, i) => row.map((value, j) => [value, pair.a.tokens[i], pair.b.tokens[j]]));
  pairs.sort((x, y) => Math.abs(y[0]) - Math.abs(x[0]));
  const rest = Object.entries(pair.remainders).map(([name, value]) => [value, name, ""]).filter(([value]) => Math.abs(value) >= 0.0005);
  $("strongest").replaceChildren(...[...pairs.slice(0, LISTED), ...rest].map(([value, a, b]) => make("li", {},
    make("b", value < 0 ? { class: "minus-text" } : {}, number(value)), make("span", {}, b ? `${a} – ${b}` : a))));
});

function empty() {
  $("similarity").textContent = "–";
  $("gauge").value = 0;
  $("align").replaceChildren();
  $("strongest").replaceChildren();
}
