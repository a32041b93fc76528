// A request of the page, and the error message that belongs to it.

import { $ } from "./dom.js";

// An error is shown at `place` until this request is repeated or one of its fields changes; no other request touches it.
// A new run aborts the one before.
export function request(place, fields, run) {
  let running = null;
  for (const field of fields) $(field).addEventListener("input", () => show(place, null));
  return async (...values) => {
    running?.abort();
    const mine = running = new AbortController();
    show(place, null);
    try {
      return await run(mine.signal, ...values);
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
