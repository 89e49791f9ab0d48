// Whether the server takes work, in the corner of the page; one that went away is reported prominently.

import { getJson, whenLost } from "./api.js";
import { el, replace } from "./dom.js";
import { t } from "./words.js";

const SOON_MS = 1500;
const BUSY_MS = 3000;
const LATER_MS = 20_000;

/** `banner` is the place for what is said of a server that is not there; `back()` is called when it is there again. */
export function watchServer(element, version, banner, back = () => {}) {
  let timer = null;
  let away = false;
  const look = async () => {
    clearTimeout(timer);
    let wait = LATER_MS;
    try {
      const state = await getJson("/readyz");
      const busy = state.running + state.waiting;
      show(element, "ready", busy ? t("server.busy", { running: state.running, waiting: state.waiting }) : t("server.ready"));
      if (busy) wait = BUSY_MS;
      version.textContent = `AgenticIQA ${state.version}.`;
      if (away) back();
      away = setAway(banner, false);
    } catch (problem) {
      wait = SOON_MS;
      if (problem.status) {
        show(element, "starting", t(problem.detail.includes("stopping") ? "server.stopping" : problem.detail.includes("full") ? "server.full" : "server.loading"));
        away = setAway(banner, false);
      } else {
        show(element, "away", t("server.away"));
        if (!away) away = setAway(banner, true);
      }
    }
    clearTimeout(timer);
    timer = setTimeout(() => (document.hidden ? document.addEventListener("visibilitychange", look, { once: true }) : look()), wait);
  };
  // A request that found no server: no need to wait for the next look.
  whenLost(() => {
    if (away) return;
    clearTimeout(timer);
    timer = setTimeout(look, 200);
  });
  look();
}

function setAway(banner, away) {
  replace(banner, away ? el("div", { class: "notice notice-caution server-lost", role: "alert" }, el("p", { class: "notice-title" }, t("server.lost_title")), el("p", {}, t("server.lost_words"))) : []);
  return away;
}

function show(element, state, words) {
  if (element.textContent !== words) element.textContent = words;
  element.dataset.state = state;
}
