// Keys for everything that is done often; "?" shows them. They can be switched off.

import { byId, el, replace } from "./dom.js";
import { t } from "./words.js";

const STORED = "agenticiqa.shortcuts";
const TYPING = "textarea, select, dialog, input:not([type=checkbox], [type=file], [type=range])";

export function setUpShortcuts(desk) {
  const { viewer } = desk;
  const dialog = byId("shortcuts");
  const looking = (action) => () => viewer.pictures.length && action();
  const chooseMap = (name) => viewer.offersMap(name) && desk.showMap(viewer.wantedMap === name ? "" : name);
  const layout = (name) => viewer.pictures.length > 1 && viewer.useLayout(viewer.layout === name ? "both" : name);
  const keys = [
    ["a", "keys.assess", () => go("assess")],
    ["c", "keys.compare", () => go("compare")],
    ["d", "keys.many", () => go("many")],
    ["h", "keys.history", () => go("history")],
    ["q", "keys.question", () => desk.question.focus()],
    ["o", "keys.choose", () => desk.bench.nextSlot.element.querySelector("input").click()],
    ["m", "keys.quality", looking(() => chooseMap("quality"))],
    ["x", "keys.clipping", looking(() => chooseMap("clipped"))],
    ["e", "keys.focus", looking(() => chooseMap("focus"))],
    ["l", "keys.loupe", looking(() => viewer.setLoupe(!viewer.loupeOn))],
    ["b", "keys.box", looking(() => viewer.setDrawing(!viewer.drawing))],
    ["v", "keys.worst", () => viewer.toggleWorst()],
    ["w", "keys.wipe", () => layout("wipe")],
    ["f", "keys.flicker", () => layout("flicker")],
    ["0", "keys.fit", looking(() => viewer.fit())],
    ["1", "keys.pixels", looking(() => viewer.showPixels())],
    ["?", "keys.help", () => show(dialog, keys)],
  ];
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || dialog.open || !switchedOn()) return;
    if (event.target.closest(TYPING)) return;
    const entry = keys.find(([key]) => key === event.key);
    if (!entry || (!desk.visible && !["a", "c", "d", "h", "?"].includes(event.key))) return;
    event.preventDefault();
    entry[2]();
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
  const own = keys.map(([key, words]) => [key, t(words)]);
  const onPicture = [["+ −", t("keys.zoom")], ["← ↑ ↓ →", t("keys.move")], ["Enter", t("keys.ask")]];
  const named = (text) => text.split(" ").map((key) => el("kbd", {}, key));
  replace(byId("shortcuts-list"), [...own, ...onPicture].map(([key, words]) => el("div", {}, el("dt", {}, named(key)), el("dd", {}, words))));
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
