// What a score rates: the whole picture, or one property or part of it alone, as the result says.

import { t, wordsIfAny } from "./words.js";

/** The embedded model's own words on it; its titles are English. */
const ONE_ALONE = /^Rated is (.+?) alone\b/;
const WHOLE_AFTER_ALL = "The whole quality was rated, not ";

/** What is rated where a plan looks at these distortions alone. */
const PROPERTIES = {
  Blurs: "sharpness",
  "Color distortions": "colour",
  Compression: "compression",
  Noise: "noise",
  "Brightness change": "brightness",
  Sharpness: "oversharpening",
  Contrast: "contrast",
  "Spatial distortions": "geometric distortion",
};

/** "Sharpness", "Background", or null for the quality of the whole picture. */
export function ratedAlone(result) {
  const named = [...partsOf(result.plan), ...propertiesOf(result)];
  return named.length ? capital(named.join(", ")) : null;
}

/** What stands beside the dial: an overall score says so too. */
export const ratedWords = (result) => {
  const alone = ratedAlone(result);
  return alone ? t("rated.alone", { what: alone }) : t("rated.overall");
};

function partsOf(plan) {
  const scope = plan?.query_scope;
  return Array.isArray(scope) ? scope.filter((part) => part !== "Global") : [];
}

function propertiesOf({ plan, summarizer_result: summary }) {
  const reasoning = summary?.quality_reasoning ?? "";
  const said = ONE_ALONE.exec(reasoning);
  if (said) return [titleOf(said[1])];
  if (reasoning.includes(WHOLE_AFTER_ALL) || plan?.distortion_source !== "Explicit") return [];
  const categories = Object.values(plan.distortions ?? {}).flat();
  return [...new Set(categories.map((category) => titleOf(PROPERTIES[category] ?? category)))];
}

const titleOf = (title) => wordsIfAny(`rated.${title.replaceAll(" ", "_")}`) ?? title.toLowerCase();
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
