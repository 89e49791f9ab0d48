// Puts the page together: which view is shown, what is listened to, what the server offers.

import { getJson } from "./api.js";
import { Desk } from "./desk.js";
import { byId, el, replace } from "./dom.js";
import { droppedFiles } from "./dropped.js";
import { HistoryView } from "./history_view.js";
import { setUpKey } from "./key_dialog.js";
import { ManyView } from "./many_view.js";
import { problemCard } from "./messages.js";
import { loadLimits, looksLikePicture } from "./picture_checks.js";
import { pictureIn } from "./picture_slot.js";
import { watchServer } from "./server_state.js";
import { setUpShortcuts } from "./shortcuts.js";
import { setUpTheme } from "./theme.js";
import { fillWords, t } from "./words.js";

const desk = new Desk({ several: takeSeveral, shown: mark });
const history = new HistoryView(byId("history-list"), { openInCompare: (pictures) => desk.takeKept(pictures) });
const many = new ManyView(byId("many-body"), { openPictures: (pictures) => desk.takeKept(pictures) });

// --- views ---

function route() {
  // The link that skips to the question also changes the fragment, but not the view.
  if (location.hash && !location.hash.startsWith("#/")) return undefined;
  const [view, id] = location.hash.replace(/^#\//, "").split("/");
  if (view === "history") return showHistory();
  if (view === "many") return showMany(/^[0-9a-f]{12}$/.test(id ?? "") ? id : null);
  if (view === "run" && /^[0-9a-f]{12}$/.test(id ?? "")) return desk.openRun(id);
  desk.show(view);
  return undefined;
}

function mark(view, title) {
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("view-title").textContent = title;
  document.title = `${title} · AgenticIQA`;
  byId("bench").hidden = view === "history" || view === "many";
  byId("history").hidden = view !== "history";
  byId("many").hidden = view !== "many";
  replace(byId("messages"));
}

function showHistory() {
  desk.leave();
  mark("history", t("history.title"));
  return history.open();
}

function showMany(id) {
  desk.leave();
  mark("many", t("many.title"));
  return many.open(id);
}

// --- what was chosen, dropped or pasted together ---

function goToMany() {
  window.history.pushState(null, "", "#/many");
  showMany(null);
}

/** The first pictures of many are shown while the others are opened. */
function expectMany(some) {
  const pictures = some.filter(looksLikePicture);
  if (many.expecting || pictures.length < 3) return;
  goToMany();
  many.expect(pictures);
}

/** One picture is asked about, two are compared, more are looked through; other files between them are left out. */
function takeSeveral(given) {
  const pictures = given.filter(looksLikePicture);
  const files = pictures.length ? pictures : given;
  if (!files.length) return;
  if (files.length > 2 || !desk.visible) {
    if (!many.expecting) goToMany();
    many.take(files);
    return;
  }
  if (files.length === 2 && desk.bench.kind === "assess") {
    window.history.pushState(null, "", "#/compare");
    desk.show("compare");
  }
  desk.takeFiles(files.map(({ file }) => file));
}

function listen() {
  window.addEventListener("hashchange", route);
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    desk.ask();
  });
  desk.question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      desk.ask();
    }
  });
  desk.question.addEventListener("input", () => desk.regionPanel.checkQuestion(desk.question.value));
  byId("cancel").addEventListener("click", () => desk.cancel());
  document.addEventListener("paste", (event) => {
    const file = pictureIn(event.clipboardData);
    if (!file || !desk.visible) return;
    event.preventDefault();
    const focused = desk.bench.slots.find((slot) => slot.element.contains(document.activeElement));
    (focused ?? desk.bench.nextSlot).takeFile(file, t("slot.pasted"));
  });
  // A picture dropped beside its place must not replace the page.
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    document.body.classList.toggle("dropping", Boolean(event.dataTransfer?.types.includes("Files")));
  });
  for (const end of ["dragleave", "drop", "dragend"]) document.addEventListener(end, () => document.body.classList.remove("dropping"));
  document.addEventListener("drop", async (event) => {
    event.preventDefault();
    const holdsFiles = event.dataTransfer?.types.includes("Files");
    const files = await droppedFiles(event.dataTransfer, expectMany);
    if (holdsFiles && !files.length) desk.say({ title: t("many.none") });
    takeSeveral(files);
  });
}

// --- what the server offers ---

async function loadCatalogue() {
  try {
    const [backends, { tools }, limits] = await Promise.all([getJson("/v1/backends"), getJson("/v1/tools"), loadLimits(), desk.start.load()]);
    desk.readyTools = new Set(tools.filter((tool) => tool.state === "ready").map((tool) => tool.name));
    fillBackends(backends);
    byId("kept").textContent = t("foot.kept", { hours: Math.round(limits.keep_uploads_hours) });
    if (desk.visible && !desk.bench.active) desk.refresh();
  } catch (problem) {
    if (problem.status !== 401) replace(byId("messages"), problemCard(problem, loadCatalogue));
  }
}

function fillBackends({ default: usual, selectable }) {
  const label = [...new Set(Object.values(usual))].filter(Boolean).join(", ") || "–";
  replace(byId("backend"), el("option", { value: "" }, t("form.default_model", { label })), selectable.map((name) => el("option", { value: name }, name)), selectable.length > 1 ? el("option", { value: selectable.slice(0, 8).join(",") }, t("form.all_models")) : null);
  byId("backend-label").hidden = selectable.length < 2;
}

/** Until now a press on a control would have been lost: they wait in the HTML as disabled. */
function ready() {
  for (const name of ["key-button", "theme-button", "shortcuts-button"]) byId(name).disabled = false;
  byId("not-loaded").hidden = true;
  document.documentElement.dataset.ready = "yes";
}

fillWords();
if (!location.hash.startsWith("#/")) window.history.replaceState(null, "", "#/assess");
setUpTheme(byId("theme-button"));
setUpShortcuts(desk);
setUpKey(() => {
  loadCatalogue();
  route();
});
listen();
watchServer(byId("server-state"), byId("version"), byId("server-lost"), () => {
  if (!desk.start.list.length) loadCatalogue();
});
route();
loadCatalogue();
ready();
