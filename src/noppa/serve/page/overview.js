// The views of the Lines tab: search, map, clusters, near-duplicates. Clicking a result highlights it on the map.

import { post } from "./api.js";
import { describe } from "./controls.js";
import { $, count, fold, later, make, number, quoted, whole } from "./dom.js";
import { save } from "./labels.js";
import { COLOURS, Map } from "./map.js";
import { request } from "./requests.js";
import { change, method, state } from "./state.js";

const SHOWN_CLUSTERS = 12, SHOWN_GROUPS = 10, SHOWN_LINES = 6;
let lines = [], map = null, chosen = null;
let labels = [], names = [], groups = [];

const view = (path, body, signal) => post(path, { ...body, lines, ...method() }, signal);
const line = (at) => lines[at] ?? "";

const search = request("search-problem", ["query"], ["found"], async (signal) => {
  const { results } = state.query.trim() ? await view("search", { query: state.query, count: 10 }, signal) : { results: [] };
  fill("found", results.map((hit) => make("li", {}, pick([hit.index], "one line found",
    make("b", {}, number(hit.similarity)), quoted(hit.text)))));
  map.mark(results[0]?.index ?? -1);
});

const chart = request("map-problem", [], ["map-frame"], async (signal) => {
  const plane = await view("lines/map", {}, signal);
  describe("lines", plane);
  map.show(plane.points, map.labels);
  const percent = plane.shares.map((share) => `${(100 * share).toFixed(0)} %`).join(" and ");
  $("map-title").textContent = `Map of ${count(lines.length, "line")}`;
  $("map-hint").textContent = `Two principal axes (${percent} of the variance), coloured by cluster. Drag, scroll or pinch, or use the arrow keys, + and −.`;
});

const cluster = request("clusters-problem", ["clusters-count"], ["clusters"], async (signal) => {
  const answer = await view("lines/clusters", { count: Number(state.clusters) }, signal);
  labels = answer.labels;
  names = answer.clusters.map((one) => one.name);
  map.recolour(labels, names);
  const members = names.map(() => []);
  labels.forEach((label, at) => members[label].push(at));
  fill("clusters", answer.clusters.map((one, at) => {
    const dot = make("span", { class: "dot", "aria-hidden": "true" });
    dot.style.background = COLOURS[at % COLOURS.length];
    return make("li", {}, pick(members[at], `cluster “${names[at]}”`, dot, quoted(names[at], "b"), make("span", {}, count(one.size, "line"))),
      make("ul", {}, ...one.central.map((at) => quoted(line(at), "li"))));
  }), SHOWN_CLUSTERS, "clusters");
});

const duplicates = request("duplicates-problem", ["threshold"], ["duplicates", "duplicates-state"], async (signal) => {
  ({ groups } = await view("lines/duplicates", { threshold: Number(state.threshold) }, signal));
  const repeated = groups.reduce((sum, group) => sum + group.lines.length, 0);
  $("duplicates-state").textContent = groups.length ? `${count(groups.length, "group")}, ${count(repeated, "line")}` : "None.";
  fill("duplicates", groups.map((group) => {
    const more = group.lines.length - SHOWN_LINES;
    return make("li", {}, pick(group.lines, "near-duplicates", make("span", {}, `${count(group.lines.length, "line")}, at least ${number(group.least, 3)}`)),
      make("ul", {}, ...group.lines.slice(0, SHOWN_LINES).map((at) => quoted(line(at), "li")), ...(more > 0 ? [make("li", {}, `and ${more} more`)] : [])));
  }), SHOWN_GROUPS, "groups");
});

// Replaces a list, and clears a highlight that was set from it.
function fill(list, items, shown = items.length, what = "") {
  if ($(list).contains(chosen)) highlight(null);
  fold($(list), items, shown, what);
}

// A button that switches the highlight of these lines on and off.
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
  $("lit-state").textContent = members ? `Highlighted: ${title}${members.length === 1 ? "" : `, ${whole(members.length)} lines`}.` : "";
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (members) $("map").scrollIntoView({ block: "nearest", behavior: still ? "auto" : "smooth" });
}

// Shows a card next to the current point; screen readers announce its text.
function point(at, x, y) {
  $("map-card").hidden = at < 0;
  $("map-point").textContent = at < 0 ? "–" : line(at);
  if (at < 0) return;
  const label = labels[at], dot = make("span", { class: "dot" });
  dot.style.background = COLOURS[(label ?? 0) % COLOURS.length];
  $("map-card").replaceChildren(quoted(line(at), "p"), make("p", { class: "hint" }, dot, ` ${names[label] ? `${names[label]} · ` : ""}line ${whole(at + 1)}`));
  map.attach($("map-card"), x, y);
}

// Sets the fields from the state of the page.
export function fillIn() {
  $("query").value = state.query;
  $("clusters-count").value = state.clusters;
  $("threshold").value = state.threshold;
  $("threshold-value").textContent = Number(state.threshold).toFixed(2);
}

export async function refresh(newLines) {
  if (newLines !== lines) highlight(null);
  lines = newLines;
  await Promise.all([cluster().then(chart), search(), duplicates()]);
}

export function start() {
  map = new Map($("map"), point);
  $("unlight").addEventListener("click", () => { const button = chosen; highlight(null); button?.focus(); });
  // The state changes at once, so that filling in the fields meanwhile undoes nothing; requests wait until typing pauses.
  const soon = { search: later(search), cluster: later(cluster), duplicates: later(duplicates) };
  $("query").addEventListener("input", () => { change({ query: $("query").value }); soon.search(); });
  $("clusters-count").addEventListener("input", () => {
    if (!$("clusters-count").checkValidity()) return;
    change({ clusters: $("clusters-count").value });
    soon.cluster();
  });
  $("threshold").addEventListener("input", () => {
    change({ threshold: $("threshold").value });
    $("threshold-value").textContent = Number($("threshold").value).toFixed(2);
    soon.duplicates();
  });
  for (const button of document.querySelectorAll("[data-labels]")) {
    button.addEventListener("click", () => save(button.dataset.labels, { lines, labels, names, groups }));
  }
}
