// The Pair tab: the similarity of two sentences, and the words behind it.

import { post } from "./api.js";
import { describe } from "./controls.js";
import { $, make, number } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { request } from "./requests.js";
import { method, state } from "./state.js";
import { labels } from "./tokens.js";

const LISTED = 10;

export const refresh = request("pair-problem", ["first", "second"], ["pair-results"], async (signal) => {
  const empty = !state.first.trim() || !state.second.trim();
  $("pair-empty").hidden = !empty;
  if (empty) { $("pair-results").hidden = true; describe("pair", {}); return; }
  const pair = await post("similarity", { a: state.first, b: state.second, explain: true, ...method() }, signal);
  $("pair-results").hidden = false;
  $("similarity").textContent = number(pair.similarity);
  $("gauge").setAttribute("aria-valuenow", pair.similarity.toFixed(3));
  $("gauge").firstElementChild.style.width = `${100 * Math.max(0, pair.similarity)}%`;
  describe("pair", pair);
  heatmap($("align"), { rows: pair.a, columns: pair.b, values: pair.pairs, label: "Contribution of each pair of words to the similarity." });
  const a = labels(pair.a), b = labels(pair.b);
  const pairs = pair.pairs.flatMap((row, i) => row.map((value, j) => [value, a[i], b[j]]));
  pairs.sort((x, y) => Math.abs(y[0]) - Math.abs(x[0]));
  const rest = Object.entries(pair.remainders).map(([name, value]) => [value, name, ""]).filter(([value]) => Math.abs(value) >= 0.0005);
  $("strongest").replaceChildren(...[...pairs.slice(0, LISTED), ...rest].map(([value, a, b]) => make("li", {},
    make("b", value < 0 ? { class: "minus-text" } : {}, number(value)),
    make("span", {}, make("bdi", {}, a), ...(b ? [" – ", make("bdi", {}, b)] : [])))));
});
