// The sheet's words in the reader's language: that of the page around it where there is one, else the browser's.
const LANGUAGES = JSON.parse(document.getElementById("words").textContent);
const STORED_LANGUAGE = "agenticiqa.language";

function storedLanguage() {
  try {
    return localStorage.getItem(STORED_LANGUAGE);
  } catch {
    return null; // a sheet that is opened as a file may not be allowed to ask
  }
}
const language = [storedLanguage(), ...(navigator.languages ?? [])].filter(Boolean)
  .map((each) => each.toLowerCase().split("-")[0]).find((each) => each in LANGUAGES) ?? "en";
const own = LANGUAGES[language];

// The words for a key, with {name} filled in. A key without words is a mistake in this sheet.
function t(key, values = {}) {
  if (own[key] === undefined) throw new Error(`No words for ${key}`);
  return own[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

function fillWords() {
  document.documentElement.lang = language;
  for (const node of document.querySelectorAll("[data-words]")) node.textContent = t(node.dataset.words);
  for (const node of document.querySelectorAll("[data-words-label]")) node.setAttribute("aria-label", t(node.dataset.wordsLabel));
  for (const node of document.querySelectorAll("[data-words-hint]")) node.placeholder = t(node.dataset.wordsHint);
}

// A later version may find what this sheet has no words for: its own name is then shown.
const finding = (name) => own[`finding.${name}`] ?? name.replaceAll("_", " ");
const kind = (name) => own[`kind.${name}`] ?? name;
const inDigits = (number, digits) => number.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
const countOf = (number) => t(number === 1 ? "count.one" : "count.many", { count: inDigits(number, 0) });
function fileSize(bytes) {
  if (bytes == null) return "";
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${inDigits(bytes / 1e6, 1)} MB`;
}
fillWords();
