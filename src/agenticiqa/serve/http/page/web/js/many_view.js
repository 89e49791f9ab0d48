// Many pictures: sent as one job, followed, and shown as a contact sheet.

import { getJson, request, send } from "./api.js";
import { chosenFiles } from "./dropped.js";
import { el, fixed, freshId, megabytes, percent, replace } from "./dom.js";
import { LiveTiles } from "./live_tiles.js";
import { problemCard } from "./messages.js";
import { knownLimits, looksLikePicture } from "./picture_checks.js";
import { ACCEPTED } from "./picture_slot.js";
import { save } from "./run_card.js";
import { t } from "./words.js";

const LOOK_MS = 1000;
const WORST = 10;

export class ManyView {
  /** `openPictures(list)` gets one or two of {path, name, kept}. */
  constructor(root, { openPictures }) {
    Object.assign(this, { root, openPictures, audit: null, tiles: null, expecting: false, turn: 0 });
    window.addEventListener("message", (event) => this.told(event));
  }

  /** The audit of an id, or a place to begin one. */
  async open(id = null) {
    const turn = (this.turn += 1);
    this.expecting = false;
    if (!id) {
      this.audit = null;
      this.place(this.chooser());
      return;
    }
    if (this.audit?.id === id && this.root.querySelector("iframe")) return;
    await this.follow(id, turn);
  }

  /** Fills the view; tiles that are no longer in it take no memory. */
  place(...children) {
    if (!children.includes(this.tiles?.element)) {
      this.tiles?.close();
      this.tiles = null;
    }
    replace(this.root, ...children);
  }

  chooser() {
    const [files, folder] = [freshId("files"), freshId("folder")];
    const input = (id, label, more) => el("input", { type: "file", id, class: "unseen file-input", multiple: true, "aria-label": label, onchange: (event) => this.take(chosenFiles(event.target.files)), ...more });
    return el(
      "div",
      { class: "slot many-slot" },
      el("p", { class: "headline" }, t("many.headline")),
      el("p", { class: "headline-words" }, t("many.words")),
      el("span", { class: "slot-actions" }, input(files, t("many.choose"), { accept: ACCEPTED }), el("label", { class: "button", for: files, "aria-hidden": "true" }, t("many.choose")), input(folder, t("many.folder"), { webkitdirectory: true }), el("label", { class: "button", for: folder, "aria-hidden": "true" }, t("many.folder"))),
    );
  }

  /** The first pictures of a folder whose rest is still being opened: {@link take} follows. */
  expect(pictures) {
    this.expecting = true;
    this.tiles = new LiveTiles();
    this.tiles.add(pictures);
    this.place(new Waiting(t("many.opening")).element, this.tiles.element);
  }

  /** Sends files as one job; what is plainly no picture stays here. */
  async take(files) {
    const expected = this.expecting;
    this.expecting = false;
    const pictures = files.filter(looksLikePicture);
    const refusal = refusalOf(pictures);
    if (refusal) {
      this.place(el("p", { class: "notice notice-error", role: "alert" }, refusal), this.chooser());
      return;
    }
    const turn = (this.turn += 1);
    const waiting = new Waiting(t("many.sending", { count: pictures.length }));
    const stop = new AbortController();
    waiting.offerCancel(() => stop.abort());
    if (!expected) this.tiles = new LiveTiles();
    this.tiles.add(pictures);
    this.place(waiting.element, this.tiles.element);
    const form = new FormData();
    for (const { file, path } of pictures) form.append("files", file, path);
    try {
      const { blob } = await send("/v1/audits", form, { signal: stop.signal, onProgress: (share) => waiting.show(share, t("many.sending_share", { share: percent(share) })) });
      const audit = JSON.parse(await blob.text());
      window.history.pushState(null, "", `#/many/${audit.id}`);
      if (turn === this.turn) await this.follow(audit.id, turn);
    } catch (problem) {
      if (turn === this.turn) this.place(problem.name === "AbortError" ? null : problemCard(problem, () => this.take(files)), this.chooser());
    }
  }

  async follow(id, turn) {
    const waiting = new Waiting(t("many.looking"));
    waiting.offerCancel(async () => {
      try {
        await request(`/v1/audits/${id}/cancel`, { method: "POST" });
      } catch (problem) {
        waiting.warn(problem);
      }
    });
    this.tiles ??= new LiveTiles();
    this.place(waiting.element, this.tiles.element);
    try {
      await this.tiles.learnNames();
      const pace = new Pace();
      for (let known = 0; ; ) {
        const audit = await getJson(`/v1/audits/${id}`);
        if (turn !== this.turn) return;
        if (audit.finished_at) {
          this.show(audit);
          return;
        }
        const done = audit.finished ?? 0;
        waiting.show(done / audit.total, audit.status === "queued" ? t("working.queued") : [t("many.progress", { done, total: audit.total }), pace.left(done, audit.total)].filter(Boolean).join(" · "));
        const rows = rowsIn(await (await request(`${audit.links.rows}?after=${known}&thumbnails=true`)).text());
        if (turn !== this.turn) return;
        rows.forEach((row) => this.tiles.found(row));
        known += rows.length;
        waiting.decided(this.tiles.decisions());
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
      }
    } catch (problem) {
      if (turn === this.turn) this.place(problemCard(problem, () => this.follow(id, turn)), this.chooser());
    }
  }

