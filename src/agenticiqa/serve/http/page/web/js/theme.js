// Light, dark, or as the system wants.

import { el, replace } from "./dom.js";
import { t } from "./words.js";

const ORDER = ["auto", "light", "dark"];
const STORED = "agenticiqa.theme";

export function setUpTheme(button) {
  show(button, document.documentElement.dataset.theme ?? "auto");
  button.addEventListener("click", () => {
    const now = document.documentElement.dataset.theme ?? "auto";
    const next = ORDER[(ORDER.indexOf(now) + 1) % ORDER.length];
    if (next === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    remember(next);
    show(button, next);
  });
}

function remember(theme) {
  try {
    if (theme === "auto") localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, theme);
  } catch {
    // Storage may be forbidden: the choice then lasts as long as the page.
  }
}

function show(button, theme) {
  replace(button, el("span", { "aria-hidden": "true" }, "◐\u00a0"), el("span", { class: "theme-word" }, t(`theme.${theme}`)));
  button.setAttribute("aria-label", t("theme.label", { theme: t(`theme.${theme}`) }));
}
