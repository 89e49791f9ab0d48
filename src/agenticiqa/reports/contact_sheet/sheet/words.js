// The sheet's words.
const own = JSON.parse(document.getElementById("words").textContent);

// The words for a key, with {name} filled in. A key without words is a mistake in this sheet.
function t(key, values = {}) {
  if (own[key] === undefined) throw new Error(`No words for ${key}`);
  return own[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

function fillWords() {
  for (const node of document.querySelectorAll("[data-words]")) node.textContent = t(node.dataset.words);
  for (const node of document.querySelectorAll("[data-words-label]")) node.setAttribute("aria-label", t(node.dataset.wordsLabel));
  for (const node of document.querySelectorAll("[data-words-hint]")) node.placeholder = t(node.dataset.wordsHint);
}

// A later version may find what this sheet has no words for: its own name is then shown.
const finding = (name) => own[`finding.${name}`] ?? name.replaceAll("_", " ");
const kind = (name) => own[`kind.${name}`] ?? name;
const inDigits = (number, digits) => number.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const countOf = (number) => t(number === 1 ? "count.one" : "count.many", { count: inDigits(number, 0) });
function fileSize(bytes) {
  if (bytes == null) return "";
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${inDigits(bytes / 1e6, 1)} MB`;
}
fillWords();
