// A request of the page, its error message, and the results that it will replace.

import { $ } from "./dom.js";

// Shows an error at `place` until the request is repeated or one of its fields changes. Dims `results` from the moment a
// field changes until the new answer arrives; after an error they stay dimmed. A new run aborts the previous one.
export function request(place, fields, results, run) {
  let running = null;
  for (const field of fields) $(field).addEventListener("input", () => { show(place, null); mark(results, true); });
  return async (...values) => {
    running?.abort();
    const mine = running = new AbortController();
    show(place, null);
    mark(results, true, true);
    try {
      const answer = await run(mine.signal, ...values);
      if (mine === running) mark(results, false);
      return answer;
    } catch (error) {
      if (mine.signal.aborted) return undefined; // a newer run replaced this one
      mark(results, true);
      show(place, error);
    }
  };
}

export function mark(places, stale, busy = false) {
  for (const place of places) {
    $(place).classList.toggle("stale", stale);
    $(place).setAttribute("aria-busy", String(busy));
  }
}

function show(place, error) {
  $(place).hidden = !error;
  $(place).textContent = error ? error.message : "";
  if (error?.status === 401) { $("key-field").hidden = false; $("key-field").open = true; }
}
