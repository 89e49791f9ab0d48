// Says what went wrong and what to do next.

import { el } from "./dom.js";

/** An alert for a problem; `again` (if given) is offered as a button, after the wait the server asked for. */
export function problemCard(problem, again = null) {
  const card = el(
    "div",
    { class: "notice notice-error", role: "alert" },
    el("p", { class: "notice-title" }, titleOf(problem)),
    problem.detail ? el("p", {}, problem.detail) : null,
    fieldErrors(problem),
  );
  if (again && worthRetrying(problem)) card.append(retryButton(problem, again, card));
  return card;
}

/** The same request would be refused again, unless the cause lay with the server or the way to it. */
function worthRetrying({ status }) {
  return !status || status === 408 || status === 429 || status >= 500;
}

function titleOf(problem) {
  const titles = {
    queue_full: "The server is busy",
    unauthorized: "An API key is needed",
    cancelled: "The run was cancelled",
    timed_out: "The run took too long",
    run_not_found: "There is no such run",
    picture_gone: "The picture is no longer kept",
    body_too_large: "The picture is too large",
    not_ready: "The server is still starting",
  };
  return titles[problem.kind] ?? (problem.title || "Something went wrong");
}

function fieldErrors(problem) {
  if (!problem.errors || problem.errors.length < 2) return null;
  return el("ul", {}, problem.errors.map((each) => el("li", {}, `${each.field}: ${each.message}`)));
}

function retryButton(problem, again, card) {
  const button = el("button", { type: "button" }, "Try again");
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
      button.textContent = "Try again";
      clearInterval(timer);
    } else button.textContent = `Try again in ${left} s`;
    left -= 1;
  };
  const timer = setInterval(tick, 1000);
  tick();
}
