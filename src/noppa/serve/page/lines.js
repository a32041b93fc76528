// The Lines tab: where its lines come from, and the download of their vectors. The browser remembers the lines.

import { download, text } from "./api.js";
import { describe } from "./controls.js";
import { likely, lines as linesOf, table } from "./csv.js";
import { $, count, later, make } from "./dom.js";
import { offer } from "./labels.js";
import * as overview from "./overview.js";
import { mark, request } from "./requests.js";
import { method, state } from "./state.js";

const SEPARATORS = new Map([["csv", ","], ["tsv", "\t"]]);
const LONG_PASTE = 4000; // characters
const STORED = "noppa-lines";
let lines = [], rows = null;

export async function refresh() {
  if (!lines.length) { describe("lines", {}); return; }
  await overview.refresh(lines);
}

function show(newLines) {
  lines = newLines;
  $("with-lines").hidden = !lines.length;
  $("lines-empty").hidden = lines.length > 0;
  $("lines-state").textContent = lines.length ? `${count(lines.length, "line")}.` : "No lines yet.";
  mark(["with-lines"], false);
}

// Shows the lines that `read` returns, and remembers them.
const take = request("lines-problem", ["paste", "file", "column"], [], async (signal, read) => {
  const newLines = await read();
  if (signal.aborted) return;
  show(newLines);
  remember(newLines);
  await refresh();
});

// The lines of the page's last visit. A browser has room for some megabytes; more lines are not remembered.
function remember(newLines) {
  try {
    newLines.length ? localStorage.setItem(STORED, JSON.stringify(newLines)) : localStorage.removeItem(STORED);
  } catch {
    localStorage.removeItem(STORED);
  }
}

export async function restore() {
  let stored = [];
  try { stored = JSON.parse(localStorage.getItem(STORED)) ?? []; } catch { /* written by something else */ }
  if (lines.length || $("paste").value || !Array.isArray(stored) || !stored.length) return;
  if (!stored.some((line) => line.includes("\n"))) $("paste").value = `${stored.join("\n")}\n`;
  show(stored);
  if (state.tab === "lines") await refresh();
}

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

async function save(format) {
  offer(await download("lines/vectors", { format, lines, ...method() }), `vectors.${format}`);
}

// Chromium takes a minute to paste thousands of lines, but no time to set the value of the field.
function paste(event) {
  const content = event.clipboardData.getData("text/plain"), field = $("paste");
  if (content.length < LONG_PASTE) return;
  event.preventDefault();
  field.setRangeText(content, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input"));
}

export function start() {
  overview.start();
  $("paste").addEventListener("paste", paste);
  const soon = later(() => { $("column-field").hidden = true; take(() => linesOf($("paste").value)); }, 400);
  $("paste").addEventListener("input", soon);
  $("file").addEventListener("change", () => { const [file] = $("file").files; if (file) take(() => open(file)); });
  $("column").addEventListener("change", () => take(column));
  $("example").addEventListener("click", () => take(example));
  $("clear").addEventListener("click", () => { $("paste").value = ""; take(() => []); });
  for (const button of document.querySelectorAll("[data-download]")) {
    const format = button.dataset.download;
    button.addEventListener("click", request(`${format}-problem`, [], [], () => save(format)));
  }
}
