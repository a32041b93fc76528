// A text, or a pair of texts: the probability of each label, and which words and n-grams decided.

import { post } from "./api.js";
import { $, bar, make, number } from "./dom.js";
import { request } from "./requests.js";
import { change, note, state } from "./state.js";

const SHOWN_REASONS = 30, SHOWN_LABELS = 20;
let pairs = false;

// What is served: null for no classifier, and then there is no such tab.
export function serve(classifier) {
  pairs = classifier?.pairs ?? false;
  $("tab-classify").hidden = !classifier;
  $("other-field").hidden = !pairs;
  if (!classifier) return;
  $("classifier").textContent = `${classifier.name}: ${classifier.count} labels${classifier.exclusive ? "" : ", of which a text may have several"}.`;
  if (classifier.count === classifier.labels.length && !classifier.labels.includes(state.label)) state.label = ""; // from another's link
}

export const refresh = request("classify-problem", ["classified", "other"], async (signal) => {
  note("classify", "");
  if (!state.classified || (pairs && !state.other)) { empty(); return; }
  const inputs = pairs ? [state.classified, state.other] : state.classified;
  const found = await post("predict/explain", state.label ? { inputs, label: state.label } : { inputs }, signal);
  showLabels(found);
  showWords(found);
  showReasons(found);
});

function showLabels({ label, predictions }) {
  const focused = document.activeElement?.dataset?.label;
  $("labels").replaceChildren(...predictions.slice(0, SHOWN_LABELS).map((one) => {
    const button = make("button", { type: "button", class: "pick", "aria-pressed": String(one.label === label), "data-label": one.label },
      make("b", {}, `${(100 * one.score).toFixed(1)} %`), bar(one.score, 1), make("span", {}, one.label));
    button.addEventListener("click", () => { change({ label: one.label }); refresh(); });
    return make("li", {}, button);
  }));
  [...$("labels").querySelectorAll("button")].find((button) => button.dataset.label === focused)?.focus();
}

function showWords({ texts }) {
  const most = Math.max(1e-12, ...texts.flatMap(({ shares }) => shares.map(Math.abs)));
  $("decided").replaceChildren(...texts.map(({ tokens, shares }) => make("p", {}, ...tokens.flatMap((token, at) => {
    const word = make("span", { class: "word", title: number(shares[at]) }, token);
    word.style.background = `rgba(var(${shares[at] < 0 ? "--negative" : "--positive"}), ${(0.75 * Math.abs(shares[at]) / most).toFixed(3)})`;
    return [word, " "];
  }))));
}

function showReasons({ label, logit, reasons }) {
  const most = Math.max(1e-12, ...reasons.map(({ share }) => Math.abs(share)));
  const rest = reasons.slice(SHOWN_REASONS).reduce((sum, { share }) => sum + share, 0);
  const row = (name, share, attributes = {}) => make("tr", attributes, make("th", { scope: "row" }, name),
    make("td", { class: "number" }, bar(share, most, true), number(share, 4)));
  $("reasons-title").textContent = `What speaks for “${label}”, and what against`;
  $("reasons").tBodies[0].replaceChildren(...reasons.slice(0, SHOWN_REASONS).map(({ name, share }) => row(name, share)),
    ...(reasons.length > SHOWN_REASONS ? [row(`${reasons.length - SHOWN_REASONS} others`, rest)] : []));
  $("logit").textContent = number(logit, 4);
}

function empty() {
  for (const place of ["labels", "decided"]) $(place).replaceChildren();
  $("reasons").tBodies[0].replaceChildren();
  $("logit").textContent = "–";
}
