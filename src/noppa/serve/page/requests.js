// A request of the page, the error message that belongs to it, and the results that it will replace.

import { $ } from "./dom.js";

// An error is shown at `place` until this request is repeated or one of its fields changes; no other request touches it.
// Once a field has changed, `results` are dimmed until the answer to what it holds now is there; after an error they stay so.
// A new run aborts the one before.
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
      if (mine.signal.aborted) return undefined; // the run that aborted it goes on
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
