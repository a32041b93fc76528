// The page: its tabs, its address, and when views refresh.

import * as classify from "./classify.js";
import * as controls from "./controls.js";
import { $, later } from "./dom.js";
import * as lines from "./lines.js";
import * as overview from "./overview.js";
import * as pair from "./pair.js";
import * as search from "./search.js";
import * as sentence from "./sentence.js";
import { change, read, settle, state } from "./state.js";
import * as theme from "./theme.js";

const TABS = new Map(Object.entries({ sentence, pair, lines, search, classify })); // a Map, since the address may name any property, such as "constructor"
const FIELDS = ["text", "first", "second", "classified", "other"];
const OWN_MODEL = ["search", "classify"]; // tabs whose model cannot be switched

const refresh = () => TABS.get(state.tab).refresh();

function show() {
  for (const name of TABS.keys()) {
    const button = $(`tab-${name}`), chosen = name === state.tab;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    $(`panel-${name}`).hidden = !chosen;
  }
  $("method").classList.toggle("key-only", OWN_MODEL.includes(state.tab));
  controls.show();
}

function choose(tab, focus = false) {
  change({ tab }, true);
  show();
  if (focus) $(`tab-${tab}`).focus();
  refresh();
}

let loaded = false; // whether it is known which tabs the server offers

function fill() {
  if (!TABS.has(state.tab) || (loaded && $(`tab-${state.tab}`).hidden)) state.tab = "sentence";
  for (const field of FIELDS) $(field).value = state[field];
  overview.fillIn();
  search.fillIn();
}

for (const field of FIELDS) {
  const changed = later(refresh);
  $(field).addEventListener("input", () => { change({ [field]: $(field).value }); changed(); });
}
for (const name of TABS.keys()) {
  $(`tab-${name}`).addEventListener("click", () => choose(name));
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const names = [...TABS.keys()].filter((one) => !$(`tab-${one}`).hidden), at = names.indexOf(name);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? names.length - 1 : step ? (at + step + names.length) % names.length : -1;
    if (to >= 0) { event.preventDefault(); choose(names[to], true); }
  });
}
// Example buttons fill in fields as if the user had typed.
for (const button of document.querySelectorAll("[data-fill]")) {
  button.addEventListener("click", () => {
    for (const [field, value] of Object.entries(JSON.parse(button.dataset.fill))) {
      $(field).value = value;
      $(field).dispatchEvent(new Event("input"));
      $(field).focus();
    }
  });
}
$("link").addEventListener("click", async () => {
  settle();
  try {
    await navigator.clipboard.writeText(location.href);
    $("link").textContent = "Copied";
  } catch {
    prompt("Link to this view:", location.href);
  }
  setTimeout(() => { $("link").textContent = "Copy link"; }, 1500);
});
$("method").addEventListener("submit", (event) => event.preventDefault());
addEventListener("popstate", () => { read(); fill(); show(); refresh(); });

async function begin() {
  show();
  const served = await controls.load();
  if (!served) return;
  classify.serve(served.classifier);
  search.serve(served.index);
  loaded = true;
  fill();
  show();
  await Promise.all([refresh(), lines.restore()]);
}

theme.start();
read();
lines.start();
search.start();
fill();
controls.start(refresh);
controls.startKey(begin);
begin();
