// Whether the server takes work, in the corner of the page.

import { getJson } from "./api.js";

const SOON_MS = 1500;
const BUSY_MS = 3000;
const LATER_MS = 20_000;

export function watchServer(element, version) {
  const look = async () => {
    let wait = LATER_MS;
    try {
      const state = await getJson("/readyz");
      const busy = state.running + state.waiting;
      show(element, "ready", busy ? `Busy: ${state.running} running, ${state.waiting} waiting` : "Ready");
      if (busy) wait = BUSY_MS;
      version.textContent = `AgenticIQA ${state.version}.`;
    } catch (problem) {
      wait = SOON_MS;
      if (problem.status === 503) show(element, "starting", problem.detail.includes("stopping") ? "Stopping" : "Loading its model");
      else show(element, "away", "Not reachable");
    }
    setTimeout(() => (document.hidden ? document.addEventListener("visibilitychange", look, { once: true }) : look()), wait);
  };
  look();
}

function show(element, state, words) {
  if (element.textContent !== words) element.textContent = words;
  element.dataset.state = state;
}
