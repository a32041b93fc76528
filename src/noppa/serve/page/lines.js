// Many lines: search, a map, clusters, near-duplicates, vectors to take home.

import { dropLines, keepLines, Problem, text, withLines } from "./api.js";
import { likely, lines as linesOf, table } from "./csv.js";
import { $, later, make, number } from "./dom.js";
import { COLOURS, Map } from "./map.js";
import { request } from "./requests.js";
import { change, method, note, state } from "./state.js";

const SHOWN_GROUPS = 50, SHOWN_LINES = 6;
const SEPARATORS = new globalThis.Map([["csv", ","], ["tsv", "\t"]]);
let lines = [], map = null, rows = null;

const json = async (path, body, signal) => (await withLines(path, { ...body, ...method() }, signal)).json();
const line = (at) => lines[at] ?? "";

const search = request("search-problem", ["query"], async (signal) => {
  if (!state.query.trim()) { $("found").replaceChildren(); return; }
  const { results } = await json("search", { query: state.query, count: 10 }, signal);
  $("found").replaceChildren(...results.map((hit) => make("li", {}, make("b", {}, number(hit.similarity)), make("span", {}, hit.text))));
  map.mark(results[0]?.index ?? -1);
});

const chart = request("map-problem", [], async (signal) => {
  const plane = await json("lines/map", {}, signal);
  note("lines", plane.note);
  map.show(plane.points, map.labels);
  const percent = plane.shares.map((share) => `${(100 * share).toFixed(0)} %`).join(" and ");
  $("map-title").textContent = `Map of ${lines.length} lines`;
  $("map-hint").textContent = `Two principal axes (${percent} of the variance), coloured by cluster. Drag, scroll or pinch; with the keyboard: arrows, + and −.`;
});

const cluster = request("clusters-problem", ["clusters-count"], async (signal) => {
  const { labels, clusters } = await json("lines/clusters", { count: Number(state.clusters) }, signal);
  map.recolour(labels);
  $("clusters").replaceChildren(...clusters.map((one, at) => {
    const dot = make("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = COLOURS[at % COLOURS.length];
    return make("li", {}, dot, `${one.size} line${one.size === 1 ? "" : "s"}, such as`, make("ul", {}, ...one.central.map((at) => make("li", {}, line(at)))));
  }));
});

const duplicates = request("duplicates-problem", ["threshold"], async (signal) => {
  const { groups } = await json("lines/duplicates", { threshold: Number(state.threshold) }, signal);
  const count = groups.reduce((sum, group) => sum + group.lines.length, 0);
  $("duplicates-state").textContent = groups.length ? `${groups.length} group${groups.length === 1 ? "" : "s"}, ${count} lines` : "None.";
  $("duplicates").replaceChildren(...groups.slice(0, SHOWN_GROUPS).map((group) => {
    const more = group.lines.length - SHOWN_LINES;
    return make("li", {}, `${group.lines.length} lines, at least ${number(group.least, 3)}`, make("ul", {},
      ...group.lines.slice(0, SHOWN_LINES).map((at) => make("li", {}, line(at))), ...(more > 0 ? [make("li", {}, `and ${more} more`)] : [])));
  }));
});

export async function refresh() {
  if (!lines.length) { note("lines", ""); return; }
  await Promise.all([cluster().then(chart), search(), duplicates()]);
}

function show(newLines) {
  lines = newLines;
  $("with-lines").hidden = !lines.length;
  $("lines-state").textContent = lines.length ? `${lines.length} line${lines.length === 1 ? "" : "s"}.` : "No lines yet.";
}

// Gives the server the lines that `read` finds, or has it forget those it has where there are none.
const take = request("lines-problem", ["paste", "file", "column"], async (signal, read) => {
  try {
    const newLines = await read();
    if (newLines.length) {
      $("lines-state").textContent = `Sending ${newLines.length} lines…`;
      await keepLines(newLines, signal);
    } else await dropLines();
    show(newLines);
  } catch (error) {
    if (!signal.aborted) $("lines-state").textContent = lines.length ? `Not taken: these are still the ${lines.length} lines from before.` : "Not taken.";
    throw error;
  }
  if (!signal.aborted) await refresh();
});

async function open(file) {
  const content = await file.text();
  const separator = SEPARATORS.get(file.name.split(".").pop().toLowerCase());
  rows = separator ? table(content, separator) : null;
  const several = rows !== null && rows.length > 1;
  $("column-field").hidden = !several;
  if (!several) { $("paste").value = ""; return linesOf(content); }
  $("column").replaceChildren(...rows[0].map((name, at) => make("option", { value: at }, name || `column ${at + 1}`)));
  $("column").value = String(likely(rows));
  return column();
}

function column() {
  const chosen = Number($("column").value);
  $("paste").value = "";
  return rows.slice(1).map((row) => row[chosen] ?? "").filter((field) => field.trim() !== "");
}

async function example() {
  $("paste").value = await text("page/sentences.txt");
  return linesOf($("paste").value);
}

async function download(format) {
  const answer = await withLines("lines/vectors", { format, ...method() });
  const content = await answer.blob().catch(() => { throw new Problem(0, "The download broke off: try again."); });
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: `vectors.${format}` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export function start() {
  map = new Map($("map"), (at) => { $("map-point").textContent = at < 0 ? "–" : line(at); });
  $("query").value = state.query;
  $("clusters-count").value = state.clusters;
  $("threshold").value = state.threshold;
  $("threshold-value").textContent = state.threshold;
  $("paste").addEventListener("input", later(() => { $("column-field").hidden = true; take(() => linesOf($("paste").value)); }, 400));
  $("file").addEventListener("change", () => { const [file] = $("file").files; if (file) take(() => open(file)); });
  $("column").addEventListener("change", () => take(column));
  $("example").addEventListener("click", () => take(example));
  $("clear").addEventListener("click", () => { $("paste").value = ""; take(() => []); });
  $("query").addEventListener("input", later(() => { change({ query: $("query").value }); search(); }));
  $("clusters-count").addEventListener("input", later(() => {
    if (!$("clusters-count").checkValidity()) return;
    change({ clusters: $("clusters-count").value });
    cluster();
  }));
  $("threshold").addEventListener("input", later(() => {
    change({ threshold: $("threshold").value });
    $("threshold-value").textContent = Number($("threshold").value).toFixed(2);
    duplicates();
  }));
  for (const button of document.querySelectorAll("[data-download]")) {
    const format = button.dataset.download;
    button.addEventListener("click", request(`${format}-problem`, [], () => download(format)));
  }
}
