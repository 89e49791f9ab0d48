// What each step of a run found, in words and tables.

import { bar } from "./answer_card.js";
import { el, fixed, seconds, table } from "./dom.js";

export const STEP_TITLES = {
  plan: "Plan",
  detection: "Look for distortions",
  selection: "Choose tools",
  analysis: "Judge severity",
  tools: "Measure",
  answer: "Answer",
};
const WORKING = {
  plan: "Understanding the question",
  detection: "Looking for distortions",
  selection: "Choosing tools",
  analysis: "Judging how bad each one is",
  tools: "Measuring",
  answer: "Weighing the evidence",
};

export const workingWords = (step) => WORKING[step] ?? "Working";

/** Steps that a plan announces, in the order in which they usually come. */
export function stepsOf(plan) {
  const flags = plan?.plan ?? {};
  return [
    ["detection", flags.distortion_detection],
    ["selection", flags.tool_selection],
    ["analysis", flags.distortion_analysis],
    ["tools", flags.tool_execution],
    ["answer", true],
  ].filter(([, on]) => on).map(([step]) => step);
}

export function stepContent(step, details) {
  const views = { plan: planView, detection: detectionView, selection: selectionView, analysis: analysisView, tools: toolsView, answer: answerView };
  return views[step]?.(details) ?? null;
}

function planView({ plan }) {
  if (!plan) return null;
  const scope = Array.isArray(plan.query_scope) ? plan.query_scope.join(", ") : "the whole picture";
  const facts = [
    ["About", scope],
    ["Reference", plan.reference_mode === "Full-Reference" ? "compared with it" : "none"],
    ["Distortions", plan.distortions ? named(plan.distortions) : "to be found"],
    ...(plan.required_tool ? [["Tools asked for", [plan.required_tool, ...(plan.extra_tools ?? [])].join(", ")]] : []),
  ];
  return el("dl", { class: "facts" }, facts.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text))));
}

function named(byObject) {
  return Object.entries(byObject).map(([object, names]) => (object === "Global" ? names.join(", ") : `${object}: ${names.join(", ")}`)).join("; ");
}

function detectionView({ distortions }) {
  const entries = Object.entries(distortions ?? {}).filter(([, names]) => names.length);
  if (!entries.length) return el("p", {}, "None found.");
  return el("ul", { class: "tags" }, entries.flatMap(([object, names]) => names.map((name) => el("li", {}, object === "Global" ? name : `${name} (${object})`))));
}

function selectionView({ tools }) {
  const rows = Object.entries(tools ?? {}).flatMap(([object, byDistortion]) => Object.entries(byDistortion).map(([distortion, tool]) => [objectName(object), distortion, tool]));
  return rows.length ? table("Tools chosen", ["Where", "For", "Tool"], rows) : el("p", {}, "No tool fits.");
}

const objectName = (object) => (object === "Global" ? "Whole picture" : object);

function analysisView({ analysis }) {
  const entries = Object.entries(analysis ?? {}).flatMap(([object, found]) => found.map((each) => ({ object, ...each })));
  if (!entries.length) return el("p", {}, "Nothing to judge.");
  return el("ul", { class: "findings" }, entries.map((each) => el("li", {}, el("p", { class: "finding-head" }, severityBadge(each.severity), el("strong", {}, each.type), each.object === "Global" ? null : el("span", { class: "dim" }, each.object), each.uncertain ? el("span", { class: "dim" }, "uncertain") : null), el("p", {}, each.explanation))));
}

function severityBadge(severity) {
  return el("span", { class: `severity severity-${severity}` }, severity);
}

function toolsView({ logs }) {
  if (!logs?.length) return el("p", {}, "No measurement was needed.");
  const rows = logs.map((log) => [
    el("strong", {}, log.tool),
    objectName(log.object),
    log.error ? el("span", { class: "field-error" }, log.error) : number(log.raw_score),
    log.error ? "" : el("span", { class: "measured" }, fixed(log.calibrated_score), bar((log.calibrated_score - 1) / 4)),
    el("span", { class: "dim" }, [log.cached ? "from cache" : seconds(log.seconds), log.note].filter(Boolean).join("; ")),
  ]);
  return table("Measurements", ["Tool", "Where", "Raw", "On 1 to 5", "Time"], rows);
}

function number(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(4))) : "–";
}

function answerView({ result }) {
  return result?.need_replan ? el("p", {}, `More evidence is needed: ${result.replan_reason ?? ""}`) : null;
}
