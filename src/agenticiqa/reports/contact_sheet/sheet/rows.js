// The pictures as data: read once, filtered and ordered as lists of places.
const about = JSON.parse(document.getElementById("about").textContent);
const { columns, rows, id: sheetId } = JSON.parse(document.getElementById("rows").textContent);
const groups = new Map();
const pictures = rows.map((cells, place) => {
  const picture = { place };
  columns.forEach((name, number) => { picture[name] = cells[number]; });
  picture.opens = Boolean(cells[columns.length]);
  picture.names = Object.keys(picture.findings);
  // A burst holds all versions of its shots, and versions all their copies.
  picture.group = picture.burst_group != null ? `b${picture.burst_group}` : picture.near_group != null
    ? `n${picture.near_group}` : picture.exact_group != null ? `e${picture.exact_group}` : null;
  if (groups.has(picture.group)) groups.get(picture.group).push(picture);
  else if (picture.group) groups.set(picture.group, [picture]);
  return picture;
});
const groupOf = (picture) => groups.get(picture.group) ?? [picture];
const VALUES = {
  findings: (picture) => picture.names.length,
  area: (picture) => picture.width && picture.width * picture.height,
  ratio: (picture) => picture.width && picture.width / picture.height,
  decision: (picture) => DECISIONS.indexOf(decisionOf(picture)),
  stars: (picture) => starsOf(picture),
  group: (picture) => picture.group && `${picture.group[0]}${picture.group.slice(1).padStart(8, "0")}`,
};
const valueOf = (picture, column) => (VALUES[column] ? VALUES[column](picture) : picture[column]);
const columnHasValues = (column) => pictures.some((picture) => valueOf(picture, column) != null);

const selected = new Set();
const wanted = { search: "", shown: "all", sort: "", findings: new Set(), decisions: new Set(), order: "", descending: false };

function matches(picture) {
  if (wanted.search && !picture.path.toLowerCase().includes(wanted.search)) return false;
  if (wanted.sort && picture.sort !== wanted.sort) return false;
  if (wanted.findings.size && !picture.names.some((name) => wanted.findings.has(name))) return false;
  const { decisions } = wanted;
  if (decisions.has("you") && !yours.has(picture.place)) return false;
  if (decisions.size > Number(decisions.has("you")) && !decisions.has(decisionOf(picture))) return false;
  switch (wanted.shown) {
    case "found": return picture.names.length > 0;
    case "clean": return picture.names.length === 0;
    case "chosen": return selected.has(picture.place);
    default: return true;
  }
}

// Pictures without a value come last, whichever way the others go.
function ordered(list) {
  const column = wanted.order;
  if (!column) return wanted.descending ? list.reverse() : list;
  const way = wanted.descending ? -1 : 1;
  const keyed = list.map((picture) => ({ picture, value: valueOf(picture, column) }));
  keyed.sort((one, other) => {
    if (one.value == null || other.value == null) return (one.value == null) - (other.value == null);
    return (one.value < other.value ? -way : one.value > other.value ? way : 0) || one.picture.place - other.picture.place;
  });
  return keyed.map((each) => each.picture);
}
const wantedPictures = () => ordered(pictures.filter(matches));

function findingCounts() {
  const counts = new Map();
  for (const picture of pictures) for (const name of picture.names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
