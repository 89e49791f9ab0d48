// The verdict on two pictures and what it rests on.

import { bar, scoreDial } from "./answer_card.js";
import { el, fixed, freshId, percent, svg, table } from "./dom.js";

const HEADLINES = { A: "A is better", B: "B is better", tie: "No clear difference" };

export function comparisonCards(result) {
  if (result.status === "error") {
    return [el("section", { class: "card answer", "data-status": "error" }, el("h3", { class: "card-title" }, "Verdict"), el("p", { class: "answer-text" }, "No verdict."), el("p", {}, result.error ?? ""))];
  }
  return [verdictCard(result), ownScores(result), result.tools?.length ? toolsCard(result) : null, result.places?.length ? placesCard(result) : null].filter(Boolean);
}

function verdictCard(result) {
  return el(
    "section",
    { class: "card answer", "data-status": result.status },
    el("h3", { class: "card-title" }, "Verdict"),
    el("p", { class: "answer-text" }, HEADLINES[result.winner] ?? "No verdict"),
    typeof result.chance_a === "number" ? chanceBar(result.chance_a) : null,
    el("p", { class: "reasoning" }, result.verdict),
    result.reasons?.length ? el("ul", { class: "reasons" }, result.reasons.map((reason) => el("li", {}, reason))) : null,
    result.notes?.length ? el("div", { class: "notice notice-caution" }, el("ul", {}, result.notes.map((note) => el("li", {}, note)))) : null,
    el("p", { class: "hint" }, hintOf(result)),
  );
}

function hintOf(result) {
  const scores = typeof result.score_a === "number" ? ` It gives A ${fixed(result.score_a)} and B ${fixed(result.score_b)} of 5.` : "";
  return result.decided_by ? `Decided by ${result.decided_by}.${scores}` : scores;
}

/** Nothing is certain: the ends are said as “more than 99 %” and “less than 1 %”. */
function chanceWords(chance) {
  if (chance > 0.99) return "> 99 %";
  return chance < 0.01 ? "< 1 %" : percent(chance);
}

function chanceBar(chance) {
  return el(
    "div",
    { class: "chance", role: "img", "aria-label": `People would prefer A with a chance of ${chanceWords(chance)}, B with ${chanceWords(1 - chance)}` },
    el("div", { class: "chance-bar" }, el("span", { class: "chance-a", style: { width: `${chance * 100}%` } }), el("span", { class: "chance-b", style: { width: `${(1 - chance) * 100}%` } })),
    el("div", { class: "chance-words" }, el("span", {}, `A ${chanceWords(chance)}`), el("span", { class: "dim" }, "chance that people prefer it"), el("span", {}, `B ${chanceWords(1 - chance)}`)),
  );
}

/** What the agents themselves gave each picture, where the question asked for a score. */
function ownScores(result) {
  const sides = ["a", "b"].map((side) => result[side]?.summarizer_result).filter((summary) => typeof summary?.quality_score === "number");
  if (sides.length < 2) return null;
  return el(
    "section",
    { class: "card" },
    el("h3", { class: "card-title" }, "Each on its own"),
    el("div", { class: "two-dials" }, sides.map((summary, place) => el("div", {}, el("p", { class: "dial-name" }, `Picture ${"AB"[place]}`), scoreDial(summary)))),
  );
}

function toolsCard(result) {
  const rows = result.tools.map((row) => [
    el("strong", {}, row.tool),
    cell(row.raw_a, row.calibrated_a),
    cell(row.raw_b, row.calibrated_b),
    row.error ? el("span", { class: "field-error" }, row.error) : { A: "A", B: "B", tie: "same" }[row.better] ?? "–",
  ]);
  return el("section", { class: "card" }, el("h3", { class: "card-title" }, "Same tools on both"), table("Measurements of both pictures", ["Tool", "A: 1 to 5 (raw)", "B: 1 to 5 (raw)", "Better"], rows));
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
  const words = result.places.filter((place) => place.better !== "tie").map((place) => `${place.name}: ${place.better}`).join(", ") || "no part differs clearly";
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
    el("h3", { class: "card-title" }, "Where"),
    el("div", { class: "places" }, svg("svg", { viewBox: "0 0 192 132", role: "img", "aria-labelledby": titleId }, svg("title", { id: titleId }, `Better picture in each ninth of the frame: ${words}`), cells), el("p", { class: "hint" }, `The frame in ninths, and which picture is better there, by ${result.map_shows}. The difference map is in the list of maps under the pictures.`)),
  );
}
