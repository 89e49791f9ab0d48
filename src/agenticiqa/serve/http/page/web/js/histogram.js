// The histogram of a picture, with how much of it is clipped, in words.

import { el, freshId, percent, svg } from "./dom.js";
import { histogramOf } from "./pixels.js";
import { t } from "./words.js";

const [WIDTH, HEIGHT] = [256, 56];
const WORTH_SAYING = 0.005;

export class Histogram {
  constructor() {
    this.element = el("div", { class: "histogram", hidden: true });
    this.shown = null;
  }

  /** `named`: which of two pictures it is of is said. */
  async show(picture, named = false) {
    const wanted = `${picture.url} ${named}`;
    if (this.shown === wanted) return;
    this.shown = wanted;
    this.element.hidden = true;
    let found;
    try {
      found = await histogramOf(picture);
    } catch {
      // Another picture has taken its place before it was read; what cannot be read has no histogram.
      return;
    }
    if (this.shown !== wanted) return;
    const words = named ? t("histogram.of", { label: picture.label, words: clippedWords(found) }) : clippedWords(found);
    this.element.replaceChildren(chart(found, words), el("p", { class: "hint" }, words));
    this.element.hidden = false;
  }
}

function clippedWords({ low, high }) {
  const parts = [low >= WORTH_SAYING ? t("histogram.shadows", { share: percent(low, 1) }) : null, high >= WORTH_SAYING ? t("histogram.lights", { share: percent(high, 1) }) : null].filter(Boolean);
  return parts.join(" · ") || t("histogram.nothing");
}

function chart(found, words) {
  const titleId = freshId("histogram");
  // The ends often hold far more than the rest; a root keeps the rest visible.
  const most = Math.max(...["light", "red", "green", "blue"].flatMap((name) => [...found[name]]), 1e-9);
  const y = (share) => HEIGHT - Math.sqrt(share / most) * (HEIGHT - 2);
  const step = WIDTH / 64;
  const points = (values) => [...values].map((share, at) => `${(at * step + step / 2).toFixed(1)},${y(share).toFixed(1)}`).join(" ");
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-labelledby": titleId, preserveAspectRatio: "none" },
    svg("title", { id: titleId }, t("histogram.title", { words })),
    svg("polygon", { class: "histogram-light", points: `0,${HEIGHT} ${points(found.light)} ${WIDTH},${HEIGHT}` }),
    ["red", "green", "blue"].map((name) => svg("polyline", { class: `histogram-${name}`, points: points(found[name]) })),
  );
}
