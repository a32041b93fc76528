// The labels of the lines as a file: cluster, name of the cluster, and group of near-duplicates.

import { make } from "./dom.js";

const KINDS = { csv: "text/csv", jsonl: "application/jsonl" };
const FORMULA = /^[=+\-@\t\r]/; // cells that a spreadsheet would run as formulas

export function save(format, found) {
  const rows = labelled(found);
  const content = format === "csv" ? csv(rows) : rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  offer(new Blob([content], { type: KINDS[format] }), `labels.${format}`);
}

export function offer(content, name) {
  const address = URL.createObjectURL(content);
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function labelled({ lines, labels, names, groups }) {
  const group = new Map(groups.flatMap(({ lines: members }, at) => members.map((line) => [line, at + 1])));
  return lines.map((text, at) => ({
    line: at + 1, text, cluster: labels[at] + 1, name: names[labels[at]], duplicates: group.get(at) ?? null,
  }));
}

function csv(rows) {
  const table = [["line", "text", "cluster", "name", "duplicates"], ...rows.map((row) => Object.values(row))];
  return table.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

function cell(value) {
  const text = String(value ?? "");
  return `"${(FORMULA.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}
