// The controls, the keys, and the first drawing.
const ORDERS = ["path", "findings", "keep", "score", "level", "sort", "width", "height", "area", "ratio", "format", "bytes", "taken",
  "brightness", "sharpness", "detail", "entropy", "generated", "group"];
const control = (name) => document.getElementById(name);

function showWanted() {
  const list = wantedPictures();
  showList(list);
  control("nothing").hidden = list.length > 0;
  selectionChanged();
}

function selectionChanged() {
  refreshMarks();
  control("count").textContent = t(selected.size ? "count.selected" : "count.shown", { pictures: countOf(grid.list.length), count: inDigits(selected.size, 0) });
  control("select-none").disabled = !selected.size;
  control("assess").disabled = selected.size !== 1;
  control("compare").disabled = selected.size !== 2;
  if (leadsTo("select")) lead("select", pictures.filter((picture) => selected.has(picture.place)));
}

function option(value, text) {
  const made = document.createElement("option");
  made.value = value;
  made.textContent = text;
  return made;
}

function makeChips() {
  const counts = findingCounts();
  const order = Object.keys(about.summary.findings);
  control("filters").hidden = !order.length;
  control("filters").open = window.innerWidth > 640;
  control("chips").append(...order.map((name) => {
    const item = document.createElement("li");
    const chip = document.createElement("button");
    chip.type = "button";
    chip.dataset.finding = name;
    chip.setAttribute("aria-pressed", "false");
    chip.textContent = `${finding(name)} ${inDigits(counts.get(name) ?? 0, 0)}`;
    chip.addEventListener("click", () => {
      const on = !wanted.findings.delete(name);
      if (on) wanted.findings.add(name);
      chip.setAttribute("aria-pressed", String(on));
      showWanted();
    });
    item.append(chip);
    return item;
  }));
}

function makeSelects() {
  for (const name of ["all", "found", "clean", "keep", "drop", "chosen"]) control("shown").append(option(name, t(`show.${name}`)));
  control("sorts").append(option("", t("sort.every")), ...Object.keys(about.summary.sorts).map((name) => option(name, kind(name))));
  control("sorts").parentElement.hidden = Object.keys(about.summary.sorts).length < 2;
  control("order").append(option("", t("order.folder")));
  for (const name of ORDERS) if (columnHasValues(name)) control("order").append(option(name, t(`column.${name}`)));
}

function clearFilters() {
  Object.assign(wanted, { search: "", shown: "all", sort: "" });
  wanted.findings.clear();
  control("search").value = "";
  control("shown").value = "all";
  control("sorts").value = "";
  for (const chip of control("chips").querySelectorAll("button")) chip.setAttribute("aria-pressed", "false");
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
  control("select-all").addEventListener("click", () => { for (const picture of grid.list) selected.add(picture.place); selectionChanged(); });
  control("select-none").addEventListener("click", () => { selected.clear(); selectionChanged(); });
  control("export-list").addEventListener("click", exportList);
  control("export-csv").addEventListener("click", exportTable);
  control("assess").addEventListener("click", () => lead("assess", chosen()));
  control("compare").addEventListener("click", () => lead("compare", chosen()));
  control("clear").addEventListener("click", clearFilters);
  window.addEventListener("scroll", drawSoon, { passive: true });
  window.addEventListener("resize", redraw);
  document.addEventListener("keydown", pressed);
}

function pressed(event) {
  if (viewer.open || event.ctrlKey || event.metaKey || event.altKey) return;
  const inField = event.target.matches("input[type=search], select, input[type=range]");
  if (event.key === "/" && !inField) { event.preventDefault(); control("search").focus(); return; }
  if (inField || event.target.closest(".top")) return;
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.columns, ArrowDown: grid.columns };
  if (event.key in moves) { event.preventDefault(); moveTo(grid.current < 0 ? 0 : grid.current + moves[event.key]); }
  else if (event.key === "Home") { event.preventDefault(); moveTo(0); }
  else if (event.key === "End") { event.preventDefault(); moveTo(grid.list.length - 1); }
  else if (event.key === " " && grid.current >= 0 && event.target.matches(".frame, main, body")) { event.preventDefault(); toggle(grid.current, event.shiftKey); }
}

const total = about.summary;
control("told").textContent = [
  t("top.told", { pictures: countOf(total.pictures), fine: inDigits(total.without_finding, 0), keep: inDigits(total.keep, 0) }),
  ...(total.mean_score == null ? [] : [t("top.mean", { mean: inDigits(total.mean_score, 2) })]),
].join(", ");
control("origin").textContent = [
  t("foot.made", { date: new Date(about.made).toLocaleString(language, { dateStyle: "long", timeStyle: "short" }), version: about.version }),
  ...(total.mean_score == null ? [] : [t("foot.scores")]),
].join(" ");
for (const name of ["assess", "compare"]) control(name).hidden = !leadsTo(name);
part("assess").hidden = !leadsTo("assess");
makeChips();
makeSelects();
listen();
showWanted();
