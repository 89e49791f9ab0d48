// Applies a theme chosen earlier before anything is painted.
(function () {
  try {
    var chosen = localStorage.getItem("agenticiqa.theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch (error) {
    // Storage may be forbidden: the system's theme is used.
  }
})();
