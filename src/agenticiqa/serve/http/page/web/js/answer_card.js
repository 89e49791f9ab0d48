// The answer, in the form that suits the question.

import { dial, readings } from "./dial.js";
import { el, fixed, percent } from "./dom.js";
import { COVERED, LEVEL_NAMES, fusedWeights, interval, levelOf } from "./levels.js";

export function answerCard(result) {
  const summary = result.summarizer_result;
  const used = summary?.used_evidence ?? {};
  const children = [el("h3", { class: "card-title" }, "Answer")];
  if (result.status === "error" || !summary) children.push(el("p", { class: "answer-text" }, "No answer."), el("p", {}, result.error ?? ""));
  else if (typeof summary.quality_score === "number") children.push(...scored(summary));
  else if (used.options) children.push(...chosen(summary, used));
  else children.push(el("p", { class: "answer-text" }, summary.final_answer), el("p", { class: "reasoning" }, summary.quality_reasoning));
  children.push(...cautions(result));
  return el("section", { class: "card answer", "data-status": result.status }, children);
}

function rangeOf(summary) {
  if (summary.conflict) return summary.score_interval;
  const fusion = summary.used_evidence?.fusion;
  const weights = fusion ? fusedWeights(fusion) : null;
  return weights ? interval(weights) : null;
}

/** The dial of a summary that holds a score. */
export const scoreDial = (summary) => dial(summary.quality_score, rangeOf(summary), summary.conflict ?? null);

function scored(summary) {
  const range = rangeOf(summary);
  const hint = summary.conflict ? "The bar on the dial reaches from one reading to the other." : null;
  return [
    el("div", { class: "answer-scored" }, scoreDial(summary), el("div", {}, el("p", { class: "answer-text" }, summary.conflict ? readings(summary.conflict) : LEVEL_NAMES[levelOf(summary.quality_score)]), el("p", { class: "reasoning" }, summary.quality_reasoning))),
    hint ? el("p", { class: "hint" }, hint) : null,
    range && !hint ? el("p", { class: "hint" }, `The bar on the dial is the ${COVERED * 100} % interval, ${fixed(range[0], 1)} to ${fixed(range[1], 1)}: the middle of the fused level weights, each level spread over half a point on either side.`) : null,
  ];
}

function chosen(summary, used) {
  const chances = used.option_probabilities ?? null;
  const rows = Object.entries(used.options).map(([letter, text]) => optionRow(letter, text, letter === summary.final_answer, chances?.[letter]));
  const picked = used.options[summary.final_answer];
  return [
    el("p", { class: "answer-text" }, picked ? `${summary.final_answer}. ${picked}` : summary.final_answer),
    el("p", { class: "reasoning" }, summary.quality_reasoning),
    el("ul", { class: "options", "aria-label": "Options" }, rows),
  ];
}

function optionRow(letter, text, picked, chance) {
  return el(
    "li",
    { class: picked ? "option option-picked" : "option" },
    el("span", { class: "option-text" }, `${letter}. ${text}`, picked ? el("span", { class: "unseen" }, " (chosen)") : null),
    typeof chance === "number" ? [bar(chance), el("span", { class: "option-chance" }, percent(chance, chance > 0.995 || chance < 0.005 ? 1 : 0))] : null,
  );
}

/** A bar of a share between 0 and 1; the number stands beside it. */
export function bar(share, kind = "") {
  return el("span", { class: `bar ${kind}`, "aria-hidden": "true" }, el("span", { style: { width: `${Math.min(100, Math.max(0, share * 100))}%` } }));
}

/** A region was marked, but the question was not understood to speak of it. */
function regionCaution(result) {
  const marked = Object.keys(result.metadata?.regions ?? {});
  const scope = result.plan?.query_scope;
  const speaksOf = (asked, name) => `${asked} `.toLowerCase().startsWith(`${name} `.toLowerCase());
  if (!marked.length || !result.plan || (Array.isArray(scope) && marked.some((name) => scope.some((asked) => speaksOf(asked, name))))) return [];
  return [`The question was understood as one about ${Array.isArray(scope) ? scope.join(", ") : "the whole picture"}, not about “${marked.join(", ")}”.`];
}

function cautions(result) {
  const notes = [
    ...(result.status === "partial" && !result.summarizer_result?.conflict ? ["This answer is incomplete: a part of the work failed."] : []),
    ...regionCaution(result),
    ...(result.executor_evidence?.errors ?? []),
    ...(result.status !== "error" && result.error ? [result.error] : []),
    ...(result.metadata?.image_notes ?? []),
  ];
  if (!notes.length) return [];
  return [el("div", { class: "notice notice-caution" }, el("ul", {}, notes.map((note) => el("li", {}, typeof note === "string" ? note : JSON.stringify(note)))))];
}
