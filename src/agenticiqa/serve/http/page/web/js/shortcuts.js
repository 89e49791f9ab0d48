// Keys for everything that is done often; "?" shows them. Whoever needs single keys for something else switches them off.

import { byId, el, replace } from "./dom.js";
import { t } from "./words.js";

const STORED = "agenticiqa.shortcuts";
const TYPING = "textarea, select, dialog, input:not([type=checkbox], [type=file], [type=range])";

export function setUpShortcuts(desk) {
  const { viewer } = desk;
  const dialog = byId("shortcuts");
  const chooseMap = (name) => desk.showMap(viewer.wantedMap === name ? "" : name);
  const layout = (name) => viewer.pictures.length > 1 && viewer.useLayout(viewer.layout === name ? "both" : name);
  const keys = {
    a: ["keys.assess", () => go("assess")],
    c: ["keys.compare", () => go("compare")],
    d: ["keys.many", () => go("many")],
    h: ["keys.history", () => go("history")],
    q: ["keys.question", () => desk.question.focus()],
    o: ["keys.choose", () => desk.bench.nextSlot.element.querySelector("input").click()],
    m: ["keys.quality", () => desk.bench.run && chooseMap("quality")],
    x: ["keys.clipping", () => chooseMap("clipped")],
    e: ["keys.focus", () => chooseMap("focus")],
    l: ["keys.loupe", () => viewer.setLoupe(!viewer.loupeOn)],
    b: ["keys.box", () => viewer.setDrawing(!viewer.drawing)],
    v: ["keys.worst", () => viewer.worst && viewer.showBox(viewer.worst.box)],
    w: ["keys.wipe", () => layout("wipe")],
    f: ["keys.flicker", () => layout("flicker")],
    0: ["keys.fit", () => viewer.fit()],
    1: ["keys.pixels", () => viewer.showPixels()],
    "?": ["keys.help", () => show(dialog, keys)],
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open || !switchedOn()) return;
    if (event.target.closest(TYPING)) return;
    const entry = keys[event.key];
    if (!entry || (!desk.visible && !["a", "c", "d", "h", "?"].includes(event.key))) return;
    event.preventDefault();
    entry[1]();
  });
  byId("shortcuts-button").addEventListener("click", () => show(dialog, keys));
  byId("shortcuts-close").addEventListener("click", () => dialog.close());
  const box = byId("shortcuts-on");
  box.checked = switchedOn();
  box.addEventListener("change", () => switchTo(box.checked));
}

function go(view) {
  location.hash = `#/${view}`;
}

function show(dialog, keys) {
  const own = Object.entries(keys).map(([key, [words]]) => [key, t(words)]);
  const onPicture = [["+ −", t("keys.zoom")], ["← ↑ ↓ →", t("keys.move")], ["Enter", t("keys.ask")]];
  replace(byId("shortcuts-list"), [...own, ...onPicture].map(([key, words]) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, words))));
  dialog.showModal();
}

function switchedOn() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function switchTo(on) {
  try {
    if (on) localStorage.removeItem(STORED);
    else localStorage.setItem(STORED, "off");
  } catch {
    // Storage may be forbidden: the choice then cannot be kept.
  }
}
