// Says so when the page's own scripts do not arrive: without them nothing on it answers.

{
  const PATIENCE_MS = 20_000;
  const tell = () => {
    const notice = document.getElementById("not-loaded");
    if (notice && !document.documentElement.dataset.ready) notice.hidden = false;
  };
  // A script that cannot be fetched tells its own element alone, which only a capturing listener hears.
  window.addEventListener("error", tell, true);
  setTimeout(tell, PATIENCE_MS);
  // A file dropped before anything listens would take the place of the page.
  const keep = (event) => {
    if (!document.documentElement.dataset.ready) event.preventDefault();
  };
  for (const name of ["dragover", "drop"]) window.addEventListener(name, keep);
}
