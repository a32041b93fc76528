// Reads lines from plain text, or from a column of a CSV table.

export function table(text, separator) {
  const rows = [];
  let row = [], field = "", quoted = false, begun = false;
  const endField = () => { row.push(field); field = ""; begun = false; };
  const endRow = () => { endField(); if (row.length > 1 || row[0] !== "") rows.push(row); row = []; };
  for (let at = 0; at < text.length; at++) {
    const letter = text[at];
    if (quoted) {
      if (letter !== '"') field += letter;
      else if (text[at + 1] === '"') { field += '"'; at++; }
      else quoted = false;
    } else if (letter === '"' && !begun) { quoted = true; begun = true; }
    else if (letter === separator) endField();
    else if (letter === "\n") endRow();
    else if (letter !== "\r") { field += letter; begun = true; }
  }
  if (field !== "" || row.length) endRow();
  return rows;
}

export function lines(text) {
  return text.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim() !== "");
}

// The column to show first: one named text or similar, or else the one with the longest cells.
export function likely(rows) {
  const names = rows[0].map((name) => name.trim().toLowerCase());
  const named = names.findIndex((name) => ["text", "sentence", "body", "content", "review", "title"].includes(name));
  if (named >= 0) return named;
  const lengths = names.map((_, column) => rows.slice(1, 200).reduce((sum, row) => sum + (row[column]?.length ?? 0), 0));
  return lengths.indexOf(Math.max(...lengths));
}
