// What the picture's file says, in one line beside the verdict: its kind and size, and how it was taken.

import { getJson } from "./api.js";
import { el, megabytes } from "./dom.js";
import { smallerFile } from "./fix_preview.js";
import { t } from "./words.js";

const ORDER = ["camera", "lens", "focal_length", "exposure", "aperture", "iso", "date", "program"];

/** The line, filled as soon as the server has told; it stays away where the picture is gone. */
export function fileLine(run) {
  const links = run.kind === "compare" ? { A: run.links.file_a, B: run.links.file_b } : { "": run.links.file };
  const line = el("dl", { class: "file-line", hidden: true });
  // A place for each first: which answer comes first must not decide the order.
  for (const [side, link] of Object.entries(links)) if (link) fill(line, line.appendChild(el("div", { hidden: true })), side, link, run.links.smaller ? run : null);
  return line;
}

async function fill(line, place, side, link, smaller) {
  let file;
  try {
    file = await getJson(link);
  } catch {
    return;
  }
  const facts = [file.format, `${file.width} × ${file.height}`, megabytes(file.bytes), file.frames > 1 ? t("file.frames", { frames: file.frames }) : null, ...ORDER.map((name) => file.taken[name])];
  place.append(el("dt", {}, side ? t("file.of", { side }) : t("file.title")), el("dd", {}, facts.filter(Boolean).map((fact) => el("span", {}, fact))));
  place.hidden = false;
  line.hidden = false;
  if (smaller) line.after(el("div", { class: "smaller" }, smallerFile(smaller)));
}
