// Says what went wrong and what to do next.

import { el } from "./dom.js";
import { t, wordsIfAny } from "./words.js";

/** An alert for a problem; `again` (if given) is offered as a button, after the wait the server asked for. */
export function problemCard(problem, again = null) {
  const title = titleOf(problem);
  const wanted = problem.kind === "cancelled";
  const card = el(
    "div",
    // The user cancelled the run: it is no failure.
    { class: wanted ? "notice notice-plain" : "notice notice-error", role: wanted ? "status" : "alert" },
    el("p", { class: "notice-title" }, title),
    saysMore(problem.detail, title) ? el("p", {}, problem.detail) : null,
    fieldErrors(problem),
  );
  if (again && worthRetrying(problem)) card.append(retryButton(problem, again, card));
  return card;
}

/** A detail that only repeats the title is left out. */
function saysMore(detail, title) {
  return Boolean(detail) && detail.replace(/[.!]$/, "") !== title;
}

/** The same request would be refused again, unless the cause lay with the server or the way to it. */
function worthRetrying({ status }) {
  return !status || status === 408 || status === 429 || status >= 500;
}

function titleOf(problem) {
  return wordsIfAny(`problem.${problem.kind}`) ?? (problem.title || t("problem.unknown"));
}

function fieldErrors(problem) {
  if (!problem.errors || problem.errors.length < 2) return null;
  return el("ul", {}, problem.errors.map((each) => el("li", {}, `${each.field}: ${each.message}`)));
}

function retryButton(problem, again, card) {
  const button = el("button", { type: "button" }, t("problem.again"));
  button.addEventListener("click", () => {
    card.remove();
    again();
  });
  if (problem.retryAfter) countDown(button, problem.retryAfter);
  return el("div", { class: "notice-actions" }, button);
}

function countDown(button, wait) {
  let left = wait;
  button.disabled = true;
  const tick = () => {
    if (left <= 0) {
      button.disabled = false;
      button.textContent = t("problem.again");
      clearInterval(timer);
    } else button.textContent = t("problem.again_in", { seconds: left });
    left -= 1;
  };
  const timer = setInterval(tick, 1000);
  tick();
}
