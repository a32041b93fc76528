// The page: tabs, theme, address, and what refreshes when.

import * as classify from "./classify.js";
import * as controls from "./controls.js";
import { $, later } from "./dom.js";
import * as lines from "./lines.js";
import * as pair from "./pair.js";
import * as sentence from "./sentence.js";
import { change, read, state } from "./state.js";

const TABS = new Map(Object.entries({ sentence, pair, lines, classify })); // the address may name anything, as "constructor"

const FIELDS = ["text", "first", "second", "classified", "other"];

const refresh = () => TABS.get(state.tab).refresh();

function open(tab, focus = false) {
  for (const name of TABS.keys()) {
    const button = $(`tab-${name}`), chosen = name === tab;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) button.focus();
    if (chosen) button.scrollIntoView({ block: "nearest", inline: "nearest" }); // on a phone not all tabs fit
    $(`panel-${name}`).hidden = !chosen;
  }
  $("method").classList.toggle("key-only", tab === "classify"); // a classifier is used as it was trained
  change({ tab });
  controls.show();
}

function choose(tab, focus = false) {
  open(tab, focus);
  refresh();
}

function theme(next) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || localStorage.getItem("noppa-theme") || (dark ? "dark" : "light");
  const chosen = next ? (now === "dark" ? "light" : "dark") : now;
  if (next) localStorage.setItem("noppa-theme", chosen);
  if (next || localStorage.getItem("noppa-theme")) document.documentElement.dataset.theme = chosen;
  $("theme").setAttribute("aria-pressed", String(chosen === "dark"));
  $("theme").textContent = chosen === "dark" ? "Light" : "Dark";
}

let loaded = false; // until it is, nobody knows whether there is a classifier

function fill() {
  if (!TABS.has(state.tab) || (loaded && $(`tab-${state.tab}`).hidden)) state.tab = "sentence";
  for (const field of FIELDS) $(field).value = state[field];
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
$("theme").addEventListener("click", () => theme(true));
$("link").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    $("link").textContent = "Copied";
  } catch {
    prompt("The link to this state:", location.href);
  }
  setTimeout(() => { $("link").textContent = "Copy link"; }, 1500);
});
$("method").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", () => { read(); fill(); controls.show(); choose(state.tab); });

async function begin() {
  open(state.tab);
  const served = await controls.load();
  if (!served) return;
  classify.serve(served.classifier);
  loaded = true;
  fill();
  choose(state.tab);
}

theme(false);
read();
fill();
lines.start();
controls.start(refresh);
controls.startKey(begin);
begin();