  /** Goes on with an audit that was stopped, or whose server ended. */
  async resume(audit) {
    const turn = (this.turn += 1);
    try {
      await request(audit.links.resume, { method: "POST" });
    } catch (problem) {
      if (turn === this.turn) this.show(audit, problem);
      return;
    }
    await this.follow(audit.id, turn);
  }

  /** What an ended audit found; `problem` is why it cannot go on. */
  show(audit, problem = null) {
    this.audit = audit;
    const refused = problem && problemCard(problem, () => this.resume(audit));
    const resume = audit.links.resume && !problem ? el("button", { type: "button", class: "primary", onclick: () => this.resume(audit) }, t("many.resume")) : null;
    if (!audit.links.sheet) {
      const failed = audit.status === "error" ? (audit.error?.detail ?? "") : t("many.unfinished_words");
      this.place(refused ?? el("div", { class: "notice notice-caution", role: "status" }, el("p", { class: "notice-title" }, t("many.unfinished")), el("p", {}, failed), el("div", { class: "notice-actions" }, resume)), this.chooser());
      return;
    }
    const { pictures, not_done: rest, without_finding: fine, keep, mean_score: mean } = audit.summary;
    const said = el("p", { class: "hint", role: "status" });
    this.place(
      refused,
      el(
        "div",
        { class: "many-head" },
        el("p", { class: "answer-text" }, audit.error ? `${t("many.stopped", { done: audit.total - rest, total: audit.total })} ` : "", t("many.summary", { pictures, fine, keep }), typeof mean === "number" ? ` ${t("many.mean", { mean: fixed(mean, 1) })}` : ""),
        resume,
        el("button", { type: "button", onclick: () => this.exportWorst(said) }, t("many.worst")),
        el("a", { class: "button", href: "#/many" }, t("many.another")),
      ),
      said,
      el("iframe", { class: "sheet", title: t("many.sheet"), src: audit.links.sheet }),
    );
  }

  /** The ten lowest scores as a CSV file. */
  async exportWorst(said) {
    try {
      const rows = rowsIn(await (await request(this.audit.links.rows)).text());
      const worst = rows.filter((row) => typeof row.score === "number").sort((a, b) => a.score - b.score).slice(0, WORST);
      const lines = [["path", "score", "findings"], ...worst.map((row) => [row.path, row.score.toFixed(2), Object.keys(row.findings).join(", ")])];
      save(new Blob([lines.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }), "ten-worst.csv");
      said.textContent = t("many.exported", { count: worst.length });
    } catch (problem) {
      said.textContent = problem.message;
    }
  }

  /** The sheet asks for one picture in Assess, or two in Compare. */
  told(event) {
    if (event.origin !== location.origin || event.data?.source !== "agenticiqa-sheet" || !this.audit) return;
    const wanted = { assess: 1, compare: 2 }[event.data.action];
    if (!wanted) return;
    const see = this.audit.links.sheet.replace("/sheet?", "/picture?");
    const list = event.data.paths.slice(0, wanted).map((path) => ({ path: `${see}&name=${encodeURIComponent(path)}`, name: path.split("/").at(-1), kept: `${this.audit.id}/${path}` }));
    this.openPictures(list);
  }
}

const rowsIn = (text) => text.split("\n").filter(Boolean).map((line) => JSON.parse(line));

/** Names with commas, quotes or line ends are quoted; one that a table program would take for a formula is not. */
function csvCell(value) {
  const text = /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function refusalOf(pictures) {
  if (!pictures.length) return t("many.none");
  const limits = knownLimits();
  if (!limits) return null;
  if (pictures.length > limits.max_batch_samples) return t("many.too_many", { count: pictures.length, most: limits.max_batch_samples });
  const bytes = pictures.reduce((sum, { file }) => sum + file.size, 0);
  return bytes > limits.max_batch_upload_bytes ? t("many.too_large", { size: megabytes(bytes), most: megabytes(limits.max_batch_upload_bytes) }) : null;
}

/** How long the rest takes at the pace so far. */
class Pace {
  left(done, total) {
    // A second pass over the pictures begins to count anew.
    if (!this.first || done < this.first.done) this.first = { done, at: performance.now() };
    const each = (performance.now() - this.first.at) / 1000 / (done - this.first.done);
    if (!Number.isFinite(each)) return null;
    const seconds = each * (total - done);
    const [amount, unit] = seconds < 90 ? [seconds, "second"] : [seconds / 60, "minute"];
    const time = Math.ceil(amount).toLocaleString("en", { style: "unit", unit, unitDisplay: "long" });
    return t("many.left", { time });
  }
}

class Waiting {
  constructor(words) {
    this.words = el("p", { class: "waiting-words", role: "status" }, words);
    this.bar = el("progress", { max: "1", value: "0", "aria-label": words });
    this.actions = el("div", { class: "notice-actions" });
    this.counts = el("p", { class: "hint many-counts", hidden: true });
    this.element = el("div", { class: "card many-waiting" }, this.words, this.bar, this.actions, this.counts);
  }

  show(share, words) {
    this.bar.value = share;
    if (this.words.textContent !== words) this.words.textContent = words;
  }

  /** How many are kept, perhaps kept and rejected so far; nothing before the first is decided. */
  decided({ keep, maybe, reject }) {
    this.counts.hidden = !(keep + maybe + reject);
    this.counts.textContent = t("many.decided", { keep, maybe, reject });
  }

  warn(problem) {
    this.element.append(problemCard(problem));
  }

  offerCancel(action) {
    replace(this.actions, el("button", { type: "button", onclick: action }, t("many.stop")));
  }
}
