// Earlier runs, newest first.

import { getJson, pictureBlob } from "./api.js";
import { el, fixed, replace } from "./dom.js";
import { levelOf } from "./levels.js";
import { problemCard } from "./messages.js";

const PAGE = 20;
const STATUS_WORDS = { ok: "", partial: "incomplete", error: "failed", cancelled: "cancelled", timed_out: "took too long", interrupted: "interrupted", queued: "waiting", running: "running" };

export class HistoryView {
  constructor(root) {
    this.root = root;
    this.seen = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && this.loadThumbnail(entry.target)));
    this.turn = 0;
  }

  async open() {
    const turn = (this.turn += 1);
    this.list = el("ul", { class: "runs" });
    this.more = el("div", { class: "runs-more" });
    replace(this.root, this.list, this.more);
    await this.load(`/v1/runs?limit=${PAGE}`, turn);
  }

  async load(path, turn) {
    try {
      const { runs, next } = await getJson(path);
      if (turn !== this.turn) return;
      this.list.append(...runs.map((run) => this.row(run)));
      const older = next ? el("button", { type: "button", onclick: () => this.load(next, turn) }, "Older runs") : null;
      replace(this.more, older);
      if (!this.list.children.length) replace(this.root, emptyState());
    } catch (problem) {
      replace(this.more, problemCard(problem, () => this.load(path, turn)));
    }
  }

  row(run) {
    const image = el("img", { alt: "", width: "72", height: "54", "data-source": run.links.image ?? run.links.image_a });
    this.seen.observe(image);
    const names = run.kind === "compare" ? "Comparison" : [run.image_name, run.reference_name && "with reference"].filter(Boolean).join(", ");
    return el(
      "li",
      {},
      el(
        "a",
        { class: "run-row", href: `#/run/${run.id}` },
        el("span", { class: "run-thumb" }, image),
        el("span", { class: "run-words" }, el("span", { class: "run-query" }, run.kind === "compare" ? `${run.image_name} or ${run.image_b_name}?` : run.query), el("span", { class: "dim" }, `${names} · ${new Date(run.created_at).toLocaleString()}`)),
        el("span", { class: "run-answer" }, answerOf(run)),
      ),
    );
  }

  async loadThumbnail(image) {
    this.seen.unobserve(image);
    const path = image.dataset.source;
    try {
      image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
      image.src = URL.createObjectURL(await pictureBlob(`${path}${path.includes("?") ? "&" : "?"}max_side=144`));
    } catch {
      image.closest(".run-thumb").classList.add("run-thumb-gone");
    }
  }
}

function answerOf(run) {
  const status = STATUS_WORDS[run.status] ?? run.status;
  if (typeof run.score === "number") return el("span", { class: `badge level-${levelOf(run.score)}` }, fixed(run.score));
  if (run.kind === "compare" && run.answer) return { A: "A is better", B: "B is better", tie: "no difference" }[run.answer] ?? run.answer;
  return run.answer ?? (status || "–");
}

function emptyState() {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, "No runs yet"), el("p", {}, "What you ask appears here, and can be opened again."), el("p", {}, el("a", { class: "button", href: "#/assess" }, "Ask about a picture")));
}
