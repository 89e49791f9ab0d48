// A copy beside the picture, with what it gains, to keep: with a piece of advice followed, or as a smaller file.

import { getJson, pictureBlob } from "./api.js";
import { el, fixed, megabytes, replace } from "./dom.js";
import { problemCard } from "./messages.js";
import { save } from "./run_card.js";
import { t } from "./words.js";

const SHOWN = 640;
const SAME = 0.05;

/** Advice that has a fix, followed. */
export const fixPreview = (run, number) => preview(t("fix.show"), t("fix.working"), () => followed(run, number));

/** The picture as a smaller file that looks the same. */
export const smallerFile = (run) => preview(t("smaller.show"), t("smaller.working"), () => smaller(run));

/** A button that shows what `make()` gives below itself, and hides it again. */
function preview(words, working, make) {
  const shown = el("div", { class: "fix", "aria-live": "polite" });
  const button = el("button", { type: "button", class: "quiet small", "aria-expanded": "false" }, words);
  button.addEventListener("click", async () => {
    const open = button.getAttribute("aria-expanded") === "false";
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? t("fix.hide") : words;
    if (!open) return replace(shown);
    replace(shown, el("p", { class: "hint" }, el("span", { class: "spinner", "aria-hidden": "true" }), ` ${working}`));
    try {
      replace(shown, await make());
    } catch (problem) {
      replace(shown, problemCard(problem));
    }
  });
  return [button, shown];
}

async function followed(run, number) {
  const path = `/v1/runs/${run.id}/fixes/${number}`;
  const [told, before, after] = await Promise.all([getJson(path), pictureBlob(`${run.links.image}?max_side=${SHOWN}`), pictureBlob(`${path}/image?max_side=${SHOWN}`)]);
  const gain = told.after - told.before;
  const verdict = t(Math.abs(gain) < SAME ? "fix.same" : gain > 0 ? "fix.better" : "fix.worse", { before: fixed(told.before, 1), after: fixed(told.after, 1) });
  const keep = async () => save(await pictureBlob(told.image), `agenticiqa-${run.id}-${number + 1}.png`);
  return pair([before, t("fix.before")], [after, t("fix.after")], verdict, keep);
}

/** Codecs are judged by pixels: both are shown at 100 %. */
async function smaller(run) {
  const told = await getJson(run.links.smaller);
  const [least, sizeBefore] = [fixed(told.least, 1), megabytes(told.bytes_before)];
  if (!told.image) return el("p", {}, t("smaller.none", { least, before: sizeBefore }));
  const [before, after] = await Promise.all([pictureBlob(run.links.image), pictureBlob(told.image)]);
  const words = [t("smaller.found", { quality: told.quality, kept: fixed(told.kept, 1), score: fixed(told.before, 1), after: fixed(told.after, 1) }), ...told.notes].join(" ");
  const shown = pair([before, t("smaller.before", { size: sizeBefore })], [after, t("smaller.after", { size: megabytes(told.bytes_after) })], words, () => save(after, `${run.image_name.replace(/\.\w+$/, "")}.webp`));
  shown[0].classList.add("fix-pixels");
  return shown;
}

/** Two of [blob, caption] side by side, what is said of them, and a button that saves the copy. */
function pair(before, after, words, keep) {
  return [
    el("div", { class: "fix-pair" }, figure(...before), figure(...after)),
    el("p", {}, words),
    el("button", { type: "button", class: "small", onclick: keep }, t("fix.save")),
  ];
}

function figure(blob, caption) {
  const url = URL.createObjectURL(blob);
  return el("figure", {}, el("img", { src: url, alt: caption, onload: () => URL.revokeObjectURL(url) }), el("figcaption", {}, caption));
}
