// Inside the page of the service: it says already how many pictures there are, and its theme is the sheet's.
const STORED_THEME = "agenticiqa.theme";

function useThemeAround() {
  try {
    document.documentElement.style.setProperty("color-scheme", localStorage.getItem(STORED_THEME) ?? "light dark");
  } catch {
    // Storage may be forbidden: the system's theme is used.
  }
}

function fitIntoPage() {
  document.querySelector(".titles").classList.add("unseen");
  useThemeAround();
  // The page around stores a theme that is chosen meanwhile; this window then hears of it.
  window.addEventListener("storage", useThemeAround);
}
if (about.links?.messages) fitIntoPage();
