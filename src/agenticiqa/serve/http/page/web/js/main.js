// Puts the page together.

import { getJson, startRun } from "./api.js";
import { Bench } from "./bench.js";
import { byId, el, replace } from "./dom.js";
import { Examples } from "./examples.js";
import { HistoryView } from "./history_view.js";
import { setUpKey } from "./key_dialog.js";
import { MapStore, mapsOf } from "./maps.js";
import { problemCard } from "./messages.js";
import { pictureIn } from "./picture_slot.js";
import { suggestions } from "./questions.js";
import { RegionPanel } from "./region_panel.js";
import { RunResults } from "./run_results.js";
import { watchServer } from "./server_state.js";
import { setUpTheme } from "./theme.js";
import { Viewer } from "./viewer.js";

const question = byId("question");
const benches = { assess: new Bench("assess", pictureChanged), compare: new Bench("compare", pictureChanged) };
const viewer = new Viewer(byId("viewer"), { regionDrawn, mapChosen });
const regionPanel = new RegionPanel(byId("region-asked"), regionChanged);
const examples = new Examples(byId("examples"), runExample);
const history = new HistoryView(byId("history-list"));
const maps = new MapStore();
let readyTools = new Set();
let bench = benches.assess;

// --- views ---

function route() {
  // The link that skips to the question also changes the fragment, but not the view.
  if (location.hash && !location.hash.startsWith("#/")) return undefined;
  const [view, id] = location.hash.replace(/^#\//, "").split("/");
  if (view === "history") return showHistory();
  if (view === "run" && /^[0-9a-f]{12}$/.test(id ?? "")) return openRun(id);
  showBench(benches[view] ?? benches.assess);
  return undefined;
}

function mark(view, title) {
  for (const link of document.querySelectorAll(".tabs a")) {
    if (link.dataset.view === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  byId("view-title").textContent = title;
  document.title = `${title} · AgenticIQA`;
  byId("bench").hidden = view === "history";
  byId("history").hidden = view !== "history";
  replace(byId("messages"));
}

function showHistory() {
  bench.question = question.value;
  mark("history", "History");
  return history.open();
}

function showBench(next) {
  if (next !== bench) bench.question = question.value;
  bench = next;
  mark(bench.kind, bench.facts.title);
  byId("question-title").textContent = bench.kind === "compare" ? "Question about both" : "Question";
  question.value = bench.question;
  replace(byId("slots"), bench.slots.map((slot) => slot.element));
  byId("slots").dataset.kind = bench.kind;
  replace(byId("results"), bench.results);
  byId("ask").textContent = bench.facts.action;
  regionPanel.set(bench.region, bench.slot("image")?.picture);
  refreshPictures();
  refreshMaps();
  refreshForm();
}

function refreshPictures() {
  viewer.setPictures(bench.shown, bench.kind === "compare" ? "both" : "first");
  viewer.setRegion(bench.region);
  if (bench.empty) examples.show(bench.kind);
  else examples.hide();
}

function refreshMaps() {
  viewer.setMaps(bench.run ? mapsOf(bench.run, readyTools) : []);
  maps.keepOnly([benches.assess.run, benches.compare.run].filter(Boolean));
}

function refreshForm() {
  const busy = Boolean(bench.active);
  byId("ask").disabled = busy;
  byId("cancel").hidden = !busy;
  byId("ask-hint").textContent = "";
  // Once something was asked, the room is the answer's.
  byId("suggested").open = !busy && !bench.run;
  const reference = Boolean(bench.slot("reference").picture);
  const suggested = suggestions({ region: bench.region?.name, reference, kind: bench.kind });
  replace(
    byId("suggestions"),
    suggested.map((text) => el("button", { type: "button", class: "chip", title: text, onclick: () => suggest(text) }, text)),
  );
  if (!bench.results.children.length) replace(bench.results, emptyResults());
}

function suggest(text) {
  question.value = text;
  regionPanel.checkQuestion(text);
  question.focus();
}

function emptyResults() {
  const steps = [
    ["Plan", "what is asked, and which steps answer it"],
    ["Evidence", "distortions found, their severity, tools that measure them"],
    ["Answer", "a score with its interval, or words, and the reasons"],
  ];
  return el("section", { class: "card empty-results" }, el("h3", { class: "card-title" }, "What you will see"), el("ol", {}, steps.map(([name, words]) => el("li", {}, el("strong", {}, name), `: ${words}`))));
}

function announce(words) {
  byId("announcer").textContent = words;
}

// --- pictures and regions ---

function pictureChanged(which, slot) {
  if (!which.loading) {
    if (slot.name === "image") which.region = null;
    forgetRun(which);
  }
  if (which !== bench) return;
  regionPanel.set(bench.region, bench.slot("image")?.picture);
  refreshPictures();
  refreshMaps();
  refreshForm();
}

/** Results belong to the pictures they were made from. */
function forgetRun(which) {
  which.active?.stop.abort();
  which.active = null;
  which.run = null;
  replace(which.results);
  if (location.hash.startsWith("#/run/")) window.history.replaceState(null, "", `#/${which.kind}`);
}

function regionDrawn(box) {
  regionChanged({ name: bench.region?.name ?? "selection", box });
}

function regionChanged(region) {
  const before = bench.region;
  bench.region = region;
  viewer.setRegion(region);
  regionPanel.set(region, bench.slot("image")?.picture);
  regionPanel.checkQuestion(question.value);
  if (before?.name === region?.name) return;
  const suggested = suggestions({ region: region?.name });
  // A question that was only suggested makes way for one about the region, and the other way round.
  const asked = question.value.trim();
  if (!asked || asked === bench.question || suggestions({ reference: true }).includes(asked) || (before && suggestions({ region: before.name }).includes(asked))) [question.value] = suggested;
  regionPanel.checkQuestion(question.value);
  refreshForm();
  if (region) byId("suggested").open = true;
}

async function mapChosen(name) {
  const run = bench.run;
  viewer.setMap(null);
  if (!name || !run) return;
  viewer.say("Drawing the map …");
  try {
    const map = await maps.find(run, name);
    if (run === bench.run && viewer.mapSelect.value === name) viewer.setMap(map);
  } catch (problem) {
    viewer.say(problem.message);
  }
}

// --- asking ---

async function ask() {
  const asked = bench;
  if (asked.missing) {
    byId("ask-hint").textContent = `Choose ${asked.missing.label.toLowerCase()} first.`;
    asked.missing.element.querySelector("input").focus();
    return;
  }
  asked.question = question.value;
  asked.run = null;
  const form = asked.form(question.value.trim(), byId("backend").value);
  const stop = new AbortController();
  const results = new RunResults(asked.results, announce);
  asked.active = { stop, results, run: null };
  refreshMaps();
  refreshForm();
  revealResults();
  await carryOut(asked, asked.active, () => startRun(asked.kind, form, stop.signal), ask);
}

/** Starts or finds a run, follows it, and shows what came of it. */
async function carryOut(which, active, begin, again) {
  try {
    active.run = await begin();
    if (which.active !== active) return;
    // From now on the page's address leads to this run.
    if (bench === which && location.hash !== `#/run/${active.run.id}`) window.history.pushState(null, "", `#/run/${active.run.id}`);
    refreshForm();
    const ended = await active.results.follow(active.run, active.stop.signal);
    if (which.active !== active) return;
    which.run = ended;
    await showUnshown(which, ended);
  } catch (problem) {
    if (problem.name !== "AbortError" && which.active === active) active.results.fail(problem, again);
  } finally {
    active.results.stop();
    if (which.active === active) which.active = null;
    if (which === bench) {
      refreshPictures();
      refreshMaps();
      refreshForm();
    }
  }
}

/** A picture whose format this browser cannot show is shown as the server decoded it. */
async function showUnshown(which, run) {
  which.loading = true;
  try {
    for (const slot of which.slots) {
      if (slot.picture && !slot.picture.url && run.links[slot.name]) await slot.takeStored(run.links[slot.name], slot.picture.name);
    }
  } finally {
    which.loading = false;
  }
}

/** On a phone the results are below the fold. */
function revealResults() {
  if (matchMedia("(max-width: 60rem)").matches) byId("results").scrollIntoView({ block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
}

async function cancel() {
  const { active } = bench;
  if (!active) return;
  if (!active.run) {
    // Not accepted yet: nothing on the server has to be told.
    active.stop.abort();
    active.results.stop();
    bench.active = null;
    replace(bench.results);
    refreshForm();
    return;
  }
  byId("cancel").disabled = true;
  try {
    await active.results.cancel(active.run);
  } catch (problem) {
    replace(byId("messages"), problemCard(problem));
  } finally {
    byId("cancel").disabled = false;
  }
}

async function runExample(kind, example, all) {
  const which = benches[kind];
  const original = all.find((each) => each.name === example.reference);
  question.value = kind === "compare" ? which.question : example.query;
  try {
    if (kind === "compare") await Promise.all([which.slot("image_a").takeExample(original), which.slot("image_b").takeExample(example)]);
    else {
      await which.slot("image").takeExample(example);
      if (original) await which.slot("reference").takeExample(original);
    }
    await ask();
  } catch (problem) {
    replace(byId("messages"), problemCard(problem, () => runExample(kind, example, all)));
  }
}

// --- earlier runs ---

async function openRun(id) {
  if ([benches.assess, benches.compare].some((each) => showIfOpen(each, id))) return;
  try {
    const run = await getJson(`/v1/runs/${id}`);
    const which = benches[run.kind];
    forgetRun(which);
    window.history.replaceState(null, "", `#/run/${id}`);
    which.loading = true;
    which.question = run.query ?? which.question;
    showBench(which);
    question.value = which.question;
    await takePictures(which, run);
    which.region = regionOf(run);
    which.loading = false;
    showBench(which);
    const active = { stop: new AbortController(), results: new RunResults(which.results, announce), run };
    which.active = active;
    await carryOut(which, active, async () => run, () => openRun(id));
  } catch (problem) {
    showBench(bench);
    replace(byId("messages"), problemCard(problem, () => openRun(id)));
  }
}

function showIfOpen(which, id) {
  const open = which.run?.id === id || which.active?.run?.id === id;
  if (open) showBench(which);
  return open;
}

async function takePictures(which, run) {
  for (const slot of which.slots) {
    try {
      if (run.links[slot.name]) await slot.takeStored(run.links[slot.name], run.request.pictures[slot.name]);
      else slot.clear();
    } catch (problem) {
      slot.clear();
      replace(byId("messages"), problemCard(problem));
    }
  }
}

function regionOf(run) {
  const [first] = Object.entries(run.request.regions ?? {});
  return first ? { name: first[0], box: first[1] } : null;
}

// --- starting ---

function listen() {
  window.addEventListener("hashchange", route);
  byId("ask-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (!bench.active) ask();
  });
  question.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      if (!bench.active) ask();
    }
  });
  question.addEventListener("input", () => regionPanel.checkQuestion(question.value));
  byId("cancel").addEventListener("click", cancel);
  document.addEventListener("paste", (event) => {
    const file = pictureIn(event.clipboardData);
    if (!file || byId("bench").hidden) return;
    event.preventDefault();
    const focused = bench.slots.find((slot) => slot.element.contains(document.activeElement));
    (focused ?? bench.nextSlot).takeFile(file, "pasted picture");
  });
  // A picture dropped beside its place must not replace the page.
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file && !byId("bench").hidden) bench.nextSlot.takeFile(file);
  });
}

async function loadCatalogue() {
  try {
    const [backends, { tools }] = await Promise.all([getJson("/v1/backends"), getJson("/v1/tools"), examples.load()]);
    readyTools = new Set(tools.filter((tool) => tool.state === "ready").map((tool) => tool.name));
    fillBackends(backends);
    if (bench.empty && !byId("bench").hidden) examples.show(bench.kind);
    refreshMaps();
  } catch (problem) {
    if (problem.status !== 401) replace(byId("messages"), problemCard(problem, loadCatalogue));
  }
}

function fillBackends({ default: usual, selectable }) {
  const label = [...new Set(Object.values(usual))].filter(Boolean).join(", ") || "none";
  replace(byId("backend"), el("option", { value: "" }, `Default (${label})`), selectable.map((name) => el("option", { value: name }, name)));
  byId("backend-label").hidden = selectable.length < 2;
}

if (!location.hash.startsWith("#/")) window.history.replaceState(null, "", "#/assess");
setUpTheme(byId("theme-button"));
setUpKey(() => {
  loadCatalogue();
  route();
});
listen();
watchServer(byId("server-state"), byId("version"));
route();
loadCatalogue();
