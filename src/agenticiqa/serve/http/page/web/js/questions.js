// Questions to begin with and to go on with.

import { findingsOf } from "./findings.js";
import { t } from "./words.js";

const GENERAL = ["ask.rate", "ask.wrong", "ask.sharp", "ask.dark", "ask.noise", "ask.options"];
const OF_EACH = ["ask.sharp", "ask.wrong", "ask.noise", "ask.dark"];
const REGION = ["ask.region_sharp", "ask.region_wrong", "ask.region_rate"];

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
  if (found.length) texts.push(t("ask.how_strong", { flaw: found[0].name }));
  if (typeof run.result.summarizer_result?.quality_score !== "number") texts.push(t("ask.rate"));
  return texts.filter((text) => !asked.includes(text)).slice(0, 4);
}

/** What is sent for what was typed: nothing asks for a rating. */
export const sentFor = (text) => text || t("ask.rate");
