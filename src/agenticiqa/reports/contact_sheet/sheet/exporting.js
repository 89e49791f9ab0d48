// What leaves the sheet: a list of names, a table, or a way to another page.
const TABLE = ["path", "decision", "stars", "by", "why", "findings", "score", "level", "sort", "width", "height", "format",
  "bytes", "taken", "brightness", "sharpness", "detail", "entropy", "generated", "exact_group", "near_group", "burst_group",
  "error"];
const CHOSEN = {
  decision: decisionOf,
  stars: starsOf,
  by: (picture) => (yours.has(picture.place) ? "you" : "agenticiqa"),
  why: whyOf,
};

// The selection, or everything shown where nothing is selected.
const chosen = () => (selected.size ? selectedPictures() : grid.list);

function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csvCell(value) {
  const text = value == null ? "" : typeof value === "object" ? Object.keys(value).join(", ") : String(value);
  // A name that a table program would take for a formula stays a name.
  if (/^[=+\-@\t]/.test(text) && Number.isNaN(Number(text))) return csvCell(`'${text}`);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
const tableRow = (picture) => TABLE.map((name) => (CHOSEN[name] ?? ((each) => each[name]))(picture));
const exportList = () => download("pictures.txt", "text/plain", chosen().map((picture) => `${picture.path}\n`).join(""));
const exportTable = () => download("pictures.csv", "text/csv", [TABLE, ...chosen().map(tableRow)]
  .map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join(""));

function openExport() {
  control("export-which").textContent = t(selected.size ? "export.selected" : "export.shown", { pictures: countOf(chosen().length) });
  control("export").showModal();
}

// To another page of the service, or a question to the page around this one.
function lead(action, list) {
  const places = list.map((picture) => picture.place);
  if (about.links.messages) {
    window.parent.postMessage({ source: "agenticiqa-sheet", action, places, paths: list.map((picture) => picture.path) }, window.location.origin);
    return;
  }
  const template = about.links[action];
  const values = action === "compare" ? { first: places[0], second: places[1] } : list[0];
  window.open(filled(template, values), "_blank", "noopener");
}
const leadsTo = (action) => Boolean(about.links && (about.links.messages || about.links[action]));
