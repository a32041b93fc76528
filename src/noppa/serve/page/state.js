// What the page shows, in the address behind #: that part never travels to a server.

import { $ } from "./dom.js";

const DEFAULTS = {
  tab: "sentence",
  text: "The girl eats a delicious cake.",
  first: "A dog runs along the river.",
  second: "The dog is running beside the water.",
  query: "",
  model: "", name: "", a: "", k: "", parts: "",
  heat: "attention", clusters: "6", threshold: "0.95",
};

export const state = { ...DEFAULTS };
const listeners = [];

export function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const field of Object.keys(DEFAULTS)) state[field] = given.get(field) ?? DEFAULTS[field];
}

export function change(values) {
  Object.assign(state, values);
  const said = new URLSearchParams();
  for (const [field, value] of Object.entries(state)) if (value !== DEFAULTS[field]) said.set(field, value);
  const hash = said.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
  for (const listener of listeners) listener(values);
}

export function onChange(listener) { listeners.push(listener); }

let served = [];

export function serve(models) { served = models; }

// The model: the chosen one; else for one sentence the first that has attention to show, and else the first.
export function model() {
  const chosen = served.find(({ name }) => name === state.model);
  const attends = state.tab === "sentence" && served.find(({ attention }) => attention);
  return (chosen || attends || served[0])?.name;
}

// On what the method was fitted: of the tab that is shown, an answer for another one may come late.
export function note(tab, text) {
  if (tab === state.tab) $("note").textContent = text ?? "";
}

// What the server is told about model and method; nothing where the encoder is taken as it is served.
export function method() {
  const said = {};
  if (model()) said.model = model();
  if (state.name) {
    said.method = { name: state.name };
    if (state.a !== "") said.method.a = Number(state.a);
    if (state.k !== "") said.method.k = Number(state.k);
    if (state.parts) said.method.parts = state.parts.split(",");
  }
  return said;
}
