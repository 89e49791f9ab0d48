// A piece of advice followed by numbers: the picture and the copy side by side, what that gains, and the copy to keep.

import { getJson, pictureBlob } from "./api.js";
import { el, fixed, replace } from "./dom.js";
import { problemCard } from "./messages.js";
import { save } from "./run_card.js";
import { t } from "./words.js";

const SHOWN = 640;
const SAME = 0.05;

/** A button that shows the copy below itself, and hides it again. */
export function fixPreview(run, number) {
  const shown = el("div", { class: "fix", "aria-live": "polite" });
  const button = el("button", { type: "button", class: "quiet small", "aria-expanded": "false" }, t("fix.show"));
  button.addEventListener("click", async () => {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    button.textContent = t(open ? "fix.hide" : "fix.show");
    if (!open) return replace(shown);
    replace(shown, el("p", { class: "hint" }, el("span", { class: "spinner", "aria-hidden": "true" }), ` ${t("fix.working")}`));
    try {
      replace(shown, await pair(run, number));
    } catch (problem) {
      replace(shown, problemCard(problem));
    }
  });
  return [button, shown];
}

async function pair(run, number) {
  const path = `/v1/runs/${run.id}/fixes/${number}`;
  const [told, before, after] = await Promise.all([getJson(path), pictureBlob(`${run.links.image}?max_side=${SHOWN}`), pictureBlob(`${path}/image?max_side=${SHOWN}`)]);
  const gain = told.after - told.before;
  const verdict = t(Math.abs(gain) < SAME ? "fix.same" : gain > 0 ? "fix.better" : "fix.worse", { before: fixed(told.before, 1), after: fixed(told.after, 1) });
  const keep = async () => save(await pictureBlob(told.image), `agenticiqa-${run.id}-${number + 1}.png`);
  return [
    el("div", { class: "fix-pair" }, figure(before, t("fix.before")), figure(after, t("fix.after"))),
    el("p", {}, verdict, " ", el("button", { type: "button", class: "small", onclick: keep }, t("fix.save"))),
  ];
}

function figure(blob, caption) {
  const url = URL.createObjectURL(blob);
  return el("figure", {}, el("img", { src: url, alt: caption, onload: () => URL.revokeObjectURL(url) }), el("figcaption", {}, caption));
}
