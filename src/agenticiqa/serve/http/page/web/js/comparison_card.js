// The verdict on two pictures and what it rests on.

import { bar, scoreDial } from "./answer_card.js";
import { el, fixed, freshId, percent, svg, table } from "./dom.js";
import { t, wordsIfAny } from "./words.js";

export const headlineOf = (winner) => wordsIfAny(`verdict.${winner}`) ?? t("verdict.none");

/** The verdict, and the evidence that belongs behind it. */
export function comparisonCards({ result, rated }) {
  if (result.status === "error") {
    return { first: [el("section", { class: "card answer", "data-status": "error" }, el("p", { class: "answer-text" }, t("verdict.none")), el("p", {}, result.error ?? ""))], evidence: [] };
  }
  return { first: [verdictCard(result)], evidence: [ownScores(result, rated), result.places?.length ? placesCard(result) : null, result.tools?.length ? toolsCard(result) : null].filter(Boolean) };
}

function verdictCard(result) {
  return el(
    "section",
    { class: "card answer", "data-status": result.status },
    el("h3", { class: "unseen" }, t("verdict.title")),
    el("p", { class: "answer-text" }, headlineOf(result.winner)),
    typeof result.chance_a === "number" ? chanceBar(result.chance_a) : null,
    el("p", { class: "reasoning" }, result.verdict),
    result.reasons?.length ? el("ul", { class: "reasons" }, result.reasons.map((reason) => el("li", {}, reason))) : null,
    ownAnswers(result),
    notesOf(result),
    el("p", { class: "hint" }, hintOf(result)),
  );
}

/** What had to change about either picture is said, as it is for one alone. */
function notesOf(result) {
  const ofSide = (side) => (result[side]?.metadata?.image_notes ?? []).map((note) => `${side.toUpperCase()}: ${note}`);
  const notes = [...(result.notes ?? []), ...ofSide("a"), ...ofSide("b")];
  return notes.length ? el("div", { class: "notice notice-caution" }, el("ul", {}, notes.map((note) => el("li", {}, note)))) : null;
}

function hintOf(result) {
  const scores = typeof result.score_a === "number" ? t("verdict.scores", { a: fixed(result.score_a), b: fixed(result.score_b) }) : "";
  return result.decided_by ? `${t("verdict.decided", { by: result.decided_by })} ${scores}` : scores;
}

/** Nothing is certain: the ends are said as “more than 99 %” and “less than 1 %”. */
function chanceWords(chance) {
  if (chance > 0.99) return "> 99 %";
  return chance < 0.01 ? "< 1 %" : percent(chance);
}

function chanceBar(chance) {
  return el(
    "div",
    { class: "chance", role: "img", "aria-label": t("verdict.chance_long", { a: chanceWords(chance), b: chanceWords(1 - chance) }) },
    el("div", { class: "chance-bar" }, el("span", { class: "chance-a", style: { width: `${chance * 100}%` } }), el("span", { class: "chance-b", style: { width: `${(1 - chance) * 100}%` } })),
    el("div", { class: "chance-words" }, el("span", {}, `A ${chanceWords(chance)}`), el("span", { class: "dim" }, t("verdict.chance")), el("span", {}, `B ${chanceWords(1 - chance)}`)),
  );
}

/** What was asked of each picture, where it was no rating. */
function ownAnswers(result) {
  const sides = ["a", "b"].map((side) => result[side]?.summarizer_result);
  if (sides.some((summary) => !summary || typeof summary.quality_score === "number")) return null;
  return el("dl", { class: "facts own-answers" }, sides.map((summary, place) => el("div", {}, el("dt", {}, t(place ? "slot.image_b" : "slot.image_a")), el("dd", {}, summary.final_answer))));
}

/** What the agents themselves gave each picture, where the question asked for a score. */
function ownScores(result, rated) {
  const sides = [result.a, result.b].filter((each) => typeof each?.summarizer_result?.quality_score === "number");
  if (sides.length < 2) return null;
  return el(
    "section",
    { class: "card" },
    el("h3", { class: "card-title" }, t("verdict.own")),
    el("div", { class: "two-dials" }, sides.map((each, place) => el("div", {}, el("p", { class: "dial-name" }, t(place ? "slot.image_b" : "slot.image_a")), scoreDial(each, rated)))),
  );
}

function toolsCard(result) {
  const rows = result.tools.map((row) => [
    el("strong", {}, row.tool),
    cell(row.raw_a, row.calibrated_a),
    cell(row.raw_b, row.calibrated_b),
    row.error ? el("span", { class: "field-error" }, row.error) : { A: "A", B: "B", tie: t("verdict.same") }[row.better] ?? "–",
  ]);
  return el("section", { class: "card" }, el("h3", { class: "card-title" }, t("verdict.tools")), table(t("verdict.tools_caption"), [t("tools.tool"), t("verdict.column_a"), t("verdict.column_b"), t("verdict.better")], rows));
}

function cell(raw, points) {
  if (typeof points !== "number") return "–";
  return el("span", { class: "measured" }, `${fixed(points)} `, el("span", { class: "dim" }, `(${Number(raw.toPrecision(3))})`), bar((points - 1) / 4));
}

const PLACES = ["top left", "top centre", "top right", "middle left", "centre", "middle right", "bottom left", "bottom centre", "bottom right"];

function placesCard(result) {
  const byName = Object.fromEntries(result.places.map((place) => [place.name, place]));
  const most = Math.max(...result.places.map((place) => Math.abs(place.lead)), 1e-9);
  const titleId = freshId("places");
  const words = result.places.filter((place) => place.better !== "tie").map((place) => `${place.name}: ${place.better}`).join(", ") || t("verdict.no_part");
  const cells = PLACES.map((name, index) => {
    const place = byName[name];
    const [x, y] = [(index % 3) * 64, Math.floor(index / 3) * 44];
    const better = place?.better ?? "tie";
    return [
      svg("rect", { class: `place place-${better}`, x: x + 1, y: y + 1, width: 62, height: 42, rx: 3, "fill-opacity": better === "tie" ? 0.25 : 0.25 + (0.6 * Math.abs(place.lead)) / most }),
      svg("text", { class: "place-text", x: x + 32, y: y + 27, "text-anchor": "middle" }, better === "tie" ? "=" : better),
    ];
  });
  return el(
    "section",
    { class: "card" },
    el("h3", { class: "card-title" }, t("verdict.where")),
    el("div", { class: "places" }, svg("svg", { viewBox: "0 0 192 132", role: "img", "aria-labelledby": titleId }, svg("title", { id: titleId }, t("verdict.ninths_long", { words })), cells), el("p", { class: "hint" }, t("verdict.ninths", { by: result.map_shows }))),
  );
}
