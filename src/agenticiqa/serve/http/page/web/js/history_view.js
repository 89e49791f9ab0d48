// What was asked before, by picture, and folders that were looked through; searched, pinned, deleted, two pictures compared.

import { getJson, pictureBlob, request } from "./api.js";
import { headlineOf } from "./comparison_card.js";
import { capital, el, fixed, freshId, replace, svg } from "./dom.js";
import { levelOf } from "./levels.js";
import { problemCard } from "./messages.js";
import { sentFor, titleFor } from "./questions.js";
import { t, wordsIfAny } from "./words.js";

const PAGE = 20;
const TYPING_MS = 250;
const SHOWN = 4;

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

  /** What was pinned, then the rest, newest first: each picture with all that was asked about it, folders between them. */
  async list() {
    const turn = (this.turn += 1);
    const asked = new URLSearchParams({ limit: String(PAGE), ...(this.words ? { q: this.words } : {}) });
    this.entries = new Map();
    this.rows = el("ul", { class: "runs" });
    this.more = el("div", { class: "runs-more" });
    try {
      const { runs } = await getJson(`/v1/runs?${asked}&pinned=true`);
      if (turn !== this.turn) return;
      replace(this.body, this.rows, this.more);
      this.add(runs, []);
      await this.load({ runs: `/v1/runs?${asked}&pinned=false`, audits: `/v1/audits?limit=${PAGE}` }, turn);
    } catch (problem) {
      if (turn === this.turn) replace(this.body, problemCard(problem, () => this.list()));
    }
  }

  async load(paths, turn) {
    try {
      const [{ runs, next }, folders] = await Promise.all([paths.runs ? getJson(paths.runs) : { runs: [], next: null }, auditsAt(paths.audits)]);
      if (turn !== this.turn) return;
      const focused = this.more.contains(document.activeElement);
      const added = this.add(runs, folders.audits);
      if (focused) added[0]?.querySelector(".run-row").focus();
      const older = { runs: next, audits: folders.next };
      replace(this.more, next || folders.next ? el("button", { type: "button", onclick: () => this.load(older, turn) }, t("history.older")) : null);
      this.sayIfEmpty();
    } catch (problem) {
      replace(this.more, problemCard(problem, () => this.load(paths, turn)));
    }
  }

  sayIfEmpty() {
    if (!this.entries.size) replace(this.body, this.words ? el("p", { class: "empty" }, t("history.nothing_found", { words: this.words })) : emptyState());
  }

  /** Puts runs to their pictures and folders beside them; returns the rows that came. */
  add(runs, audits) {
    const added = runs.map((run) => this.groupOf(run).add(run));
    for (const audit of audits.filter((each) => this.wanted(each))) {
      const entry = this.folder(audit);
      this.entries.set(audit.id, entry);
      added.push(entry.element);
    }
    const ordered = [...this.entries.values()].sort((a, b) => b.pinned - a.pinned || b.latest.localeCompare(a.latest));
    this.rows.append(...ordered.map((entry) => entry.element));
    return added;
  }

  /** Folders hold no words to search but what stands in the list. */
  wanted(audit) {
    return folderTitle(audit).toLowerCase().includes(this.words.toLowerCase());
  }

  groupOf(run) {
    const key = run.picture || run.id;
    if (!this.entries.has(key)) this.entries.set(key, new PictureGroup(key, this));
    return this.entries.get(key);
  }

  folder(audit) {
    const title = folderTitle(audit);
    const result = audit.summary ? t(audit.links.resume ? "history.folder_stopped" : "history.folder_result", { fine: audit.summary.without_finding }) : (wordsIfAny(`status.${audit.status}`) ?? "–");
    const [element, said] = [el("li", { class: "picture-group audit-item" }), el("div", { class: "run-problem" })];
    const row = el("a", { class: "run-row", href: `#/many/${audit.id}` }, el("span", { class: "run-thumb run-thumb-folder" }, folderIcon()), el("span", { class: "run-words" }, el("span", { class: "run-query" }, title), el("span", { class: "dim" }, when(audit))), el("span", { class: "run-answer" }, result));
    element.append(row, el("span", { class: "run-tools" }, this.deleteButton({ path: `/v1/audits/${audit.id}`, title, row, said, gone: () => this.forget(audit.id) })), said);
    return { element, pinned: false, latest: audit.created_at };
  }

  forget(key) {
    this.entries.get(key)?.element.remove();
    this.entries.delete(key);
    this.chosen.delete(key);
  }

  /** Two pictures that were asked about alone can be compared; `picture()` is {path, name, kept} of this one. */
  choice(key, name, picture) {
    const box = el("input", { type: "checkbox", "aria-label": t("history.choose", { name }) });
    box.checked = this.chosen.has(key);
    // The list may have been drawn anew since it was chosen.
    if (box.checked) this.chosen.get(key).box = box;
    box.addEventListener("change", () => {
      if (box.checked) this.chosen.set(key, { ...picture(), box });
      else this.chosen.delete(key);
      if (this.chosen.size > 2) {
        const [[oldest, { box: other }]] = this.chosen;
        other.checked = false;
        this.chosen.delete(oldest);
      }
      this.compareButton.disabled = this.chosen.size !== 2;
    });
    return box;
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

  /** The first press asks, the second deletes; `gone()` takes it from the list. */
  deleteButton({ path, title, row, said, gone }) {
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
        await request(path, { method: "DELETE" });
        const links = [...this.rows.querySelectorAll(".run-row")];
        const at = links.indexOf(row);
        gone();
        (links[at + 1] ?? links[at - 1] ?? this.search).focus();
        if (!this.entries.size) await this.list();
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

/** One picture, or one pair, with the questions about it, as a thread reads: the oldest first. */
class PictureGroup {
  constructor(key, view) {
    Object.assign(this, { key, view, runs: [], pinned: false, latest: "", unfolded: false });
    this.head = el("div", { class: "picture-head" });
    this.list = el("ul", { class: "picture-runs" });
    this.earlier = el("button", { type: "button", class: "quiet small", onclick: () => this.unfold() });
    this.element = el("li", { class: "picture-group" }, this.head, this.earlier, this.list);
  }

  /** The row of a run, put where its time belongs. */
  add(run) {
    this.runs = [...this.runs, run].sort((a, b) => a.created_at.localeCompare(b.created_at));
    const later = this.runs[this.runs.indexOf(run) + 1];
    const row = this.row(run);
    this.list.insertBefore(row, later ? this.list.querySelector(`[data-run="${later.id}"]`) : null);
    this.refresh();
    return row;
  }

  remove(run) {
    this.runs = this.runs.filter((each) => each !== run);
    this.list.querySelector(`[data-run="${run.id}"]`).remove();
    if (this.runs.length) this.refresh();
    else this.view.forget(this.key);
  }

  refresh() {
    const newest = this.runs.at(-1);
    this.latest = newest.created_at;
    this.pinned = this.runs.some((run) => run.pinned);
    // A run often fails because of its picture: that is not asked for again.
    const seen = this.runs.findLast((run) => run.status !== "error") ?? null;
    const name = nameOf(newest);
    const count = this.runs.length === 1 ? t("history.one_question") : t("history.questions", { count: this.runs.length });
    const picture = () => ({ path: (seen ?? newest).links.image, name: newest.image_name, kept: `${(seen ?? newest).id}/image` });
    replace(
      this.head,
      newest.kind === "assess" ? this.view.choice(this.key, name, picture) : null,
      this.thumbnail(seen),
      el("span", { class: "run-words" }, el("h3", { class: "picture-name" }, name), el("span", { class: "dim" }, `${count} · ${when(newest)}`)),
    );
    this.showRows(name);
  }

  /** Of a long thread the last questions are shown; a name is said again only where it was another one. */
  showRows(name) {
    const folded = this.unfolded ? 0 : Math.max(0, this.runs.length - SHOWN);
    this.earlier.hidden = !folded;
    this.earlier.textContent = t("history.earlier", { count: folded });
    for (const [at, row] of [...this.list.children].entries()) {
      row.hidden = at < folded;
      row.querySelector(".run-name").hidden = nameOf(this.runs[at]) === name;
    }
  }

  unfold() {
    this.unfolded = true;
    this.refresh();
    this.list.querySelector(".run-row").focus();
  }

  /** Made once: a list that grows does not load its pictures again. */
  thumbnail(run) {
    if (!run) return el("span", { class: "run-thumb run-thumb-gone" });
    if (!this.thumb) {
      const image = el("img", { alt: "", width: "96", height: "72", "data-source": run.links.image ?? run.links.image_a });
      this.thumb = el("span", { class: "run-thumb" }, image);
      this.view.seen.observe(image);
    }
    return this.thumb;
  }

  row(run) {
    const title = questionOf(run);
    const [element, said] = [el("li", { class: "run-item", "data-run": run.id }), el("div", { class: "run-problem" })];
    const about = [el("span", { class: "run-name" }, `${nameOf(run)} · `), [run.reference_name && t("history.with_reference"), when(run)].filter(Boolean).join(" · ")];
    const row = el("a", { class: "run-row", href: `#/run/${run.id}` }, el("span", { class: "run-words" }, el("span", { class: "run-query" }, title), el("span", { class: "dim" }, about)), el("span", { class: "run-answer" }, answerOf(run)));
    const remove = this.view.deleteButton({ path: `/v1/runs/${run.id}`, title, row, said, gone: () => this.remove(run) });
    element.append(row, el("span", { class: "run-tools" }, this.view.pinButton(run, title), remove), said);
    return element;
  }
}

/** Where folders are not for this key, History shows the pictures alone. */
async function auditsAt(path) {
  const none = { audits: [], next: null };
  return path ? getJson(path).catch(() => none) : none;
}

const when = ({ created_at: at }) => new Date(at).toLocaleString();
const nameOf = (run) => (run.kind === "compare" ? t("history.pair", { a: run.image_name, b: run.image_b_name }) : run.image_name);
const folderTitle = (audit) => t("history.folder", { count: audit.total });

/** A comparison that asked for a rating only asked which is better. */
function questionOf(run) {
  if (run.kind !== "compare") return run.query;
  return titleFor("compare", run.query === sentFor("") ? "" : (run.query ?? ""));
}

function folderIcon() {
  return svg("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: "M3 6.5A1.5 1.5 0 0 1 4.5 5h5l2 2.5h8A1.5 1.5 0 0 1 21 9v9a1.5 1.5 0 0 1-1.5 1.5h-15A1.5 1.5 0 0 1 3 18z" }));
}

function answerOf(run) {
  if (typeof run.score === "number") return badge(run);
  if (run.kind === "compare" && run.answer) return headlineOf(run.answer);
  return run.answer_text ?? run.answer ?? wordsIfAny(`status.${run.status}`) ?? "–";
}

/** The score; one of a part or property alone says so, and has not the colours of quality. */
function badge({ score, rated }) {
  if (!rated) return el("span", { class: `badge level-${levelOf(score)}` }, el("span", { class: "unseen" }, `${t("rated.overall")} `), fixed(score));
  return el("span", { class: "badge badge-alone" }, `${capital(rated)} `, el("strong", {}, fixed(score)));
}

function emptyState() {
  return el("div", { class: "empty" }, el("p", { class: "empty-title" }, t("history.empty")), el("p", {}, t("history.empty_words")), el("p", {}, el("a", { class: "button", href: "#/assess" }, t("history.begin"))));
}
