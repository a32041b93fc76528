// The Classify tab: the probability of each label, and the words and n-grams behind it.

import { post } from "./api.js";
import { describe } from "./controls.js";
import { $, bar, fold, make, number, quoted } from "./dom.js";
import { request } from "./requests.js";
import { BEHIND, shade } from "./shades.js";
import { change, state } from "./state.js";

const SHOWN_REASONS = 12, SHOWN_LABELS = 10, MOST_LABELS = 200;
let pairs = false;

// Shows the tab if the server has a classifier.
export function serve(classifier) {
  pairs = classifier?.pairs ?? false;
  $("tab-classify").hidden = !classifier;
  $("other-field").hidden = !pairs;
  if (!classifier) return;
  $("classifier").textContent = `${classifier.name}: ${classifier.count} labels${classifier.exclusive ? "" : " (a text may have several)"}.`;
  if (classifier.count === classifier.labels.length && !classifier.labels.includes(state.label)) state.label = ""; // the link came from another server
}

export const refresh = request("classify-problem", ["classified", "other"], ["classify-results"], async (signal) => {
  const empty = !state.classified.trim() || (pairs && !state.other.trim());
  $("classify-empty").hidden = !empty;
  if (empty) { $("classify-results").hidden = true; describe("classify", {}); return; }
  const inputs = pairs ? [state.classified, state.other] : state.classified;
  const found = await post("predict/explain", state.label ? { inputs, label: state.label } : { inputs }, signal);
  $("classify-results").hidden = false;
  describe("classify", found);
  showLabels(found);
  showWords(found);
  showReasons(found);
});

function showLabels({ label, predictions }) {
  const focused = document.activeElement?.dataset?.label;
  fold($("labels"), predictions.slice(0, MOST_LABELS).map((one) => {
    const button = make("button", { type: "button", class: "pick", "aria-pressed": String(one.label === label), "data-label": one.label },
      make("b", {}, `${(100 * one.score).toFixed(1)} %`), bar(one.score, 1), quoted(one.label));
    button.addEventListener("click", () => { change({ label: one.label }); refresh(); });
    return make("li", {}, button);
  }), SHOWN_LABELS, "labels");
  [...$("labels").querySelectorAll("button")].find((button) => button.dataset.label === focused)?.focus();
}

function showWords({ texts }) {
  const most = Math.max(1e-12, ...texts.flatMap(({ shares }) => shares.map(Math.abs)));
  $("decided").replaceChildren(...texts.map(({ tokens, shares }) => make("p", { dir: "auto" }, ...tokens.flatMap((token, at) => {
    const word = make("span", { class: "word", title: number(shares[at]) }, token);
    shade(word, BEHIND * shares[at], most, "backgroundColor");
    return [word, " "];
  }))));
}

function showReasons({ label, logit, reasons }) {
  const most = Math.max(1e-12, ...reasons.map(({ share }) => Math.abs(share)));
  const signed = reasons.some(({ share }) => share < 0);
  const row = (name, share) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, name),
    make("td", { class: "number" }, bar(share, most, signed), number(share, 4)));
  $("reasons-title").textContent = `Evidence for and against “${label}”`;
  fold($("reasons").tBodies[0], reasons.map(({ name, share }) => row(name, share)), SHOWN_REASONS, "reasons");
  $("logit").textContent = number(logit, 4);
}
