// Talking to the server: one way to ask, one shape of problem.

const KEY = "noppa-key";
let kept = null; // the lines that the server took last; another process of it, or a new one, gets them again
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
    const told = await answer.json().catch(() => ({}));
    throw new Problem(answer.status, told.error?.message ?? `The server answered ${answer.status}.`, told.error?.code);
  }
  return answer;
}

export async function get(path) { return (await send(path, { method: "GET" })).json(); }
export async function text(path) { return (await send(path, { method: "GET" })).text(); }
export async function post(path, body, signal) { return (await send(path, { body, signal })).json(); }

// What needs the kept lines: sent again where the server has forgotten them.
export async function withLines(path, body, signal) {
  for (let attempt = 0; ; attempt++) {
    try {
      return await send(path, { body, signal });
    } catch (error) {
      if (error.code !== "lines_not_found" || !kept || attempt === 8) throw error;
      await sendLines();
    }
  }
}

// One after the other, and always the newest: what is sent again must not bring back lines that were replaced or dropped.
function inTurn(run) {
  sending = sending.catch(() => null).then(run);
  return sending;
}
const sendLines = () => inTurn(() => kept && send("lines", { body: { lines: kept } }));

// Not sent at all if newer ones are there before its turn.
export const keepLines = (lines, signal) => inTurn(async () => {
  signal.throwIfAborted();
  await send("lines", { body: { lines } });
  kept = lines;
});
export const dropLines = () => inTurn(async () => {
  kept = null;
  await send("lines", { method: "DELETE" });
});
