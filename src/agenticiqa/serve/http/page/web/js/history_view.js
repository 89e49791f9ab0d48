// Earlier runs: pinned ones first, then the newest; searched, deleted, and two of them compared.

import { getJson, pictureBlob, request } from "./api.js";
import { headlineOf } from "./comparison_card.js";
import { el, fixed, freshId, replace } from "./dom.js";
import { levelOf } from "./levels.js";
import { problemCard } from "./messages.js";
import { shownFor } from "./questions.js";
import { t, wordsIfAny } from "./words.js";

const PAGE = 20;
const TYPING_MS = 250;

export class HistoryView {
  /** `openInCompare(pictures)` gets two of {path, name, kept}. */
  constructor(root, { openInCompare }) {
    Object.assign(this, { root, openInCompare, turn: 0, words: "" });
    this.chosen = new Map();
    this.seen = new IntersectionObserver((entries) => entries.forEach((entry) => entry.isIntersecting && this.loadThumbnail(entry.target)));
  }

  async open() {
    this.chosen.clear();
    const id = freshId("search");
    this.search = el("input", { type: "search", id, value: this.words, maxlength: "200", placeholder: t("history.search_hint"), oninput: () => this.typed() });
    this.compareButton = el("button", { type: "button", class: "primary", disabled: true, onclick: () => this.compare() }, t("history.compare"));
    this.body = el("div", {});
    replace(this.root, el("div", { class: "history-tools" }, el("label", { class: "unseen", for: id }, t("history.search")), this.search, this.compareButton), this.body);
    await this.list();
  }

  typed() {
    clearTimeout(this.typing);
    this.typing = setTimeout(() => {
      this.words = this.search.value.trim();
      this.list();
    }, TYPING_MS);
  }

  /** Pinned runs, then the others, newest first. */
  async list() {
    const turn = (this.turn += 1);
    const asked = new URLSearchParams({ limit: String(PAGE), ...(this.words ? { q: this.words } : {}) });
    this.rows = el("ul", { class: "runs" });
    this.more = el("div", { class: "runs-more" });
    try {
      const { runs } = await getJson(`/v1/runs?${asked}&pinned=true`);
      if (turn !== this.turn) return;
      replace(this.body, this.rows, this.more);
      this.rows.append(...runs.map((run) => this.row(run)));
      await this.load(`/v1/runs?${asked}&pinned=false`, turn);
    } catch (problem) {
      if (turn === this.turn) replace(this.body, problemCard(problem, () => this.list()));
    }
  }

  async load(path, turn) {
    try {
      const { runs, next } = await getJson(path);
      if (turn !== this.turn) return;
      const focused = this.more.contains(document.activeElement);
      const added = runs.map((run) => this.row(run));
      this.rows.append(...added);
      if (focused) added[0]?.querySelector(".run-row").focus();
      replace(this.more, next ? el("button", { type: "button", onclick: () => this.load(next, turn) }, t("history.older")) : null);
      if (!this.rows.children.length) replace(this.body, this.words ? el("p", { class: "empty" }, t("history.nothing_found", { words: this.words })) : emptyState());
    } catch (problem) {
      replace(this.more, problemCard(problem, () => this.load(path, turn)));
    }
  }

  row(run) {
    const image = el("img", { alt: "", width: "96", height: "72", "data-source": run.links.image ?? run.links.image_a });
    // A run often fails because of its picture: that is not asked for again.
    if (run.status !== "error") this.seen.observe(image);
    const comparing = run.kind === "compare";
    const title = comparing ? t("history.pair", { a: run.image_name, b: run.image_b_name }) : shownFor(run.query);
    const names = comparing ? t("history.comparison") : [run.image_name, run.reference_name && t("history.with_reference")].filter(Boolean).join(", ");
    const element = el("li", { class: "run-item", "data-run": run.id });
    const said = el("div", { class: "run-problem" });
    element.append(
      this.choice(run, title),
      el(
        "a",
        { class: "run-row", href: `#/run/${run.id}` },
        el("span", { class: run.status === "error" ? "run-thumb run-thumb-gone" : "run-thumb" }, image),
        el("span", { class: "run-words" }, el("span", { class: "run-query" }, title), el("span", { class: "dim" }, `${names} · ${new Date(run.created_at).toLocaleString()}`)),
        el("span", { class: "run-answer" }, answerOf(run)),
      ),
      el("span", { class: "run-tools" }, this.pinButton(run, title), this.deleteButton(run, title, element, said)),
      said,
    );
    return element;
  }

