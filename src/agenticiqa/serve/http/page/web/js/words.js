// The page's words, all in one JSON file.

const response = await fetch("/static/words.json");
if (!response.ok) throw new Error("The page's words could not be loaded");
const words = await response.json();

/** The words for a key, with {name} filled in. A key without words is a mistake in this page. */
export function t(key, values = {}) {
  if (words[key] === undefined) throw new Error(`No words for ${key}`);
  return words[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Words for a key that may not be there, such as the name of a kind that only some models know. */
export const wordsIfAny = (key) => words[key] ?? null;

/** Fills the words of the page that stand in its HTML. */
export function fillWords(root = document) {
  for (const node of root.querySelectorAll("[data-words]")) node.textContent = t(node.dataset.words);
  for (const node of root.querySelectorAll("[data-words-label]")) node.setAttribute("aria-label", t(node.dataset.wordsLabel));
}
