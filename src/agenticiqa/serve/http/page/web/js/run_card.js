// What to take along from a run: a link, its JSON, its report, and the facts about it.

import { currentKey, request } from "./api.js";
import { el, seconds } from "./dom.js";
import { problemCard } from "./messages.js";

export const addressOf = (id) => `${location.origin}/#/run/${id}`;

export function runCard(run) {
  const said = el("p", { class: "hint", role: "status" });
  const problems = el("div");
  const card = el(
    "section",
    { class: "card run-card" },
    el("h3", { class: "card-title" }, "This run"),
    el(
      "div",
      { class: "run-actions" },
      el("button", { type: "button", onclick: () => copyLink(run, said) }, "Copy link"),
      run.result ? el("button", { type: "button", onclick: () => saveJson(run) }, "Download JSON") : null,
      run.result ? el("button", { type: "button", onclick: (event) => saveReport(run, event.currentTarget, problems) }, "Download report") : null,
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
    ["Run", run.id],
    ["When", new Date(run.created_at).toLocaleString()],
    ["Took", seconds(run.seconds)],
    ["Model", models],
    ["Calls", meta.calls === undefined ? "" : String(meta.calls)],
    ["Cost", meta.cost_usd > 0 ? `$${meta.cost_usd.toFixed(4)}` : ""],
  ].filter(([, text]) => text);
  return el("dl", { class: "facts" }, rows.map(([term, text]) => el("div", {}, el("dt", {}, term), el("dd", {}, text))));
}

async function copyLink(run, said) {
  const address = addressOf(run.id);
  const reach = currentKey() ? "It opens on this server with the same API key." : "It opens for everyone who can reach this server.";
  try {
    await navigator.clipboard.writeText(address);
    said.textContent = `Copied: ${address}. ${reach}`;
  } catch {
    said.textContent = `Copy this: ${address}. ${reach}`;
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

function save(blob, name) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
