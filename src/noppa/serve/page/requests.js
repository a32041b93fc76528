// One request of the page and its message.

import { $ } from "./dom.js";

// What went wrong stands at `place` until this request is repeated or one of its fields changes: no other answer touches it.
// The newest of several runs wins, and an earlier one is stopped.
export function request(place, fields, run) {
  let running = null;
  for (const field of fields) $(field).addEventListener("input", () => show(place, null));
  return async (...given) => {
    running?.abort();
    const mine = running = new AbortController();
    show(place, null);
    try {
      return await run(mine.signal, ...given);
    } catch (error) {
      if (!mine.signal.aborted) show(place, error);
    }
  };
}

function show(place, error) {
  $(place).hidden = !error;
  $(place).textContent = error ? error.message : "";
  if (error?.status === 401) { $("key-field").hidden = false; $("key-field").open = true; }
}
