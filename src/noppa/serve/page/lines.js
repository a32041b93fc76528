// Many lines: where they come from, and their vectors to take home.

import { dropLines, keepLines, Problem, text, withLines } from "./api.js";
import { likely, lines as linesOf, table } from "./csv.js";
import { $, later, make } from "./dom.js";
import { offer } from "./labels.js";
import * as overview from "./overview.js";
import { request } from "./requests.js";
import { method, note } from "./state.js";

const SEPARATORS = new Map([["csv", ","], ["tsv", "\t"]]);
let lines = [], rows = null;

export async function refresh() {
  if (!lines.length) { note("lines", ""); return; }
  await overview.refresh(lines);
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
  offer(content, `vectors.${format}`);
}

export function start() {
  overview.start();
  $("paste").addEventListener("input", later(() => { $("column-field").hidden = true; take(() => linesOf($("paste").value)); }, 400));
  $("file").addEventListener("change", () => { const [file] = $("file").files; if (file) take(() => open(file)); });
  $("column").addEventListener("change", () => take(column));
  $("example").addEventListener("click", () => take(example));
  $("clear").addEventListener("click", () => { $("paste").value = ""; take(() => []); });
  for (const button of document.querySelectorAll("[data-download]")) {
    const format = button.dataset.download;
    button.addEventListener("click", request(`${format}-problem`, [], () => download(format)));
  }
}
