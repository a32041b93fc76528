// Helpers for elements, numbers, bars, lists and debouncing.

export const $ = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

export function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

// Text from the user, in the direction of its script.
export const quoted = (text, name = "span") => make(name, { dir: "auto" }, text);

export const number = (value, places = 3) => {
  const digits = Math.abs(value).toFixed(places);
  return (value < 0 && Number(digits) ? "−" : "") + digits; // no minus sign before a rounded zero
};
export const whole = (value) => value.toLocaleString("en");
export const count = (many, one) => `${whole(many)} ${one}${many === 1 ? "" : "s"}`;

// With `both`, zero is in the middle, for values that may be negative.
export function bar(value, most, both = false) {
  const fill = make("i");
  const size = most > 0 ? Math.min(1, Math.abs(value) / most) * (both ? 50 : 100) : 0;
  fill.style.width = `${size}%`;
  fill.style.left = both ? `${value < 0 ? 50 - size : 50}%` : "0";
  if (value < 0) fill.className = "minus";
  const frame = make("span", { class: "bar", "aria-hidden": "true" });
  frame.append(fill);
  return frame;
}

// Fills a list or table body; items beyond the first `shown` stay hidden behind a button.
export function fold(list, items, shown, what) {
  list.replaceChildren(...items);
  const frame = list.closest("table") ?? list;
  if (frame.nextElementSibling?.classList.contains("more")) frame.nextElementSibling.remove();
  if (items.length <= shown) return;
  for (const item of items.slice(shown)) item.hidden = true;
  const button = make("button", { type: "button", class: "more" }, `Show all ${whole(items.length)} ${what}`);
  button.addEventListener("click", () => {
    for (const item of items) item.hidden = false;
    button.remove();
    const next = items[shown].querySelector("button") ?? items[shown]; // focus moves to the first new item
    if (next === items[shown]) next.tabIndex = -1;
    next.focus();
  });
  frame.after(button);
}

export function later(run, wait = 120) {
  let timer = 0;
  return (...values) => { clearTimeout(timer); timer = setTimeout(() => run(...values), wait); };
}
