// What the page shows, kept in the address behind #: browsers never send that part to a server.

const DEFAULTS = {
  tab: "sentence",
  text: "The girl eats a delicious cake.",
  first: "A dog runs along the river.",
  second: "The dog is running beside the water.",
  query: "",
  classified: "A wonderful film, and not too long.", other: "", label: "",
  asked: "", mode: "hybrid", where: "",
  model: "", name: "", a: "", k: "", parts: "", numbers: "",
  heat: "attention", clusters: "6", threshold: "0.95", layout: "pca",
};
const WAIT = 300; // the address follows what is typed when typing has paused

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

// Writes into the address what waits to be written.
export function settle() {
  clearTimeout(timer);
  if (address() !== location.hash.slice(1)) history.replaceState(null, "", entered());
}

// A `step` is one that Back undoes: another tab, model or method.
export function change(values, step = false) {
  if (step) settle();
  Object.assign(state, values);
  if (step && address() !== location.hash.slice(1)) history.pushState(null, "", entered());
  clearTimeout(timer);
  if (!step) timer = setTimeout(settle, WAIT);
}

let served = [];

export function serve(models) { served = models; }

// The model of a tab where none was chosen: for one sentence the first that has attention to show; else the first.
export function model(tab = state.tab) {
  const chosen = served.find(({ name }) => name === state.model);
  const attends = tab === "sentence" && served.find(({ attention }) => attention);
  return (chosen || attends || served[0])?.name;
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
