// What is in the lines: search, a map, clusters, near-duplicates. A click on any of them shows it on the map.

import { withLines } from "./api.js";
import { $, later, make, number } from "./dom.js";
import { save } from "./labels.js";
import { COLOURS, Map } from "./map.js";
import { request } from "./requests.js";
import { change, method, note, state } from "./state.js";

const SHOWN_GROUPS = 50, SHOWN_LINES = 6;
let lines = [], map = null, chosen = null;
let labels = [], names = [], groups = [];

const json = async (path, body, signal) => (await withLines(path, { ...body, ...method() }, signal)).json();
const line = (at) => lines[at] ?? "";
const count = (many, one) => `${many} ${one}${many === 1 ? "" : "s"}`;

const search = request("search-problem", ["query"], async (signal) => {
  const { results } = state.query.trim() ? await json("search", { query: state.query, count: 10 }, signal) : { results: [] };
  fill("found", results.map((hit) => make("li", {}, pick([hit.index], "one line found",
    make("b", {}, number(hit.similarity)), make("span", {}, hit.text)))));
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
  const answer = await json("lines/clusters", { count: Number(state.clusters) }, signal);
  labels = answer.labels;
  names = answer.clusters.map((one) => one.name);
  map.recolour(labels, names);
  const members = names.map(() => []);
  labels.forEach((label, at) => members[label].push(at));
  fill("clusters", answer.clusters.map((one, at) => {
    const dot = make("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = COLOURS[at % COLOURS.length];
    return make("li", {}, pick(members[at], `cluster “${names[at]}”`, dot, make("b", {}, names[at]), make("span", {}, count(one.size, "line"))),
      make("ul", {}, ...one.central.map((at) => make("li", {}, line(at)))));
  }));
});

const duplicates = request("duplicates-problem", ["threshold"], async (signal) => {
  ({ groups } = await json("lines/duplicates", { threshold: Number(state.threshold) }, signal));
  const repeated = groups.reduce((sum, group) => sum + group.lines.length, 0);
  $("duplicates-state").textContent = groups.length ? `${count(groups.length, "group")}, ${count(repeated, "line")}` : "None.";
  fill("duplicates", groups.slice(0, SHOWN_GROUPS).map((group) => {
    const more = group.lines.length - SHOWN_LINES;
    return make("li", {}, pick(group.lines, "near-duplicates", make("span", {}, `${count(group.lines.length, "line")}, at least ${number(group.least, 3)}`)),
      make("ul", {}, ...group.lines.slice(0, SHOWN_LINES).map((at) => make("li", {}, line(at))), ...(more > 0 ? [make("li", {}, `and ${more} more`)] : [])));
  }));
});

// A new list; what was highlighted by way of the old one no longer is.
function fill(list, items) {
  if ($(list).contains(chosen)) highlight(null);
  $(list).replaceChildren(...items);
}

// A button that highlights these lines on the map, and, pressed again, no longer does.
function pick(members, title, ...children) {
  const button = make("button", { type: "button", class: "pick", "aria-pressed": "false" }, ...children);
  button.addEventListener("click", () => { chosen === button ? highlight(null) : highlight(button, members, title); });
  return button;
}

function highlight(button, members = null, title = "") {
  chosen?.setAttribute("aria-pressed", "false");
  chosen = button;
  chosen?.setAttribute("aria-pressed", "true");
  map.light(members);
  if (members?.length === 1) map.point(members[0]);
  $("lit").hidden = !members;
  $("lit-state").textContent = members ? `Highlighted: ${title}${members.length === 1 ? "" : `, ${members.length} lines`}.` : "";
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (members) $("map").scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
}

export async function refresh(newLines) {
  if (newLines !== lines) highlight(null);
  lines = newLines;
  await Promise.all([cluster().then(chart), search(), duplicates()]);
}

export function start() {
  map = new Map($("map"), (at) => { $("map-point").textContent = at < 0 ? "–" : line(at); });
  $("query").value = state.query;
  $("clusters-count").value = state.clusters;
  $("threshold").value = state.threshold;
  $("threshold-value").textContent = state.threshold;
  $("unlight").addEventListener("click", () => { const button = chosen; highlight(null); button?.focus(); });
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
  for (const button of document.querySelectorAll("[data-labels]")) {
    button.addEventListener("click", () => save(button.dataset.labels, { lines, labels, names, groups }));
  }
}
