// Light, dark, or as the system wants.

const ORDER = ["auto", "light", "dark"];
const STORED = "agenticiqa.theme";
const NAMES = { auto: "Auto", light: "Light", dark: "Dark" };

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
  button.textContent = `◐ ${NAMES[theme]}`;
  button.setAttribute("aria-label", `Theme: ${NAMES[theme].toLowerCase()}`);
}
