// The form with model, method and parameters.

import { get, key, setKey } from "./api.js";
import { $, later, make, whole } from "./dom.js";
import { request } from "./requests.js";
import { change, model, serve, state } from "./state.js";

const OWN_FIELDS = ["a", "k", "parts"]; // parameters with a dedicated input; all other numbers get a generic one
const HINTS = new Map(Object.entries({
  noppa: "Words attend to each other, frequent words get less weight, and k noisy directions are removed.",
  average: "The plain mean of the word vectors; ignores word order and frequency.",
  tfidf: "A weighted mean; words that occur in many lines get less weight.",
  sif: "A weighted mean; frequent words get less weight, and the direction shared by all texts is removed.",
  usif: "Like SIF, with weights derived from the length of sentences.",
  dct: "The first k cosine components over the words, which keep some word order.",
  vlawe: "Distances of the words from the nearest of k codewords.",
  s3e: "How k clusters of words vary together.",
  gem: "Weights words by how much they add to their neighbours and how rare their direction is.",
}));
const K_HINTS = new Map([["vlawe", "clusters of words"], ["s3e", "clusters of words"], ["dct", "coefficients"], ["gem", "candidate directions"]]);

let known = { models: [], methods: [], parts: [] };
let changed = () => null;

// Returns what the server offers.
export const load = request("problem", ["key"], [], async () => {
  known = await get("methods");
  $("model-field").hidden = known.models.length < 2;
  $("name").replaceChildren(make("option", { value: "" }, "as served"), ...known.methods.map(({ name }) => make("option", { value: name }, name)));
  serve(known.models);
  show();
  return known;
});

export function start(refresh) {
  changed = later(refresh);
  $("model").addEventListener("change", () => { change({ model: $("model").value }, true); show(); refresh(); });
  $("name").addEventListener("change", () => { change({ name: $("name").value, a: "", k: "", parts: "", numbers: "" }, true); show(); refresh(); });
  $("a").addEventListener("input", () => { if ($("a").checkValidity() && $("a").value) { change({ a: $("a").value }); slide(); changed(); } });
  $("a-slide").addEventListener("input", () => { $("a").value = (10 ** Number($("a-slide").value)).toPrecision(2).replace(/\.?0+$/, ""); change({ a: String(Number($("a").value)) }); $("a").value = state.a; changed(); });
  $("k").addEventListener("input", () => { if ($("k").checkValidity() && $("k").value) { change({ k: $("k").value }); changed(); } });
  $("parts").addEventListener("change", (event) => {
    const chosen = [...document.querySelectorAll("[name=part]:checked")].map((box) => box.value);
    if (!chosen.length) { event.target.checked = true; return; } // at least one part is required
    change({ parts: chosen.join(",") });
    refresh();
  });
}

function slide() { $("a-slide").value = String(Math.log10(Number($("a").value))); }

export function show() {
  showModel();
  const method = known.methods.find(({ name }) => name === state.name);
  $("name").value = method ? state.name : "";
  $("method-hint").textContent = method ? HINTS.get(method.name) ?? method.summary : "The method the model was built with, including everything it learned.";
  const has = (field) => method !== undefined && field in method.parameters;
  for (const field of OWN_FIELDS) $(`${field}-field`).hidden = !has(field);
  if (has("a")) { $("a").value = state.a || String(method.parameters.a ?? ""); slide(); }
  if (has("k")) $("k").value = state.k || String(method.parameters.k ?? "");
  $("k-hint").textContent = K_HINTS.get(state.name) ?? "removed directions";
  const numbers = Object.entries(method?.parameters ?? {}).filter(([field, value]) => !OWN_FIELDS.includes(field) && typeof value === "number");
  $("numbers").replaceChildren(...numbers.map(([field, value]) => numberField(field, value)));
  if (has("parts")) {
    const chosen = state.parts ? state.parts.split(",") : method.parameters.parts;
    $("parts").replaceChildren(...known.parts.map((part) => {
      const box = make("input", { type: "checkbox", name: "part", value: part });
      box.checked = chosen.includes(part);
      return make("label", {}, box, part);
    }));
  }
}

// Shows the chosen model; by default, the one that suits the tab, and why.
function showModel() {
  const names = known.models.map(({ name }) => name), chosen = names.includes(state.model) ? state.model : "";
  $("model").replaceChildren(make("option", { value: "" }, `${chosen ? "by tab" : model()} (automatic)`), ...names.map((name) => make("option", { value: name }, name)));
  $("model").value = chosen;
  const apart = model("sentence"), compared = model("pair");
  if (chosen) $("model-hint").textContent = "Used on every tab.";
  else if (apart === compared) $("model-hint").textContent = "Used on every tab.";
  else if (state.tab === "sentence") $("model-hint").textContent = `This model has attention to show. Tabs that compare texts use ${compared}, which is optimized for cosine similarity.`;
  else $("model-hint").textContent = `Optimized for cosine similarity. The Sentence tab uses ${apart}, which has attention to show.`;
}

function numberField(field, value) {
  const chosen = new URLSearchParams(state.numbers);
  const input = make("input", { type: "number", step: "any", value: chosen.get(field) ?? String(value) });
  input.addEventListener("input", () => {
    if (!input.checkValidity() || !input.value) return;
    const numbers = new URLSearchParams(state.numbers);
    numbers.set(field, input.value);
    change({ numbers: numbers.toString() });
    changed();
  });
  return make("label", { class: "field" }, field, input);
}

// Describes the encoder behind an answer, and shows its warning. Ignores late answers for a tab that is no longer shown.
export function describe(tab, { encoder, note, warning }) {
  if (tab !== state.tab) return;
  $("note").textContent = note ?? "";
  $("warning").textContent = warning ?? "";
  $("described").hidden = !encoder;
  if (!encoder) return;
  $("described-name").textContent = `${encoder.method} · ${whole(encoder.dim)} dimension${encoder.dim === 1 ? "" : "s"}`;
  const parameters = Object.entries(encoder.parameters);
  $("parameters").replaceChildren(...parameters.map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, plain(value)))));
  $("parameterless").hidden = parameters.length > 0;
}

const plain = (value) => (value === null ? "none" : Array.isArray(value) ? value.join(", ") : value === true ? "yes" : value === false ? "no" : String(value));

export function startKey(again) {
  $("key").value = key();
  $("key").addEventListener("change", () => { setKey($("key").value.trim()); again(); });
}
