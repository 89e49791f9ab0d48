// The answer, in the form that suits the question.

import { pictureBlob } from "./api.js";
import { dial, readings } from "./dial.js";
import { capital, el, fixed, percent, table } from "./dom.js";
import { fixPreview } from "./fix_preview.js";
import { findingsInWords, findingsOf } from "./findings.js";
import { COVERED, LEVEL_NAMES, levelOf } from "./levels.js";
import { t } from "./words.js";

/** The sentence first, what it rests on below it. */
export function answerCard(run, withAdvice = true) {
  const result = run.result;
  const summary = result.summarizer_result;
  const used = summary?.used_evidence ?? {};
  const children = [el("h3", { class: "unseen" }, t("answer.title"))];
  if (result.status === "error" || !summary) children.push(el("p", { class: "answer-text" }, t("answer.none")), el("p", {}, result.error ?? ""));
  else if (typeof summary.quality_score === "number") children.push(...scored(run, summary));
  else if (used.options) children.push(...chosen(summary, used));
  else children.push(el("p", { class: "answer-text" }, summary.final_answer), el("p", { class: "reasoning" }, summary.quality_reasoning));
  children.push(...models(summary));
  children.push(...(withAdvice ? advice(run, summary) : []), ...cautions(result));
  return el("section", { class: "card answer", "data-status": result.status }, children);
}

/** Where several models answered: each one's answer, and how much it counts. */
function models(summary) {
  if (!summary?.models?.length) return [];
  const number = (value) => (typeof value === "number" ? fixed(value, 2) : "");
  const rows = summary.models.map(({ backend, answer, error, probabilities, quality_score: score, weight }) => {
    const chance = probabilities?.[answer];
    return [el("strong", {}, backend), answer ?? el("span", { class: "field-error" }, error), typeof chance === "number" ? percent(chance) : "", number(score), number(weight)];
  });
  return [table(t("models.caption"), ["model", "answer", "chance", "score", "weight"].map((name) => t(`models.${name}`)), rows)];
}

/** What the answer says in one line, for lists and screen readers. */
export function sentenceOf({ result, rated }) {
  const summary = result.summarizer_result;
  if (!summary) return t("answer.none");
  if (typeof summary.quality_score !== "number") {
    const picked = summary.used_evidence?.options?.[summary.final_answer];
    return picked ? `${summary.final_answer}. ${picked}` : summary.final_answer;
  }
  if (summary.conflict) return readings(summary.conflict);
  const asked = summary.used_evidence?.asked_scale;
  const scored = t("sentence.scored", { level: LEVEL_NAMES[levelOf(summary.quality_score)], score: fixed(summary.quality_score, 1), findings: findingsInWords(findingsOf(result)) });
  const onScale = asked ? t("sentence.on_scale", { asked, scored }) : scored;
  return rated ? t("rated.scored", { what: capital(rated), scored: onScale }) : onScale;
}

/** The numbers behind the answer, for those who ask why; null where there are none. */
export function measuredCard(result) {
  const lines = result.summarizer_result?.used_evidence?.measured ?? [];
  if (!lines.length) return null;
  return el("section", { class: "evidence" }, el("h4", { class: "card-title" }, t("answer.measured")), el("ul", { class: "measured-lines" }, lines.map((line) => el("li", {}, line))));
}

/** Closer looks that the run took, each with why; null where it took none. */
export function viewsCard(run) {
  const views = run.result.executor_evidence?.views ?? [];
  if (!views.length || !run.links?.view) return null;
  const figures = views.map((view, number) => {
    const [x, y, width, height] = view.box;
    const picture = el("img", { alt: view.reason, loading: "lazy" });
    pictureBlob(`${run.links.view}?number=${number + 1}`).then(
      (blob) => { picture.src = URL.createObjectURL(blob); },
      () => picture.remove(),
    );
    const place = t(`view.${view.kind}`, { width, height, x, y });
    return el("figure", { class: "closer" }, picture, el("figcaption", {}, el("span", { class: "dim" }, place), " ", view.reason));
  });
  return el("section", { class: "evidence" }, el("h4", { class: "card-title" }, t("view.title")), el("p", { class: "hint" }, t("view.hint")), el("div", { class: "closer-looks" }, figures));
}

/** What to do about it, what matters most first. */
function advice(run, summary) {
  const lines = summary?.advice ?? [];
  if (!lines.length) return [];
  const item = (line, number) => el("li", {}, line.do, line.source ? el("span", { class: "hint" }, ` ${line.source}`) : null, line.fix ? fixPreview(run, number) : null);
  return [el("div", { class: "advice" }, el("p", { class: "advice-title" }, t("answer.advice")), el("ul", {}, lines.slice(0, 3).map(item)))];
}

/** The dial of a result that holds a score; `rated`: the part or property that it is of, if not of the whole picture. */
export function scoreDial(result, rated) {
  const { quality_score: score, score_interval: range, conflict = null } = result.summarizer_result;
  return dial({ score, range, conflict, rates: rated ? t("rated.alone", { what: capital(rated) }) : t("rated.overall"), alone: Boolean(rated) });
}

function scored(run, summary) {
  const range = summary.score_interval;
  const about = summary.conflict ? t("answer.conflict_hint") : range ? t("answer.interval_hint", { share: COVERED * 100, low: fixed(range[0], 1), high: fixed(range[1], 1) }) : null;
  return [
    el(
      "div",
      { class: "answer-scored" },
      el("div", {}, el("p", { class: "answer-text" }, sentenceOf(run)), el("p", { class: "reasoning" }, summary.quality_reasoning)),
      el("div", {}, scoreDial(run.result, run.rated), about ? el("p", { class: "hint" }, about) : null),
    ),
  ];
}

function chosen(summary, used) {
  const chances = used.option_probabilities ?? null;
  const rows = Object.entries(used.options).map(([letter, text]) => optionRow(letter, text, letter === summary.final_answer, chances?.[letter]));
  const picked = used.options[summary.final_answer];
  return [
    el("p", { class: "answer-text" }, picked ? `${summary.final_answer}. ${picked}` : summary.final_answer),
    el("p", { class: "reasoning" }, summary.quality_reasoning),
    el("ul", { class: "options", "aria-label": t("answer.options") }, rows),
  ];
}

function optionRow(letter, text, picked, chance) {
  return el(
    "li",
    { class: picked ? "option option-picked" : "option" },
    el("span", { class: "option-text" }, `${letter}. ${text}`, picked ? el("span", { class: "unseen" }, t("answer.chosen")) : null),
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
  return [t("answer.other_scope", { scope: Array.isArray(scope) ? scope.join(", ") : t("answer.whole"), marked: marked.join(", ") })];
}

function cautions(result) {
  const notes = [
    ...(result.status === "partial" && !result.summarizer_result?.conflict && !result.summarizer_result?.doubt ? [t("answer.incomplete")] : []),
    ...regionCaution(result),
    ...(result.executor_evidence?.errors ?? []),
    ...(result.status !== "error" && result.error ? [result.error] : []),
    ...(result.metadata?.image_notes ?? []),
  ];
  if (!notes.length) return [];
  return [el("div", { class: "notice notice-caution" }, el("ul", {}, notes.map((note) => el("li", {}, typeof note === "string" ? note : JSON.stringify(note)))))];
}
