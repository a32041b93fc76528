// Requests to the server, with one shape of error.

const KEY = "noppa-key";
let storedLines = null; // what the server stored last, sent again when another worker, or a restarted one, lacks it
let sending = Promise.resolve();

export function key() { return sessionStorage.getItem(KEY) ?? ""; }
export function setKey(value) { value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY); }

export class Problem extends Error {
  constructor(status, message, code) { super(message); this.status = status; this.code = code; }
}

async function send(path, { method = "POST", body, signal } = {}) {
  const headers = {};
  if (key()) headers.authorization = `Bearer ${key()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer: is it still running?");
  }
  if (!answer.ok) {
    const body = await answer.json().catch(() => ({}));
    throw new Problem(answer.status, body.error?.message ?? `The server answered ${answer.status}.`, body.error?.code);
  }
  return answer;
}

export async function get(path) { return (await send(path, { method: "GET" })).json(); }
export async function text(path) { return (await send(path, { method: "GET" })).text(); }
export async function post(path, body, signal) { return (await send(path, { body, signal })).json(); }

// The lines that the server keeps for this browser.
export async function keptLines() {
  const { lines } = await get("lines");
  storedLines ??= lines.length ? lines : null;
  return lines;
}

// The values of an answer of JSON lines, as they come.
export async function* jsonLines(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const line of lines) yield JSON.parse(line);
  }
}

// A request over the stored lines; where the server has forgotten them, they are sent again first.
export async function withLines(path, body, signal) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await send(path, { body, signal });
    } catch (error) {
      if (error.code !== "lines_not_found" || !storedLines || attempt === 8) throw error;
      await sendLines();
    }
  }
}

// One at a time, and always the newest: a resend must not bring back lines that were replaced or dropped.
function inTurn(run) {
  sending = sending.catch(() => null).then(run);
  return sending;
}
const sendLines = () => inTurn(() => storedLines && send("lines", { body: { lines: storedLines } }));

// Skipped if it was aborted, by newer lines, before its turn.
export const keepLines = (lines, signal) => inTurn(async () => {
  signal.throwIfAborted();
  await send("lines", { body: { lines } });
  storedLines = lines;
});
export const dropLines = () => inTurn(async () => {
  storedLines = null;
  await send("lines", { method: "DELETE" });
});
