// Many lines: search, a map, clusters, near-duplicates, vectors to take home.

import { dropLines, keepLines, latest, withLines } from "./api.js";
import { likely, lines as linesOf, table } from "./csv.js";
import { $, later, make, number, told } from "./dom.js";
import { COLOURS, Map } from "./map.js";
import { change, method, state } from "./state.js";

const SHOWN_GROUPS = 50, SHOWN_LINES = 6;
let lines = [], map = null, rows = null;

const json = async (path, body, signal) => (await withLines(path, { ...body, ...method() }, signal)).json();
const line = (at) => lines[at] ?? "";

const search = latest(async (signal) => {
  if (!state.query.trim()) { $("found").replaceChildren(); return null; }
  const { results } = await json("search", { query: state.query, count: 10 }, signal);
  $("found").replaceChildren(...results.map((hit) => make("li", {}, make("b", {}, number(hit.similarity)), make("span", {}, hit.text))));
  map.mark(results[0]?.index ?? -1);
  return results;
});

const chart = latest(async (signal) => {
  const found = await json("lines/map", {}, signal);
  $("note").textContent = found.note ?? "";
  map.show(found.points, map.labels);
  const percent = found.shares.map((share) => `${(100 * share).toFixed(0)} %`).join(" and ");
  $("map-title").textContent = `Map of ${lines.length} lines`;
  $("map-hint").textContent = `Two principal axes (${percent} of the variance), coloured by cluster. Drag, scroll or pinch; with the keyboard: arrows, + and −.`;
  return found;
});

const cluster = latest(async (signal) => {
  const found = await json("lines/clusters", { count: Number(state.clusters) }, signal);
  map.recolour(found.labels);
  $("clusters").replaceChildren(...found.clusters.map((one, at) => {
    const dot = make("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = COLOURS[at % COLOURS.length];
    return make("li", {}, dot, `${one.size} line${one.size === 1 ? "" : "s"}, such as`, make("ul", {}, ...one.central.map((at) => make("li", {}, line(at)))));
  }));
  return found;
});

const duplicates = latest(async (signal) => {
  const { groups } = await json("lines/duplicates", { threshold: Number(state.threshold) }, signal);
  const count = groups.reduce((sum, group) => sum + group.lines.length, 0);
  $("duplicates-state").textContent = groups.length ? `${groups.length} group${groups.length === 1 ? "" : "s"}, ${count} lines` : "None.";
  $("duplicates").replaceChildren(...groups.slice(0, SHOWN_GROUPS).map((group) => {
    const more = group.lines.length - SHOWN_LINES;
    return make("li", {}, `${group.lines.length} lines, at least ${number(group.least, 3)}`, make("ul", {},
      ...group.lines.slice(0, SHOWN_LINES).map((at) => make("li", {}, line(at))), ...(more > 0 ? [make("li", {}, `and ${more} more`)] : [])));
  }));
  return groups;
});

export async function refresh() {
  if (!lines.length) { $("note").textContent = ""; return; }
  await told(() => Promise.all([cluster().then(chart), search(), duplicates()]));
}

async function take(found) {
  await told(async () => {
    if (!found.length) { await forget(); return null; }
    $("lines-state").textContent = `Sending ${found.length} lines…`;
    try {
      await keepLines(found);
    } catch (error) {
      $("lines-state").textContent = "These lines were not taken.";
      throw error;
    }
    lines = found;
    $("with-lines").hidden = false;
    $("lines-state").textContent = `${lines.length} line${lines.length === 1 ? "" : "s"}.`;
    return lines;
  });
  await refresh();
}

async function forget() {
  lines = [];
  $("with-lines").hidden = true;
  $("lines-state").textContent = "No lines yet.";
  await dropLines();
}

async function open(file) {
  const text = await file.text();
  const separator = { csv: ",", tsv: "\t" }[file.name.split(".").pop().toLowerCase()];
  rows = separator ? table(text, separator) : null;
  const several = rows !== null && rows.length > 1;
  $("column-field").hidden = !several;
  if (!several) { $("paste").value = ""; await take(linesOf(text)); return; }
  $("column").replaceChildren(...rows[0].map((name, at) => make("option", { value: at }, name || `column ${at + 1}`)));
  $("column").value = String(likely(rows));
  await takeColumn();
}

async function takeColumn() {
  const column = Number($("column").value);
  $("paste").value = "";
  await take(rows.slice(1).map((row) => row[column] ?? "").filter((text) => text.trim() !== ""));
}

async function download(format) {
  await told(async () => {
    const answer = await withLines("lines/vectors", { format, ...method() });
    const address = URL.createObjectURL(await answer.blob());
    make("a", { href: address, download: `vectors.${format}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
    return answer;
  });
}

export function start() {
  map = new Map($("map"), (at) => { $("map-point").textContent = at < 0 ? "–" : line(at); });
  $("query").value = state.query;
  $("clusters-count").value = state.clusters;
  $("threshold").value = state.threshold;
  $("threshold-value").textContent = state.threshold;
  $("paste").addEventListener("input", later(() => { $("column-field").hidden = true; take(linesOf($("paste").value)); }, 400));
  $("file").addEventListener("change", () => { if ($("file").files[0]) open($("file").files[0]); });
  $("column").addEventListener("change", takeColumn);
  $("example").addEventListener("click", async () => {
    $("paste").value = await (await fetch("page/sentences.txt")).text();
    await take(linesOf($("paste").value));
  });
  $("clear").addEventListener("click", () => { $("paste").value = ""; told(forget); });
  $("query").addEventListener("input", later(() => { change({ query: $("query").value }); told(search); }));
  $("clusters-count").addEventListener("input", later(() => {
    if (!$("clusters-count").checkValidity()) return;
    change({ clusters: $("clusters-count").value });
    told(cluster);
  }));
  $("threshold").addEventListener("input", later(() => {
    change({ threshold: $("threshold").value });
    $("threshold-value").textContent = Number($("threshold").value).toFixed(2);
    told(duplicates);
  }));
  for (const button of document.querySelectorAll("[data-download]")) button.addEventListener("click", () => download(button.dataset.download));
}