  /** Two pictures that were asked about alone can be compared. */
  choice(run, title) {
    if (run.kind !== "assess") return el("span", { class: "run-choice" });
    const box = el("input", { type: "checkbox", "aria-label": t("history.choose", { title, name: run.image_name }) });
    box.checked = this.chosen.has(run.id);
    // The list may have been drawn anew since it was chosen.
    if (box.checked) this.chosen.get(run.id).box = box;
    box.addEventListener("change", () => {
      if (box.checked) this.chosen.set(run.id, { path: run.links.image, name: run.image_name, kept: `${run.id}/image`, box });
      else this.chosen.delete(run.id);
      if (this.chosen.size > 2) {
        const [[oldest, { box: other }]] = this.chosen;
        other.checked = false;
        this.chosen.delete(oldest);
      }
      this.compareButton.disabled = this.chosen.size !== 2;
    });
    return el("span", { class: "run-choice" }, box);
  }

  compare() {
    this.openInCompare([...this.chosen.values()]);
  }

  pinButton(run, title) {
    const button = el("button", { type: "button", class: "quiet small", "aria-pressed": String(run.pinned), "aria-label": t("history.pin_long", { title }), title: t("history.pin") }, run.pinned ? "★" : "☆");
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        await request(`/v1/runs/${run.id}/pin`, { method: run.pinned ? "DELETE" : "POST" });
        await this.list();
        // The button went with its row; the focus stays where the user has moved it meanwhile.
        if (document.activeElement === document.body) this.rows.querySelector(`[data-run="${run.id}"] .run-tools button`)?.focus();
      } catch (problem) {
        replace(this.more, problemCard(problem));
        button.disabled = false;
      }
    });
    return button;
  }

  /** The first press asks, the second deletes. */
  deleteButton(run, title, element, said) {
    const button = el("button", { type: "button", class: "quiet small", "aria-label": t("history.delete_long", { title }), title: t("history.delete") }, "✕");
    let sure = false;
    const calm = () => {
      sure = false;
      button.textContent = "✕";
    };
    button.addEventListener("blur", calm);
    button.addEventListener("click", async (event) => {
      // The second half of a double click was no answer to the question.
      if (event.detail > 1) return;
      if (!sure) {
        sure = true;
        button.textContent = t("history.delete_sure");
        return;
      }
      try {
        await request(`/v1/runs/${run.id}`, { method: "DELETE" });
        this.chosen.delete(run.id);
        const next = element.nextElementSibling ?? element.previousElementSibling;
        element.remove();
        (next?.querySelector(".run-row") ?? this.search).focus();
        if (!this.rows.children.length) await this.list();
      } catch (problem) {
        replace(said, problemCard(problem));
        calm();
      }
    });
    return button;
  }

  async loadThumbnail(image) {
    this.seen.unobserve(image);
    const path = image.dataset.source;
    try {
      image.addEventListener("load", () => URL.revokeObjectURL(image.src), { once: true });
      image.src = URL.createObjectURL(await pictureBlob(`${path}${path.includes("?") ? "&" : "?"}max_side=192`));
    } catch {
      image.closest(".run-thumb").classList.add("run-thumb-gone");
    }
  }
}

function answerOf(run) {
  if (typeof run.score === "number") return el("span", { class: `badge level-${levelOf(run.score)}` }, fixed(run.score));
  if (run.kind === "compare" && run.answer) return headlineOf(run.answer);
  return run.answer_text ?? run.answer ?? wordsIfAny(`status.${run.status}`) ?? "–";
}

function emptyState() {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, t("history.empty")), el("p", {}, t("history.empty_words")), el("p", {}, el("a", { class: "button", href: "#/assess" }, t("history.begin"))));
}
