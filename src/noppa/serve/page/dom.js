// Elements, numbers, bars and debouncing for every part of the page.

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

export const number = (value, places = 3) => (value < 0 ? "−" : "") + Math.abs(value).toFixed(places);

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

export function later(run, wait = 120) {
  let timer = 0;
  return (...values) => { clearTimeout(timer); timer = setTimeout(() => run(...values), wait); };
}
