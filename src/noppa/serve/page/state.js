// What the page shows, kept in the address behind #: browsers never send that part to a server.

import { $ } from "./dom.js";

const DEFAULTS = {
  tab: "sentence",
  text: "The girl eats a delicious cake.",
  first: "A dog runs along the river.",
  second: "The dog is running beside the water.",
  query: "",
  classified: "A wonderful film, and not too long.", other: "", label: "",
  model: "", name: "", a: "", k: "", parts: "", numbers: "",
  heat: "attention", clusters: "6", threshold: "0.95",
};

export const state = { ...DEFAULTS };
const listeners = [];

export function read() {
  const stored = new URLSearchParams(location.hash.slice(1));
  for (const field of Object.keys(DEFAULTS)) state[field] = stored.get(field) ?? DEFAULTS[field];
}

export function change(values) {
  Object.assign(state, values);
  const changed = new URLSearchParams();
  for (const [field, value] of Object.entries(state)) if (value !== DEFAULTS[field]) changed.set(field, value);
  const hash = changed.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  for (const listener of listeners) listener(values);
}

export function onChange(listener) { listeners.push(listener); }

let served = [];

export function serve(models) { served = models; }

// The chosen model; else, for one sentence, the first that has attention to show; else the first.
export function model() {
  const chosen = served.find(({ name }) => name === state.model);
  const attends = state.tab === "sentence" && served.find(({ attention }) => attention);
  return (chosen || attends || served[0])?.name;
}

// What the method was fitted on. Ignored for a tab that is no longer shown: its answer came late.
export function note(tab, text) {
  if (tab === state.tab) $("note").textContent = text ?? "";
}

// The fields `model` and `method` of a request; no `method` where the encoder is used as it is served.
export function method() {
  const fields = {};
  if (model()) fields.model = model();
  if (state.name) {
    fields.method = { name: state.name };
    if (state.a !== "") fields.method.a = Number(state.a);
    if (state.k !== "") fields.method.k = Number(state.k);
    if (state.parts) fields.method.parts = state.parts.split(",");
    for (const [field, value] of new URLSearchParams(state.numbers)) fields.method[field] = Number(value);
  }
  return fields;
}
