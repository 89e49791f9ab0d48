// Every action has a name: buttons carry it (data-act), keys stand for it.
const KEYS = { p: "keep", x: "reject", u: "maybe", c: "several", "?": "keys", z: "zoom" };
const WITH_CTRL = { z: "undo", y: "redo" };
const PAN_PIXELS = 120;
const control = (name) => document.getElementById(name);
const selectedPictures = () => pictures.filter((picture) => selected.has(picture.place));

// What is decided on: the picture in view, else the selection, else the picture with the focus.
function targets() {
  if (viewer.open) return [shown];
  if (selected.size) return selectedPictures();
  return grid.current < 0 ? [] : [grid.list[grid.current]];
}

const ACTIONS = {
  keep: () => decide(targets(), { decision: "keep" }),
  maybe: () => decide(targets(), { decision: "maybe" }),
  reject: () => decide(targets(), { decision: "reject" }),
  // The star that is there already takes itself away.
  rate: (button) => decide([shown], { stars: Number(button.dataset.stars) === starsOf(shown) ? 0 : Number(button.dataset.stars) }),
  undo,
  redo,
  zoom: () => {
    if (!viewer.open) return;
    zoom();
    pan(document.querySelector(".pane[data-current]"), 0, 0);
  },
  several: () => {
    if (!viewer.open && selected.size > 1) openViewer(selectedPictures()[0]);
    if (viewer.open) toggleSideBySide();
  },
  cull: () => { if (grid.list.length) openViewer(grid.list[Math.max(grid.current, 0)]); },
  before: () => step(-1),
  after: () => step(1),
  "group-before": () => stepGroup(-1),
  "group-after": () => stepGroup(1),
  select: () => {
    if (!selected.delete(shown.place)) selected.add(shown.place);
    selectionChanged();
    show(shown);
  },
  close: (button) => button.closest("dialog").close(),
  keys: () => control("keys").showModal(),
  export: openExport,
  "export-list": exportList,
  "export-csv": exportTable,
  assess: () => lead("assess", viewer.open ? [shown] : chosen()),
  compare: () => lead("compare", chosen()),
  "select-all": () => { for (const picture of grid.list) selected.add(picture.place); selectionChanged(); },
  "select-none": () => { selected.clear(); selectionChanged(); },
};

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (button) ACTIONS[button.dataset.act](button);
});

function namedByKey(event) {
  const key = event.key.toLowerCase();
  if (event.ctrlKey || event.metaKey) return key === "z" && event.shiftKey ? "redo" : WITH_CTRL[key];
  return event.altKey ? undefined : KEYS[key];
}

document.addEventListener("keydown", (event) => {
  const inField = event.target.matches("input[type=search], select, input[type=range]");
  if (inField || document.querySelector("dialog[open]:not(#viewer)")) return;
  const name = namedByKey(event);
  if (name) ACTIONS[name]();
  else if (event.ctrlKey || event.metaKey || event.altKey) return;
  else if (/^[0-5]$/.test(event.key)) decide(targets(), { stars: Number(event.key) });
  else if (!(viewer.open ? movedInViewer(event) : movedInGrid(event))) return;
  event.preventDefault();
});

function movedInViewer(event) {
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  if (event.key === "Escape") { back(); return true; }
  if (!(event.key in ways)) return false;
  const [right, down] = ways[event.key];
  if (event.shiftKey) { if (view.zoomed) pan(document.querySelector(".pane[data-current]"), -right * PAN_PIXELS, -down * PAN_PIXELS); }
  else if (right) step(right);
  else stepGroup(down);
  return true;
}

function movedInGrid(event) {
  if (event.key === "/") { control("search").focus(); return true; }
  if (event.target.closest(".top")) return false;
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns };
  if (event.key in moves) moveTo(grid.current < 0 ? 0 : grid.current + moves[event.key]);
  else if (event.key === "Home") moveTo(0);
  else if (event.key === "End") moveTo(grid.list.length - 1);
  else if (event.key === " " && grid.current >= 0 && event.target.matches(".frame, main, body")) toggle(grid.current, event.shiftKey);
  else return false;
  return true;
}
