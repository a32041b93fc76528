// The Sentence tab: tokens, weights, shares, attention, and the effect of refinement.

import { post } from "./api.js";
import { describe } from "./controls.js";
import { $, bar, count, fold, make, number } from "./dom.js";
import { heatmap } from "./heatmap.js";
import { request } from "./requests.js";
import { change, method, state } from "./state.js";
import { labels, words } from "./tokens.js";

const KINDS = {
  attention: ["Attention", "How much each token (row) attends to every other token; each row adds up to 1."],
  weighted_attention: ["Weighted attention", "Attention multiplied by the weight of the row’s token."],
  pairs: ["Shares by pair", "What each token (row) contributes to the vector through every other token; all values add up to 1."],
};
const SHOWN = 30;
let last = null;

export const refresh = request("sentence-problem", ["text"], ["sentence-results"], async (signal) => {
  const empty = !state.text.trim();
  $("sentence-empty").hidden = !empty;
  if (empty) { $("sentence-results").hidden = true; describe("sentence", {}); return; }
  const answer = await post("explain", { text: state.text, ...method() }, signal);
  $("sentence-results").hidden = false;
  last = answer;
  show();
});

function show() {
  const found = words(last), parted = found.filter(({ start, end }) => end - start > 1);
  $("summary").textContent = `${count(last.tokens.length, "token")}, ${last.known.filter(Boolean).length} known${parted.length ? `; ${count(parted.length, "word")} built from pieces` : ""}.`;
  $("pieces-hint").hidden = !parted.length;
  describe("sentence", last);
  showTokens(found);
  showHeat();
  $("steps-panel").hidden = !last.steps.length;
  $("steps").replaceChildren(...last.steps.map((step) => make("li", {}, ...stepped(step))));
}

// The name of a refinement, its effect, and its parameters.
function stepped({ name, share_removed: removed }) {
  const [, kind, parameters] = name.match(/^(\w+)\((.*)\)$/) ?? [null, name, ""];
  const effect = removed === null ? "" : ` removed ${(100 * removed).toFixed(2)} % of the squared length`;
  return [`${kind}${effect} `, make("span", { class: "hint" }, parameters.replaceAll("'", "").replaceAll("=", " = "))];
}

function showTokens(found) {
  const remainders = Object.entries(last.remainders), names = labels(last);
  const shares = [...last.shares, ...remainders.map(([, share]) => share)];
  const heaviest = Math.max(0, ...last.weights), largest = Math.max(0, ...shares.map(Math.abs)), signed = shares.some((share) => share < 0);
  const cell = (value, most, both) => make("td", { class: "number" }, bar(value, most, both), number(value));
  const row = (name, attributes, ...cells) => make("tr", attributes, make("th", { scope: "row", dir: "auto" }, name), ...cells);
  const token = (at, attributes) => row(names[at], attributes, cell(last.weights[at], heaviest), cell(last.shares[at], largest, signed),
    make("td", { class: "number" }, number(last.cosines[at])));
  const rows = found.flatMap(({ text, start, end }) => {
    if (end - start === 1) return [token(start, last.known[start] ? {} : { class: "unknown", title: "not in the vocabulary" })];
    const sum = last.shares.slice(start, end).reduce((a, b) => a + b, 0);
    const pieces = Array.from({ length: end - start }, (_, at) => token(start + at, { class: "piece", title: `part of ${text}` }));
    return [row(text, { class: "parted", title: "built from known pieces" }, make("td"), cell(sum, largest, signed), make("td")), ...pieces];
  });
  fold($("tokens").tBodies[0], [...rows, ...remainders.map(([name, share]) => row(name, {}, make("td"), cell(share, largest, signed), make("td")))], SHOWN, "rows");
}

function showHeat() {
  const possible = Object.keys(KINDS).filter((kind) => last[kind]);
  const chosen = possible.includes(state.heat) ? state.heat : "pairs";
  $("heat-kind").replaceChildren(...possible.map((kind) => {
    const input = make("input", { type: "radio", name: "heat", value: kind });
    input.checked = kind === chosen;
    input.addEventListener("change", () => { change({ heat: kind }); showHeat(); document.querySelector(`[name=heat][value=${kind}]`).focus(); });
    return make("label", {}, input, KINDS[kind][0]);
  }));
  $("heat-hint").textContent = KINDS[chosen][1];
  heatmap($("heat"), { rows: last, columns: last, values: last[chosen], label: KINDS[chosen][1] });
}
