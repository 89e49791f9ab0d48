// What each step of a run found, in words and tables.

import { bar } from "./answer_card.js";
import { el, fixed, seconds, table } from "./dom.js";
import { flawName, severityName } from "./findings.js";
import { t } from "./words.js";

export const STEPS = ["plan", "views", "detection", "selection", "analysis", "tools", "answer"];
export const stepTitle = (step) => t(`step.${step}`);

/** What is going on, for a user who waits. */
export const workingWords = (step) => t(`working.${step}`);

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
  const views = { plan: planView, views: viewsView, detection: detectionView, selection: selectionView, analysis: analysisView, tools: toolsView, answer: answerView };
  return views[step]?.(details) ?? null;
}

function planView({ plan }) {
  if (!plan) return null;
  const scope = Array.isArray(plan.query_scope) ? plan.query_scope.join(", ") : t("answer.whole");
  const facts = [
    [t("plan.about"), scope],
    [t("slot.reference"), t(plan.reference_mode === "Full-Reference" ? "plan.with_reference" : "plan.no_reference")],
    [t("plan.flaws"), plan.distortions ? named(plan.distortions) : t("plan.to_be_found")],
    ...(plan.required_tool ? [[t("plan.tools"), [plan.required_tool, ...(plan.extra_tools ?? [])].join(", ")]] : []),
  ];
  return el("dl", { class: "facts" }, facts.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text))));
}

function viewsView({ views }) {
  return el("ul", {}, (views ?? []).map(({ kind, box: [x, y, width, height], reason }) => el("li", {}, el("span", { class: "dim" }, t(`view.${kind}`, { width, height, x, y })), " ", reason)));
}

function named(byObject) {
  return Object.entries(byObject).map(([object, names]) => (object === "Global" ? names.map(flawName).join(", ") : `${object}: ${names.map(flawName).join(", ")}`)).join("; ");
}

function detectionView({ distortions }) {
  const entries = Object.entries(distortions ?? {}).filter(([, names]) => names.length);
  if (!entries.length) return el("p", {}, t("evidence.none_found"));
  return el("ul", { class: "tags" }, entries.flatMap(([object, names]) => names.map((name) => el("li", {}, object === "Global" ? flawName(name) : `${flawName(name)} (${object})`))));
}

function selectionView({ tools }) {
  const rows = Object.entries(tools ?? {}).flatMap(([object, byDistortion]) => Object.entries(byDistortion).map(([distortion, tool]) => [objectName(object), flawName(distortion), tool]));
  return rows.length ? table(t("tools.chosen"), [t("tools.where"), t("tools.for"), t("tools.tool")], rows) : el("p", {}, t("tools.none_fits"));
}

const objectName = (object) => (object === "Global" ? t("tools.whole") : object);

function analysisView({ analysis }) {
  const entries = Object.entries(analysis ?? {}).flatMap(([object, found]) => found.map((each) => ({ object, ...each })));
  if (!entries.length) return el("p", {}, t("evidence.nothing"));
  return el("ul", { class: "findings" }, entries.map((each) => el("li", {}, el("p", { class: "finding-head" }, severityBadge(each.severity), el("strong", {}, flawName(each.type)), each.object === "Global" ? null : el("span", { class: "dim" }, each.object), each.uncertain ? el("span", { class: "dim" }, t("evidence.uncertain")) : null), el("p", {}, each.explanation))));
}

function severityBadge(severity) {
  return el("span", { class: `severity severity-${severity}` }, severityName(severity));
}

function toolsView({ logs }) {
  if (!logs?.length) return el("p", {}, t("tools.not_needed"));
  const rows = logs.map((log) => [
    el("strong", {}, log.tool),
    objectName(log.object),
    log.error ? el("span", { class: "field-error" }, log.error) : number(log.raw_score),
    log.error ? "" : el("span", { class: "measured" }, fixed(log.calibrated_score), bar((log.calibrated_score - 1) / 4)),
    el("span", { class: "dim" }, [log.cached ? t("tools.cached") : seconds(log.seconds), log.note].filter(Boolean).join("; ")),
  ]);
  return table(t("tools.caption"), [t("tools.tool"), t("tools.where"), t("tools.raw"), t("tools.points"), t("tools.time")], rows);
}

function number(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(4))) : "–";
}

function answerView({ result }) {
  return result?.need_replan ? el("p", {}, t("evidence.more", { reason: result.replan_reason ?? "" })) : null;
}
