// The controls, the keys, and the first drawing.
const ORDERS = ["path", "findings", "decision", "stars", "score", "level", "sort", "width", "height", "area", "ratio", "format", "bytes", "taken",
  "brightness", "sharpness", "detail", "entropy", "generated", "group"];

function showWanted() {
  const list = wantedPictures();
  showList(list);
  control("nothing").hidden = list.length > 0;
  selectionChanged();
}

function selectionChanged() {
  refreshMarks();
  control("count").textContent = t(selected.size ? "count.selected" : "count.shown", { pictures: countOf(grid.list.length), count: inDigits(selected.size, 0) });
  control("picked").hidden = !selected.size;
  control("several").disabled = selected.size < 2;
  control("assess").disabled = selected.size !== 1;
  control("compare").disabled = selected.size !== 2;
  if (leadsTo("select")) lead("select", selectedPictures());
}

const sortedByDecision = () => wanted.decisions.size > 0 || ["decision", "stars"].includes(wanted.order);

function decisionsChanged(picture) {
  showCounts();
  refreshMarks();
  if (viewer.open) show(line().includes(picture) ? picture : shown);
  else if (sortedByDecision()) {
    const at = grid.current;
    showWanted();
    if (at >= 0) moveTo(at);
  }
}

function showCounts() {
  const counts = decisionCounts();
  for (const chip of control("decisions").querySelectorAll("button")) {
    chip.textContent = `${t(`decision.${chip.dataset.name}`)} ${inDigits(counts[chip.dataset.name], 0)}`;
  }
  for (const [name, steps] of Object.entries({ undo: done, redo: undone })) {
    for (const button of document.querySelectorAll(`[data-act=${name}]`)) button.disabled = !steps.length;
  }
}

function option(value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}

function chip(name, chosenNames) {
  const item = made("li");
  const button = made("button");
  button.type = "button";
  button.dataset.name = name;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const on = !chosenNames.delete(name);
    if (on) chosenNames.add(name);
    button.setAttribute("aria-pressed", String(on));
    showWanted();
  });
  item.append(button);
  return item;
}

function makeChips() {
  const counts = findingCounts();
  const order = Object.keys(about.summary.findings);
  control("filters").hidden = !order.length;
  control("filters").open = window.innerWidth > 640;
  control("chips").append(...order.map((name) => chip(name, wanted.findings)));
  for (const button of control("chips").querySelectorAll("button")) {
    button.textContent = `${finding(button.dataset.name)} ${inDigits(counts.get(button.dataset.name) ?? 0, 0)}`;
  }
  control("decisions").append(...[...DECISIONS, "you"].map((name) => chip(name, wanted.decisions)));
}

function makeSelects() {
  for (const name of ["all", "found", "clean", "chosen"]) control("shown").append(option(name, t(`show.${name}`)));
  control("sorts").append(option("", t("sort.every")), ...Object.keys(about.summary.sorts).map((name) => option(name, kind(name))));
  control("sorts").parentElement.hidden = Object.keys(about.summary.sorts).length < 2;
  control("order").append(option("", t("order.folder")));
  for (const name of ORDERS) if (columnHasValues(name)) control("order").append(option(name, t(`column.${name}`)));
}

function clearFilters() {
  Object.assign(wanted, { search: "", shown: "all", sort: "" });
  wanted.findings.clear();
  wanted.decisions.clear();
  control("search").value = "";
  control("shown").value = "all";
  control("sorts").value = "";
  for (const each of document.querySelectorAll(".chips button")) each.setAttribute("aria-pressed", "false");
  showWanted();
}

function listen() {
  let typing = 0;
  control("search").addEventListener("input", (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => { wanted.search = event.target.value.trim().toLowerCase(); showWanted(); }, 120);
  });
  control("tools").addEventListener("submit", (event) => event.preventDefault());
  control("shown").addEventListener("change", (event) => { wanted.shown = event.target.value; showWanted(); });
  control("sorts").addEventListener("change", (event) => { wanted.sort = event.target.value; showWanted(); });
  control("order").addEventListener("change", (event) => { wanted.order = event.target.value; showWanted(); });
  control("direction").addEventListener("click", () => {
    wanted.descending = !wanted.descending;
    control("direction").textContent = t(wanted.descending ? "tools.descending" : "tools.ascending");
    control("direction").setAttribute("aria-pressed", String(wanted.descending));
    showWanted();
  });
  control("size").addEventListener("input", redraw);
  control("clear").addEventListener("click", clearFilters);
  window.addEventListener("scroll", drawSoon, { passive: true });
  window.addEventListener("resize", redraw);
  // Another window may show the same sheet.
  window.addEventListener("storage", (event) => { if (event.key === STORED_DECISIONS) { recallDecisions(); decisionsChanged(shown); } });
}

const total = about.summary;
control("told").textContent = [
  t("top.told", { pictures: countOf(total.pictures), fine: inDigits(total.without_finding, 0) }),
  ...(total.mean_score == null ? [] : [t("top.mean", { mean: inDigits(total.mean_score, 2) })]),
].join(", ");
control("origin").textContent = [
  t("foot.made", { date: new Date(about.made).toLocaleString("en", { dateStyle: "long", timeStyle: "short" }), version: about.version }),
  ...(total.mean_score == null ? [] : [t("foot.scores")]),
].join(" ");
for (const name of ["assess", "compare"]) control(name).hidden = !leadsTo(name);
part("assess").hidden = !leadsTo("assess");
makeChips();
makeSelects();
listen();
recallDecisions();
showCounts();
showWanted();
