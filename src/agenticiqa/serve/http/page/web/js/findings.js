// What is wrong with a picture, worst first, in words people use.

import { t, wordsIfAny } from "./words.js";

const SEVERITIES = ["none", "slight", "moderate", "severe", "extreme"];

/** [{type, name, severity, object, explanation}]; what was looked for and not found is left out. */
export function findingsOf(result) {
  const analysis = result.executor_evidence?.distortion_analysis ?? {};
  return Object.entries(analysis)
    .flatMap(([object, found]) => found.map((each) => ({ ...each, object, name: flawName(each.type) })))
    .filter((each) => SEVERITIES.indexOf(each.severity) > 0)
    .sort((a, b) => SEVERITIES.indexOf(b.severity) - SEVERITIES.indexOf(a.severity));
}

/** A category or kind as people call it: "Blurs" is blur. */
export function flawName(type) {
  return wordsIfAny(keyOf(type)) ?? plain(type);
}

const keyOf = (type) => `flaw.${type.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")}`;
const plain = (type) => type.replaceAll("_", " ").toLowerCase();

export const severityName = (severity) => wordsIfAny(`severity.${severity}`) ?? severity;

/** "Severe blur, moderate noise", or that nothing stands out. */
export function findingsInWords(found) {
  if (!found.length) return t("sentence.nothing");
  const names = found.slice(0, 3).map((each) => t("sentence.finding", { severity: severityName(each.severity), flaw: each.name, where: each.object === "Global" ? "" : ` (${each.object})` }));
  return names.join(t("sentence.comma"));
}
