// Many lines: where they come from, and their vectors to take home.

import { dropLines, keepLines, keptLines, Problem, text, withLines } from "./api.js";
import { describe } from "./controls.js";
import { likely, lines as linesOf, table } from "./csv.js";
import { $, count, later, make } from "./dom.js";
import { offer } from "./labels.js";
import * as overview from "./overview.js";
import { mark, request } from "./requests.js";
import { method, state } from "./state.js";

const SEPARATORS = new Map([["csv", ","], ["tsv", "\t"]]);
const LONG_PASTE = 4000; // characters
let lines = [], rows = null, asked = false;

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

// Gives the server the lines that `read` finds, or has it forget those it has where there are none.
const take = request("lines-problem", ["paste", "file", "column"], [], async (signal, read) => {
  asked = true;
  try {
    const newLines = await read();
    if (newLines.length) {
      $("lines-state").textContent = `Sending ${count(newLines.length, "line")}…`;
      await keepLines(newLines, signal);
    } else await dropLines();
    show(newLines);
  } catch (error) {
    if (!signal.aborted) {
      $("lines-state").textContent = lines.length ? `Not taken: these are still the ${count(lines.length, "line")} from before.` : "Not taken.";
      mark(["with-lines"], true);
    }
    throw error;
  }
  if (!signal.aborted) await refresh();
});

// The lines that the server keeps for this browser, after the page was loaded again; those that were given meanwhile count more.
export const restore = request("lines-problem", [], [], async () => {
  const kept = await keptLines();
  if (asked || lines.length || !kept.length) return;
  if (!kept.some((line) => line.includes("\n"))) $("paste").value = `${kept.join("\n")}\n`;
  show(kept);
  if (state.tab === "lines") await refresh();
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

// An ordinary paste of thousands of lines holds Chromium up for a minute; writing them into the field does not.
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
  $("paste").addEventListener("input", () => { asked = true; soon(); }); // from the first letter on, nothing is restored over it
  $("file").addEventListener("change", () => { const [file] = $("file").files; if (file) take(() => open(file)); });
  $("column").addEventListener("change", () => take(column));
  $("example").addEventListener("click", () => take(example));
  $("clear").addEventListener("click", () => { $("paste").value = ""; take(() => []); });
  for (const button of document.querySelectorAll("[data-download]")) {
    const format = button.dataset.download;
    button.addEventListener("click", request(`${format}-problem`, [], [], () => download(format)));
  }
}
