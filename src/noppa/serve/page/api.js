// Requests to the server. Every error has the same shape.

const KEY = "noppa-key";

export function key() { return sessionStorage.getItem(KEY) ?? ""; }
export function setKey(value) { value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY); }

export class ApiError extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function send(path, { method = "POST", body, signal } = {}) {
  const headers = {};
  if (key()) headers.authorization = `Bearer ${key()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not respond. Is it still running?");
  }
  if (!response.ok) {
    const { error } = await response.json().catch(() => ({}));
    throw new ApiError(response.status, error?.message ?? `The server returned status ${response.status}.`);
  }
  return response;
}

export async function get(path) { return (await send(path, { method: "GET" })).json(); }
export async function text(path) { return (await send(path, { method: "GET" })).text(); }
export async function post(path, body, signal) { return (await send(path, { body, signal })).json(); }
export async function download(path, body, signal) {
  const response = await send(path, { body, signal });
  return response.blob().catch(() => { throw new ApiError(0, "The download was interrupted. Try again."); });
}
