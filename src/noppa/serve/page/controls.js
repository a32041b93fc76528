// Model, method and parameters: what the server offers, and what was chosen.

import { get, key, setKey } from "./api.js";
import { $, later, make } from "./dom.js";
import { request } from "./requests.js";
import { change, model, serve, state } from "./state.js";

const OWN_FIELDS = ["a", "k", "parts"]; // these have an input of their own; every other number gets a plain one

let known = { models: [], methods: [], parts: [] };
let changed = () => null;

// Returns what is served, once it is known.
export const load = request("problem", ["key"], async () => {
  known = await get("methods");
  const several = known.models.length > 1;
  $("model-field").hidden = !several;
  $("model").replaceChildren(...known.models.map(({ name }) => make("option", { value: name }, name)));
  serve(known.models);
  $("name").replaceChildren(make("option", { value: "" }, `as served`), ...known.methods.map(({ name }) => make("option", { value: name }, name)));
  show();
  return known;
});

export function start(refresh) {
  changed = later(refresh);
  $("model").addEventListener("change", () => { change({ model: $("model").value }); refresh(); });
  $("name").addEventListener("change", () => { change({ name: $("name").value, a: "", k: "", parts: "", numbers: "" }); show(); refresh(); });
  $("a").addEventListener("input", () => { if ($("a").checkValidity() && $("a").value) { change({ a: $("a").value }); slide(); changed(); } });
  $("a-slide").addEventListener("input", () => { $("a").value = (10 ** Number($("a-slide").value)).toPrecision(2).replace(/\.?0+$/, ""); change({ a: String(Number($("a").value)) }); $("a").value = state.a; changed(); });
  $("k").addEventListener("input", () => { if ($("k").checkValidity() && $("k").value) { change({ k: $("k").value }); changed(); } });
  $("parts").addEventListener("change", (event) => {
    const chosen = [...document.querySelectorAll("[name=part]:checked")].map((box) => box.value);
    if (!chosen.length) { event.target.checked = true; return; } // a vector needs at least one part
    change({ parts: chosen.join(",") });
    refresh();
  });
}

function slide() { $("a-slide").value = String(Math.log10(Number($("a").value))); }

export function show() {
  $("model").value = model() ?? "";
  const method = known.methods.find(({ name }) => name === state.name);
  $("name").value = method ? state.name : "";
  const has = (field) => method !== undefined && field in method.parameters;
  for (const field of OWN_FIELDS) $(`${field}-field`).hidden = !has(field);
  if (has("a")) { $("a").value = state.a || String(method.parameters.a ?? ""); slide(); }
  if (has("k")) $("k").value = state.k || String(method.parameters.k ?? "");
  $("k-hint").textContent = ["vlawe", "s3e"].includes(state.name) ? "clusters of words" : state.name === "dct" ? "coefficients" : "directions taken out";
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

export function startKey(again) {
  $("key").value = key();
  $("key").addEventListener("change", () => { setKey($("key").value.trim()); again(); });
}
