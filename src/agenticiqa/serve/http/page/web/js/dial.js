// The score as a dial from 1 to 5, with its interval.

import { el, fixed, freshId, svg } from "./dom.js";
import { t } from "./words.js";
import { COVERED, LEVELS, LEVEL_NAMES, levelOf } from "./levels.js";

const CENTRE = { x: 130, y: 128 };
const RADIUS = 96;
const BAND_RADIUS = 114;

/**
 * In a conflict both readings have a needle, and the range between them stands where the score would. `rates` says what
 * is rated; `alone`: only that, so that it is not taken for the quality of the whole picture.
 */
export function dial({ score, range = null, conflict = null, rates, alone = false }) {
  const titleId = freshId("dial");
  const parts = [
    svg("title", { id: titleId }, conflict ? readings(conflict) : t("rated.scored", { what: rates, scored: spoken(score, range) })),
    ...LEVELS.map((each) => svg("path", { class: `dial-band level-${each}`, d: arc(BAND_RADIUS, Math.max(1, each - 0.5) + 0.02, Math.min(5, each + 0.5) - 0.02) })),
    svg("path", { class: "dial-track", d: arc(RADIUS, 1, 5) }),
    range ? svg("path", { class: "dial-interval", d: arc(RADIUS, range[0], Math.max(range[1], range[0] + 0.01)) }) : null,
    ...(conflict ? [conflict.tools, conflict.model] : [score]).map((each) => needle(each)),
    ...LEVELS.map((each) => tick(each)),
    svg("text", { class: "dial-score", x: CENTRE.x, y: CENTRE.y - 18, "text-anchor": "middle" }, conflict ? `${fixed(range[0], 1)}–${fixed(range[1], 1)}` : fixed(score)),
    svg("text", { class: "dial-level", x: CENTRE.x, y: CENTRE.y + 6, "text-anchor": "middle" }, t("dial.of")),
  ];
  const drawn = svg("svg", { viewBox: "0 -12 260 150", role: "img", "aria-labelledby": titleId }, ...parts.filter(Boolean));
  return el("figure", { class: alone ? "dial dial-alone" : "dial" }, drawn, el("figcaption", { class: "dial-rates" }, rates));
}

/** What a screen reader says of the dial, and the page under it. */
export function spoken(score, range) {
  const words = t("dial.spoken", { score: fixed(score), level: LEVEL_NAMES[levelOf(score)].toLowerCase() });
  return range ? t("dial.interval", { words, share: COVERED * 100, low: fixed(range[0], 1), high: fixed(range[1], 1) }) : words;
}

/** What is said instead of a level where tools and model contradict each other. */
export function readings({ tools, model }) {
  return t("dial.conflict", { tools: fixed(tools), model: fixed(model) });
}

function point(value, radius) {
  const angle = Math.PI * (1 - (value - 1) / 4);
  return { x: CENTRE.x + radius * Math.cos(angle), y: CENTRE.y - radius * Math.sin(angle) };
}

function arc(radius, from, to) {
  const [a, b] = [point(from, radius), point(to, radius)];
  return `M ${a.x.toFixed(2)} ${a.y.toFixed(2)} A ${radius} ${radius} 0 0 1 ${b.x.toFixed(2)} ${b.y.toFixed(2)}`;
}

function needle(score) {
  const value = Math.min(5, Math.max(1, score));
  const [inner, outer] = [point(value, RADIUS - 13), point(value, BAND_RADIUS + 5)];
  return svg("line", { class: "dial-needle", x1: inner.x, y1: inner.y, x2: outer.x, y2: outer.y });
}

function tick(level) {
  const at = point(level, BAND_RADIUS + 13);
  return svg("text", { class: "dial-tick", x: at.x, y: at.y + 4, "text-anchor": "middle", "aria-hidden": "true" }, String(level));
}
