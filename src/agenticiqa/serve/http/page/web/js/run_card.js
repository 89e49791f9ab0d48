// What to take along from a run: a link, its JSON, its report, and the facts about it.

import { currentKey, request } from "./api.js";
import { el, seconds } from "./dom.js";
import { problemCard } from "./messages.js";
import { t } from "./words.js";

export const addressOf = (id) => `${location.origin}/#/run/${id}`;

export function runCard(run) {
  const said = el("p", { class: "hint", role: "status" });
  const problems = el("div");
  const card = el(
    "section",
    { class: "evidence run-card" },
    el("h4", { class: "card-title" }, t("run.title")),
    el(
      "div",
      { class: "run-actions" },
      el("button", { type: "button", onclick: () => copyLink(run, said) }, t("run.copy")),
      run.result ? el("button", { type: "button", onclick: () => saveJson(run) }, t("run.json")) : null,
      run.result ? el("button", { type: "button", onclick: (event) => saveReport(run, event.currentTarget, problems) }, t("run.report")) : null,
    ),
    said,
    problems,
    facts(run),
  );
  return card;
}

function facts(run) {
  const meta = run.result?.metadata ?? {};
  const models = [...new Set(Object.values(meta.backend ?? {}))].join(", ");
  const rows = [
    [t("run.id"), run.id],
    [t("run.when"), new Date(run.created_at).toLocaleString()],
    [t("run.took"), seconds(run.seconds)],
    [t("run.model"), models],
    [t("run.calls"), meta.calls === undefined ? "" : String(meta.calls)],
    [t("run.cost"), meta.cost_usd > 0 ? `$${meta.cost_usd.toFixed(4)}` : ""],
  ].filter(([, text]) => text);
  return el("dl", { class: "facts" }, rows.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text))));
}

async function copyLink(run, said) {
  const address = addressOf(run.id);
  const reach = t(currentKey() ? "run.reach_key" : "run.reach_all");
  try {
    await navigator.clipboard.writeText(address);
    said.textContent = t("run.copied", { address, reach });
  } catch {
    said.textContent = t("run.copy_this", { address, reach });
  }
}

function saveJson(run) {
  save(new Blob([JSON.stringify(run.result, null, 2)], { type: "application/json" }), `agenticiqa-${run.id}.json`);
}

async function saveReport(run, button, problems) {
  button.disabled = true;
  problems.replaceChildren();
  try {
    save(await (await request(run.links.report)).blob(), `agenticiqa-${run.id}.html`);
  } catch (problem) {
    problems.append(problemCard(problem));
  } finally {
    button.disabled = false;
  }
}

export function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
