// One picture, large, with all that is known of it and the pictures it belongs with.
const viewer = document.getElementById("viewer");
const part = (name) => document.getElementById(`viewer-${name}`);
const GROUPS = ["exact", "near", "burst"];
const SHOWN_MEMBERS = 24;
let shownIndex = -1;

function openViewer(index) {
  showPicture(index);
  if (!viewer.open) viewer.showModal();
}

function showPicture(index) {
  shownIndex = index;
  const picture = grid.list[index];
  part("name").textContent = picture.path;
  showImage(picture);
  part("keep").textContent = `${t(picture.keep ? "keep.yes" : "keep.no")}${picture.why ? `: ${picture.why}` : ""}`;
  part("findings").replaceChildren(...Object.entries(picture.findings).map(foundItem));
  part("numbers").replaceChildren(...numbers(picture).flatMap(([name, value]) => [made("dt", name), made("dd", value)]));
  part("group").replaceChildren(...GROUPS.flatMap((name) => groupStrip(picture, name)));
  part("select").textContent = t(selected.has(picture.place) ? "viewer.unselect" : "viewer.select");
  part("before").disabled = index === 0;
  part("after").disabled = index === grid.list.length - 1;
  const file = fileOf(picture);
  part("open").hidden = !file;
  if (file) part("open").href = file;
}

function showImage(picture) {
  const image = part("image");
  const small = thumbnailOf(picture) || "";
  image.onerror = () => { image.onerror = null; if (small) image.src = small; };
  image.alt = picture.path;
  image.hidden = !picture.opens;
  const file = fileOf(picture);
  if (file || small) image.src = file || small;
  else image.removeAttribute("src");
}

function made(tag, text) {
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

function groupStrip(picture, name) {
  const column = `${name}_group`;
  if (picture[column] == null) return [];
  const members = pictures.filter((other) => other[column] === picture[column]);
  const strip = document.createElement("div");
  strip.className = "strip";
  for (const member of members.slice(0, SHOWN_MEMBERS)) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = member.path;
    button.toggleAttribute("data-best", Boolean(member.keep));
    const image = document.createElement("img");
    image.alt = member.path;
    image.src = thumbnailOf(member) || "";
    button.append(image);
    button.addEventListener("click", () => showMember(member));
    strip.append(button);
  }
  return [made("p", t(`group.${name}`, { count: members.length })), strip];
}

function showMember(member) {
  let index = grid.list.indexOf(member);
  if (index < 0) {
    // It is filtered away: show everything, so that before and after mean something.
    clearFilters();
    index = grid.list.indexOf(member);
  }
  showPicture(index);
}

const step = (by) => { const next = shownIndex + by; if (grid.list[next]) showPicture(next); };
part("before").addEventListener("click", () => step(-1));
part("after").addEventListener("click", () => step(1));
part("close").addEventListener("click", () => viewer.close());
part("select").addEventListener("click", () => { toggle(shownIndex, false); showPicture(shownIndex); });
part("assess").addEventListener("click", () => lead("assess", [grid.list[shownIndex]]));
// The event comes a moment after the dialog has gone: the focus stays in the search where the user is there by then.
viewer.addEventListener("close", () => { if (document.activeElement !== control("search")) moveTo(shownIndex); });
viewer.addEventListener("click", (event) => { if (event.target === viewer) viewer.close(); });
// On the document: a button that was pressed may be gone by now, and the focus with it.
document.addEventListener("keydown", (event) => {
  if (!viewer.open) return;
  if (event.key === "ArrowLeft") step(-1);
  if (event.key === "ArrowRight") step(1);
});
