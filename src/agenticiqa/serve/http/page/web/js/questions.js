// Questions to begin with and to go on with. They are shown in the reader's language and sent in English, which every
// model understands, the embedded one included.

import { findingsOf, flawInEnglish } from "./findings.js";
import { inEnglish, t } from "./words.js";

const GENERAL = ["ask.rate", "ask.wrong", "ask.sharp", "ask.dark", "ask.noise", "ask.options"];
const OF_EACH = ["ask.sharp", "ask.wrong", "ask.noise", "ask.dark"];
const REGION = ["ask.region_sharp", "ask.region_wrong", "ask.region_rate"];
const KNOWN = [...GENERAL, "ask.against_reference", "ask.where", "ask.fix", "ask.face"];

/** Questions that were made of findings, with what is sent for each. */
const made = new Map();

/** What the field holds at first: a comparison needs no question. */
export const firstQuestion = (kind) => (kind === "compare" ? "" : t("ask.rate"));

/** What a turn is called. */
export function titleFor(kind, question) {
  if (kind !== "compare") return question;
  return question ? t("ask.better_and", { question }) : t("ask.better");
}

/** What to suggest before anything was asked: a list of texts. */
export function suggestions({ region = null, reference = false, kind = "assess" } = {}) {
  if (kind === "compare") return OF_EACH.map((key) => t(key));
  if (region) return REGION.map((key) => t(key, { region }));
  const keys = reference ? ["ask.rate", "ask.against_reference", ...GENERAL.slice(1)] : GENERAL;
  return keys.map((key) => t(key));
}

/** What to ask next, from what a run has found; what was asked already is left out. */
export function nextQuestions(run, asked) {
  if (run.kind !== "assess" || !run.result) return [];
  const found = findingsOf(run.result);
  const keys = found.length ? ["ask.where", "ask.fix"] : ["ask.wrong", "ask.sharp"];
  const texts = keys.map((key) => t(key));
  for (const { name, type } of found.slice(0, 1)) {
    const text = t("ask.how_strong", { flaw: name });
    made.set(text, inEnglish("ask.how_strong", { flaw: flawInEnglish(type) }));
    texts.push(text);
  }
  if (typeof run.result.summarizer_result?.quality_score !== "number") texts.push(t("ask.rate"));
  return texts.filter((text) => !asked.includes(text)).slice(0, 4);
}

/** A question as it is shown: one of ours in the reader's language, anything else as it was sent. */
export function shownFor(query) {
  const known = KNOWN.find((key) => inEnglish(key) === query);
  return known ? t(known) : query;
}

/** What is sent for what was typed: a question of ours in English, anything else as it is; nothing asks for a rating. */
export function sentFor(text, regions = []) {
  if (!text) return inEnglish("ask.rate");
  const known = KNOWN.find((key) => t(key) === text);
  if (known) return inEnglish(known);
  if (made.has(text)) return made.get(text);
  for (const region of regions) {
    const about = REGION.find((key) => t(key, { region: region.name }) === text);
    if (about) return inEnglish(about, { region: region.name });
  }
  return text;
}
