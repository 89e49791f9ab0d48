// The culling view: one picture large beside its group, or up to four side by side, to be decided by keys or buttons.
const viewer = document.getElementById("viewer");
const part = (name) => document.getElementById(`viewer-${name}`);
const GROUPS = ["burst", "near", "exact"];
const PANES = 4;
const STRIP = 24;
// What the list showed when the view was opened, with whole groups: a decision takes nothing away while one looks.
let walk = [];
let shown = null;
let sideBySide = false;
// Selected pictures that are compared instead of groups.
let comparedOnly = null;

function openViewer(picture) {
  walk = [...new Set(grid.list.flatMap(groupOf))];
  [sideBySide, comparedOnly, view.zoomed] = [false, null, false];
  showZoom();
  viewer.showModal();
  viewer.focus();
  show(picture);
}

const line = () => comparedOnly ?? walk;
const setOf = (picture) => comparedOnly ?? groupOf(picture);
function pageOf(list, picture, size) {
  const start = Math.floor(list.indexOf(picture) / size) * size;
  return list.slice(start, start + size);
}

function show(picture) {
  shown = picture;
  showPanes(sideBySide ? pageOf(setOf(picture), picture, PANES) : [picture], picture);
  const at = line().indexOf(picture);
  part("name").textContent = picture.path;
  part("at").textContent = t("viewer.at", { at: inDigits(at + 1, 0), count: inDigits(line().length, 0) });
  part("findings").replaceChildren(...Object.entries(picture.findings).map(foundItem));
  part("numbers").replaceChildren(...numbers(picture).flatMap(([name, value]) => [made("dt", name), made("dd", value)]));
  part("select").textContent = t(selected.has(picture.place) ? "viewer.unselect" : "viewer.select");
  part("before").disabled = at === 0;
  part("after").disabled = at === line().length - 1;
  const file = fileOf(picture, WHOLE);
  part("open").hidden = !file;
  if (file) part("open").href = file;
  // The next one is there when it is asked for.
  const next = line()[at + 1] && fileOf(line()[at + 1], FITTING);
  if (next) new Image().src = next;
  showOwnDecision(picture);
  showGroup(picture);
}

function showOwnDecision(picture) {
  part("decision").textContent = decisionInWords(picture);
  part("decision").dataset.decision = decisionOf(picture);
  const ours = [t(`decision.${picture.decision}`), picture.why].filter(Boolean).join(": ");
  part("why").textContent = yours.has(picture.place) ? `AgenticIQA: ${ours}` : (picture.why ?? "");
  for (const name of DECISIONS) part(name).setAttribute("aria-pressed", String(decisionOf(picture) === name));
  for (const button of part("stars").children) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.stars) === starsOf(picture)));
    button.textContent = Number(button.dataset.stars) <= starsOf(picture) ? "★" : "☆";
  }
  part("zoom").setAttribute("aria-pressed", String(view.zoomed));
  part("several").setAttribute("aria-pressed", String(sideBySide));
  part("several").disabled = !comparable();
  const counts = decisionCounts();
  part("counts").textContent = DECISIONS.map((name) => `${t(`decision.${name}`)} ${inDigits(counts[name], 0)}`).join(" · ");
}

function made(tag, text = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function foundItem([name, why]) {
  const item = made("li", finding(name));
  item.append(made("span", why));
  return item;
}

function numbers(picture) {
  const rows = [];
  if (picture.score != null) rows.push([t("column.score"), t("viewer.score", { score: inDigits(picture.score, 2), level: picture.level })]);
  if (picture.sort) rows.push([t("column.sort"), kind(picture.sort)]);
  if (picture.width) rows.push([t("column.area"), `${picture.width} × ${picture.height}`]);
  if (picture.format) rows.push([t("column.format"), `${picture.format}, ${fileSize(picture.bytes)}`]);
  if (picture.taken) rows.push([t("column.taken"), picture.taken.replace("T", " ")]);
  for (const name of ["brightness", "sharpness", "detail", "entropy", "generated"]) {
    if (picture[name] != null) rows.push([t(`column.${name}`), inDigits(picture[name], 2)]);
  }
  return rows;
}

// The pictures that it belongs with, as a strip; of a long series the part around it.
function showGroup(picture) {
  const members = setOf(picture);
  const around = pageOf(members, picture, STRIP);
  const strip = part("strip");
  part("group").hidden = members.length < 2;
  part("group-name").textContent = GROUPS.filter((name) => picture[`${name}_group`] != null).map((name) => (
    t(`group.${name}`, { count: members.filter((other) => other[`${name}_group`] === picture[`${name}_group`]).length })
  )).join(" · ");
  const key = around.map((each) => each.place).join();
  if (strip.dataset.places !== key) strip.replaceChildren(...around.map(member));
  strip.dataset.places = key;
  around.forEach((each, number) => {
    const button = strip.children[number];
    showDecision(button.mark, each);
    button.setAttribute("aria-label", `${each.path}: ${decisionInWords(each)}`);
    button.setAttribute("aria-current", String(each === picture));
    if (each === picture) button.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
}

function member(picture) {
  const button = made("button");
  button.type = "button";
  button.title = picture.path;
  const image = made("img");
  image.alt = "";
  const small = thumbnailOf(picture);
  if (small) image.src = small;
  button.mark = made("span");
  button.mark.className = "mark";
  button.append(image, button.mark);
  button.addEventListener("click", () => show(picture));
  return button;
}

function step(by) {
  const next = line()[line().indexOf(shown) + by];
  if (next) show(next);
}

// To the first of the next or the previous group; a picture without one is a group of its own.
function stepGroup(by) {
  let index = walk.indexOf(shown);
  while (walk[index] && groupOf(walk[index]).includes(shown)) index += by;
  if (!walk[index]) return;
  comparedOnly = null;
  show(groupOf(walk[index])[0]);
}

// What side by side would show instead of the group.
const comparedSelection = () => (selected.size > 1 && selected.has(shown.place) ? selectedPictures() : null);
const comparable = () => sideBySide || (comparedSelection() ?? groupOf(shown)).length > 1;

function toggleSideBySide() {
  if (!comparable()) return;
  comparedOnly = sideBySide ? null : comparedSelection();
  sideBySide = !sideBySide;
  show(shown);
}

// From 100 % to the whole picture, from several to one, from one to the sheet.
function back() {
  if (view.zoomed) zoom();
  else if (sideBySide) toggleSideBySide();
  else viewer.close();
}

for (let count = 1; count <= 5; count += 1) {
  const button = made("button");
  Object.assign(button, { type: "button", ariaLabel: starsInWords(count) });
  Object.assign(button.dataset, { act: "rate", stars: count });
  part("stars").append(button);
}
// The event comes a moment after the dialog has gone: the focus stays in the search where the user is there by then.
viewer.addEventListener("close", () => {
  const before = grid.list.indexOf(shown);
  if (sortedByDecision()) showWanted();
  const now = grid.list.indexOf(shown);
  if (document.activeElement !== control("search")) moveTo(now < 0 ? before : now);
});
