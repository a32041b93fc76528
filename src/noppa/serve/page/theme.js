// The light or dark theme: the system setting, until the user chooses one with the button.

import { $ } from "./dom.js";

const KEY = "noppa-theme";
const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
const shown = () => root.dataset.theme || (system.matches ? "dark" : "light");

function show() {
  const other = shown() === "dark" ? "Light" : "Dark";
  $("theme").textContent = other;
  $("theme").title = `Use the ${other.toLowerCase()} theme`;
}

export function start() {
  if (localStorage.getItem(KEY)) root.dataset.theme = localStorage.getItem(KEY);
  show();
  system.addEventListener("change", show);
  $("theme").addEventListener("click", () => {
    root.dataset.theme = shown() === "dark" ? "light" : "dark";
    localStorage.setItem(KEY, root.dataset.theme);
    show();
    dispatchEvent(new Event("theme")); // the map redraws its canvas
  });
}
