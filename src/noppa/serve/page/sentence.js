// One sentence: tokens, weights, shares, attention, and what refinement did.

import { post } from "./api.js";
import { $, bar, make, number } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { request } from "./requests.js";
import { change, method, note, state } from "./state.js";

const KINDS = {
  attention: ["Attention", "How much each token (row) attends to each other one; rows add up to 1"],
  weighted_attention: ["Weighted attention", "Attention times the weight of the row’s token"],
  pairs: ["Shares by pair", "What a token (row) gives to the vector by way of another; all add up to 1"],
};
let last = null;

export const refresh = request("sentence-problem", ["text"], async (signal) => {
  last = await post("explain", { text: state.text, ...method() }, signal);
  show();
});

function show() {
  const known = last.known.filter(Boolean).length;
  const tokens = last.tokens.length;
  $("summary").textContent = `${tokens} token${tokens === 1 ? "" : "s"}, ${known} known; a vector of ${last.dim} dimensions.`;
  $("described").textContent = last.method;
  note("sentence", last.note);
  const heaviest = Math.max(0, ...last.weights), largest = Math.max(0, ...last.shares.map(Math.abs));
  $("tokens").tBodies[0].replaceChildren(...last.tokens.map((token, at) => {
    const row = make("tr", last.known[at] ? {} : { class: "unknown", title: "not in the vocabulary" });
    const cell = (value, most, both) => make("td", { class: "number" }, bar(value, most, both), number(value));
    row.append(make("th", { scope: "row" }, token));
    row.append(cell(last.weights[at], heaviest, false), cell(last.shares[at], largest, true));
    row.append(make("td", { class: "number" }, number(last.cosines[at])));
    return row;
  }), ...Object.entries(last.remainders).map(([name, share]) => make("tr", {},
    make("th", { scope: "row" }, name), make("td"), make("td", { class: "number" }, bar(share, largest, true), number(share)), make("td"))));
  showHeat();
  $("steps-panel").hidden = !last.steps.length;
  $("steps").replaceChildren(...last.steps.map((step) => make("li", {}, step.name +
    (step.share_removed === null ? "" : `: took away ${(100 * step.share_removed).toFixed(2)} % of the squared length`))));
}

function showHeat() {
  const possible = Object.keys(KINDS).filter((kind) => last[kind]);
  const chosen = possible.includes(state.heat) ? state.heat : "pairs";
  $("heat-kind").replaceChildren(...possible.map((kind) => {
    const input = make("input", { type: "radio", name: "heat", value: kind });
    input.checked = kind === chosen;
    input.addEventListener("change", () => { change({ heat: kind }); showHeat(); document.querySelector(`[name=heat][value=${kind}]`).focus(); });
    return make("label", { title: KINDS[kind][1] }, input, KINDS[kind][0]);
  }));
  heatmap($("heat"), last.tokens, last.tokens, last[chosen], KINDS[chosen][1]);
}
