// What the model believes, what the tools say, and what became of both.

import { el, fixed, freshId, percent, svg, table } from "./dom.js";
import { LEVELS, LEVEL_NAMES, at, fusedWeights } from "./levels.js";
import { t, wordsIfAny } from "./words.js";

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [460, 210, 38, 16, 30];
const STEP = (WIDTH - LEFT) / LEVELS.length;
const FLOOR = HEIGHT - BOTTOM;

export function fusionCard(fusion) {
  const fused = fusedWeights(fusion);
  const series = [
    { key: "p", title: t("fusion.p"), values: LEVELS.map((level) => at(fusion.p, level)) },
    { key: "alpha", title: t("fusion.alpha"), values: LEVELS.map((level) => at(fusion.alpha, level)) },
    ...(fused ? [{ key: "fused", title: t("fusion.fused"), values: fused }] : []),
  ];
  return el(
    "section",
    { class: "evidence" },
    el("h4", { class: "card-title" }, t("fusion.title")),
    el("ul", { class: "legend" }, series.map((each) => el("li", { class: `legend-${each.key}` }, each.title))),
    chart(series, fusion.q),
    el("p", { class: "hint" }, `${toolWords(fusion)} ${wordsIfAny(`fusion.source_${fusion.p_source}`) ?? t("fusion.source_unknown")} ${t("fusion.mean", { score: fixed(fusion.q) })}`),
    el(
      "details",
      {},
      el("summary", {}, t("fusion.numbers")),
      table(t("fusion.caption"), [t("fusion.level"), t("fusion.column_p"), t("fusion.column_alpha"), t("fusion.column_fused")], LEVELS.map((level, index) => [`${level} ${LEVEL_NAMES[level]}`, percent(at(fusion.p, level), 1), percent(at(fusion.alpha, level), 1), fused ? percent(fused[index], 1) : "–"])),
    ),
  );
}

function toolWords(fusion) {
  const scores = fusion.tool_scores ?? [];
  if (!scores.length) return t("fusion.no_tool");
  const mean = fixed(fusion.tool_mean);
  if (isFlat(fusion.alpha)) return t("fusion.own_eye", { mean });
  return scores.length === 1 ? t("fusion.one_tool", { mean }) : t("fusion.tools", { count: scores.length, mean });
}

/** Weights are flat where all that was measured came from the model itself. */
const isFlat = (alpha) => Math.max(...Object.values(alpha)) - Math.min(...Object.values(alpha)) < 1e-6;

function chart(series, score) {
  const most = niceTop(Math.max(...series.flatMap((each) => each.values)));
  const y = (share) => FLOOR - (share / most) * (FLOOR - TOP);
  const titleId = freshId("chart");
  const at = LEFT + (score - 0.5) * STEP;
  return el(
    "figure",
    { class: "chart" },
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": titleId },
      svg("title", { id: titleId }, t("fusion.chart", { score: fixed(score) })),
      [0, most / 2, most].map((share) => gridLine(share, y(share))),
      series.flatMap((each, place) => bars(each, place, series.length, y)),
      LEVELS.map((level, index) => svg("text", { class: "chart-label", x: LEFT + (index + 0.5) * STEP, y: FLOOR + 18, "text-anchor": "middle" }, `${level} ${LEVEL_NAMES[level]}`)),
      svg("line", { class: "chart-score", x1: at, x2: at, y1: TOP - 4, y2: FLOOR }),
      svg("text", { class: "chart-score-text", x: at + 5, y: TOP + 4 }, fixed(score)),
    ),
  );
}

function niceTop(value) {
  return [0.25, 0.5, 0.75].find((top) => value <= top) ?? 1;
}

function gridLine(share, y) {
  return [
    svg("line", { class: "chart-grid", x1: LEFT, x2: WIDTH, y1: y, y2: y }),
    svg("text", { class: "chart-label", x: LEFT - 6, y: y + 4, "text-anchor": "end" }, `${Math.round(share * 100)}%`),
  ];
}

function bars(series, place, count, y) {
  const width = (STEP * 0.72) / count;
  return series.values.map((share, index) => {
    const x = LEFT + index * STEP + STEP * 0.14 + place * width;
    return svg("rect", { class: `chart-${series.key}`, x: x + 1, y: y(share), width: width - 2, height: Math.max(0, FLOOR - y(share)), rx: 1.5 });
  });
}
