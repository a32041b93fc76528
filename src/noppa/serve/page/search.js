// The Search tab: a query, filters on the metadata, and an explanation of each result.

import { get, post } from "./api.js";
import { $, count, later, make, number, quoted } from "./dom.js";
import { request } from "./requests.js";
import { change, state } from "./state.js";
import { labels } from "./tokens.js";

const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "in", "contains", "missing"];
const HITS = 10, REASONS = 6;
let facts = null;

// Shows the tab if the server has an index.
export function serve(index) { $("tab-search").hidden = !index; }

const load = request("index-problem", [], [], async () => {
  facts = await get("index");
  $("index-name").textContent = facts.name;
  $("add-filter").hidden = !facts.fields.length;
  const fields = facts.fields.length ? `; filter by ${facts.fields.join(", ")}` : "";
  $("index-state").textContent = `${count(facts.texts, "text")}${fields}.`;
  showFilters();
});

const find = request("asked-problem", ["asked", "filters"], ["hits"], async (signal) => {
  const where = conditions();
  $("search-empty").hidden = Boolean(state.asked.trim());
  const found = state.asked.trim()
    ? await post("index/search", { query: state.asked, count: HITS, mode: state.mode, explain: true, ...(where && { where }) }, signal)
    : { results: [], note: null };
  $("hits-note").textContent = found.note ?? (state.asked.trim() && !found.results.length ? "No results." : "");
  $("hits-warning").textContent = found.warning ?? "";
  $("hits").replaceChildren(...found.results.map(shown));
});

export async function refresh() {
  if (!facts) await load();
  await find();
}

function shown(hit) {
  const scores = [["cosine", hit.cosine, 3], ["BM25", hit.bm25, 2], ["overlap", hit.overlap, 3]].filter(([, value]) => value !== undefined);
  const chips = Object.entries(hit.metadata).map(([name, value]) => make("span", { class: "chip" }, make("bdi", {}, name), " ", make("bdi", {}, typeof value === "object" ? JSON.stringify(value) : String(value))));
  return make("li", { class: "hit" }, make("b", {}, number(hit.score)), make("div", {}, quoted(hit.text, "p"),
    make("p", { class: "hint" }, make("bdi", {}, hit.id), ...scores.map(([name, value, places]) => ` · ${name} ${number(value, places)}`), " ", ...chips), ...reasons(hit)));
}

function reasons({ why }) {
  if (!why) return [];
  const terms = Object.entries(why.terms).sort((a, b) => b[1] - a[1]);
  const pairs = (found) => found.slice(0, REASONS).map(([a, b, value]) => make("li", {}, make("b", {}, number(value)), make("span", {}, make("bdi", {}, piece(a)), " – ", make("bdi", {}, piece(b)))));
  const listed = (title, items) => (items.length ? [make("h3", {}, title), make("ul", { class: "reasons" }, ...items)] : []);
  return [make("details", {}, make("summary", {}, "Why"),
    ...listed("Matching words, and their part of the BM25 score", terms.map(([term, value]) => make("li", {}, make("b", {}, number(value, 2)), make("bdi", {}, term)))),
    ...listed("Similar words, and their part of the cosine", pairs(why.aligned)),
    ...listed("Nearest words, and their part of the overlap", pairs(why.nearest.sort((a, b) => b[2] - a[2]))))];
}

const piece = (token) => labels({ tokens: ["", token], sources: token.startsWith("##") ? [0, 0] : [0, 1] })[1];

// Filters: each has a field, an operator and a value; a result must pass all of them.

const filters = () => { try { const found = JSON.parse(state.where || "[]"); return Array.isArray(found) ? found.filter((one) => Array.isArray(one) && one.length === 3) : []; } catch { return []; } };

// Converts the filters to the request; values that look like numbers become numbers.
function conditions() {
  const where = {};
  for (const [field, operator, value] of filters()) {
    if (operator !== "missing" && String(value).trim() === "") continue; // not filled in yet
    (where[field] ??= {})[operator] = operator === "missing" ? true : operator === "in" ? String(value).split(",").map((one) => typed(one.trim())) : typed(String(value).trim());
  }
  return Object.keys(where).length ? where : null;
}

const typed = (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text === "true" ? true : text === "false" ? false : text);

function showFilters() {
  $("filters").replaceChildren(...filters().map(([field, operator, value], at) => {
    const options = (names, chosen) => [...new Set([...names, chosen])].map((name) => { const option = make("option", { value: name }, name); option.selected = name === chosen; return option; });
    const parts = [make("select", { "aria-label": "Field of the filter" }, ...options(facts?.fields ?? [], field)), make("select", { "aria-label": "Comparison" }, ...options(OPERATORS, operator)),
      make("input", { type: "text", "aria-label": "Value of the filter", dir: "auto", value: String(value) })];
    parts[2].hidden = operator === "missing";
    const soon = later(find);
    const write = () => { const rows = filters(); rows[at] = parts.map((part) => part.value); change({ where: JSON.stringify(rows) }); parts[2].hidden = parts[1].value === "missing"; soon(); };
    for (const part of parts) part.addEventListener("input", write);
    const remove = make("button", { type: "button", "aria-label": `Remove the filter by ${field}` }, "Remove");
    remove.addEventListener("click", () => { change({ where: JSON.stringify(filters().filter((_, other) => other !== at)) }); showFilters(); $("add-filter").focus(); find(); });
    return make("p", { class: "row" }, ...parts, remove);
  }));
}

export function fillIn() {
  $("asked").value = state.asked;
  $("mode").value = state.mode;
  showFilters();
}

export function start() {
  const soon = later(find);
  $("asked").addEventListener("input", () => { change({ asked: $("asked").value }); soon(); });
  $("mode").addEventListener("change", () => { change({ mode: $("mode").value }); find(); });
  $("add-filter").addEventListener("click", () => {
    change({ where: JSON.stringify([...filters(), [facts.fields[0], "=", ""]]) });
    showFilters();
    $("filters").lastElementChild.querySelector("select").focus();
  });
}
