// The state of the page, kept in the fragment of the address, which browsers never send to a server.

const DEFAULTS = {
  tab: "sentence",
  text: "The girl eats a delicious cake.",
  first: "A dog runs along the river.",
  second: "The dog is running beside the water.",
  query: "",
  classified: "A wonderful film, and not too long.", other: "", label: "",
  asked: "", mode: "hybrid", where: "",
  model: "", name: "", a: "", k: "", parts: "", numbers: "",
  heat: "attention", clusters: "6", threshold: "0.95",
};
const WAIT = 300; // the address is updated when typing pauses

export const state = { ...DEFAULTS };
let timer = 0;

export function read() {
  clearTimeout(timer);
  const stored = new URLSearchParams(location.hash.slice(1));
  for (const field of Object.keys(DEFAULTS)) state[field] = stored.get(field) ?? DEFAULTS[field];
}

function address() {
  const changed = new URLSearchParams();
  for (const [field, value] of Object.entries(state)) if (value !== DEFAULTS[field]) changed.set(field, value);
  return changed.toString();
}

const entered = () => location.pathname + location.search + (address() && `#${address()}`);

// Updates the address now.
export function settle() {
  clearTimeout(timer);
  if (address() !== location.hash.slice(1)) history.replaceState(null, "", entered());
}

// A `step` (a change of tab, model or method) can be undone with Back.
export function change(values, step = false) {
  if (step) settle();
  Object.assign(state, values);
  if (step && address() !== location.hash.slice(1)) history.pushState(null, "", entered());
  clearTimeout(timer);
  if (!step) timer = setTimeout(settle, WAIT);
}

let served = [];

export function serve(models) { served = models; }

// The model of a tab: the chosen one; by default the first, or, for the Sentence tab, the first with attention.
export function model(tab = state.tab) {
  const chosen = served.find(({ name }) => name === state.model);
  const attends = tab === "sentence" && served.find(({ attention }) => attention);
  return (chosen || attends || served[0])?.name;
}

// The fields `model` and `method` of a request; `method` only if the user chose one.
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
