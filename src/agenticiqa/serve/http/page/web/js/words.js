// The page's words in the reader's language. Each language is one JSON file in words/; English fills what is missing.

export const LANGUAGES = { en: "English", de: "Deutsch", zh: "中文" };
const STORED = "agenticiqa.language";

export const language = chosenLanguage();
const [english, own] = await Promise.all([wordsOf("en"), language === "en" ? {} : wordsOf(language)]);

/** The words for a key, with {name} filled in. A key without words is a mistake in this page. */
export function t(key, values = {}) {
  const text = own[key] ?? english[key];
  if (text === undefined) throw new Error(`No words for ${key}`);
  return text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Words for a key that may not be there, such as the name of a kind that only some models know. */
export function wordsIfAny(key) {
  return own[key] ?? english[key] ?? null;
}

/** The English words of a key: what the embedded model understands. */
export function inEnglish(key, values = {}) {
  return english[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Fills the words of the page that stand in its HTML. */
export function fillWords(root = document) {
  document.documentElement.lang = language;
  for (const node of root.querySelectorAll("[data-words]")) node.textContent = t(node.dataset.words);
  for (const node of root.querySelectorAll("[data-words-label]")) node.setAttribute("aria-label", t(node.dataset.wordsLabel));
}

export function useLanguage(code) {
  try {
    localStorage.setItem(STORED, code);
  } catch {
    // Storage may be forbidden: the browser's own language then decides again.
  }
  location.reload();
}

function chosenLanguage() {
  const wanted = [stored(), ...(navigator.languages ?? [])].filter(Boolean).map((each) => each.toLowerCase().split("-")[0]);
  return wanted.find((each) => each in LANGUAGES) ?? "en";
}

function stored() {
  try {
    return localStorage.getItem(STORED);
  } catch {
    return null;
  }
}

async function wordsOf(code) {
  const response = await fetch(`/static/words/${code}.json`);
  if (!response.ok) throw new Error(`The words of ${code} could not be loaded`);
  return response.json();
}
