// One question and what came of it: what is being done, then the answer, with its evidence behind "Why".

import { cancelRun, followRun, getJson, Problem } from "./api.js";
import { answerCard, measuredCard, sentenceOf, viewsCard } from "./answer_card.js";
import { comparisonCards, headlineOf } from "./comparison_card.js";
import { el, percent, replace, seconds } from "./dom.js";
import { fileLine } from "./file_line.js";
import { fusionCard } from "./fusion_chart.js";
import { problemCard } from "./messages.js";
import { runCard } from "./run_card.js";
import { Timeline } from "./timeline.js";
import { t } from "./words.js";

const ENDED_BADLY = ["error", "cancelled", "timed_out", "interrupted"];

/** Whether a run came to an answer. */
export const isAnswered = (run) => Boolean(run.result) && !ENDED_BADLY.includes(run.status);

const LONG = 240;
const MANY_LINES = 4;
const isLong = (question) => question.length > LONG || question.split("\n").length > MANY_LINES;

/** Folds a long question, so that its answer is not pushed away, and unfolds it. */
function foldButton(heading) {
  const button = el("button", { type: "button", class: "quiet small turn-fold" });
  const fold = (folded) => {
    heading.classList.toggle("turn-question-folded", folded);
    button.textContent = t(folded ? "turn.unfold" : "turn.fold");
    button.setAttribute("aria-expanded", String(!folded));
  };
  button.addEventListener("click", () => fold(!heading.classList.contains("turn-question-folded")));
  fold(true);
  return button;
}

export class Turn {
  /** `first`: of its thread; later ones do not say again what holds for the picture. */
  constructor(question, title, first, announce) {
    Object.assign(this, { question, first, announce, runId: null });
    this.words = el("p", { class: "waiting-words" }, t("working.sending"));
    this.clock = el("span", { class: "dim", "aria-hidden": "true" });
    this.waiting = el("div", { class: "card waiting" }, el("div", { class: "waiting-line" }, el("span", { class: "spinner", "aria-hidden": "true" }), this.words, this.clock));
    this.head = el("div", { class: "turn-answer" }, this.waiting);
    this.evidence = el("div", { class: "why-body" });
    this.why = el("details", { class: "card why", open: true }, el("summary", {}, t("turn.doing")), this.evidence);
    this.file = el("div", { class: "turn-file" });
    this.next = el("div", { class: "chips next-questions" });
    this.heading = el("h2", { class: "turn-question", tabindex: "-1" }, el("span", {}, title));
    this.element = el("article", { class: "turn" }, this.heading, isLong(title) ? foldButton(this.heading) : null, this.head, this.why, this.next, this.file);
    this.started = performance.now();
    this.ticking = setInterval(() => this.tick(), 500);
  }

  sending(share) {
    this.words.textContent = share < 1 ? t("working.sending_share", { share: percent(share) }) : t("working.accepted");
  }

  /** Follows a run until it has ended; returns it with its result. */
  async follow(run, signal) {
    this.runId = run.id;
    const bySide = this.begin(run.kind);
    await followRun(run.id, (event, data) => this.feed(bySide, event, data), signal);
    this.words.textContent = t(run.kind === "compare" ? "working.comparing" : "working.finishing");
    const ended = await getJson(`/v1/runs/${run.id}`, { signal });
    this.show(ended, bySide);
    return ended;
  }

  begin(kind) {
    const announce = (words) => this.announce(words);
    const bySide =
      kind === "compare"
        ? { A: new Timeline(t("turn.how_a"), (words) => announce(`A, ${words}`)), B: new Timeline(t("turn.how_b"), (words) => announce(`B, ${words}`)) }
        : { "": new Timeline(t("turn.how"), announce) };
    replace(this.evidence, Object.values(bySide).map((each) => each.element));
    return bySide;
  }

  feed(bySide, event, data) {
    if (event === "status") for (const each of Object.values(bySide)) each.feed(event, data);
    else bySide[data.side ?? ""]?.feed(event, data);
    const going = Object.entries(bySide).find(([, each]) => each.current) ?? null;
    const side = going?.[0] ? `${going[0]}: ` : "";
    this.words.textContent = going ? `${side}${going[1].words}` : t("working.comparing");
  }

  show(run, bySide) {
    this.stop();
    for (const each of Object.values(bySide)) each.finish();
    const failed = !isAnswered(run);
    const { first, evidence } = failed ? { first: [problemCard(problemOf(run))], evidence: [] } : cardsOf(run, this.first);
    replace(this.head, first);
    replace(this.file, failed || !this.first ? null : fileLine(run));
    this.evidence.prepend(...evidence);
    this.evidence.append(runCard(run));
    this.fold(failed && run.status === "cancelled");
    this.announce(failed ? t("turn.no_answer") : run.kind === "compare" ? headlineOf(run.result.winner) : sentenceOf(run));
  }

  /** The evidence stays behind "Why"; of a run that was cancelled there is none to show. */
  fold(hide) {
    this.why.open = false;
    this.why.hidden = hide;
    this.why.querySelector("summary").textContent = t("turn.why");
  }

  /** Questions to go on with, asked at a click. */
  suggest(questions, ask) {
    replace(this.next, questions.length ? [el("span", { class: "unseen" }, t("turn.next")), questions.map((text) => el("button", { type: "button", class: "chip chip-next", onclick: () => ask(text) }, text))] : []);
  }

  /** A request that did not become a run, or a stream that broke. */
  fail(problem, again) {
    this.stop();
    replace(this.head, problemCard(problem, again));
    this.fold(!this.evidence.children.length);
    this.announce(t("turn.failed", { why: problem.message }));
  }

  async cancel(run) {
    this.words.textContent = t("working.cancelling");
    await cancelRun(run.id);
  }

  tick() {
    this.clock.textContent = seconds((performance.now() - this.started) / 1000);
  }

  stop() {
    clearInterval(this.ticking);
  }
}

function cardsOf(run, firstOfThread) {
  if (run.kind === "compare") return comparisonCards(run);
  const fusion = run.result.summarizer_result?.used_evidence?.fusion;
  return { first: [answerCard(run, firstOfThread)], evidence: [viewsCard(run), measuredCard(run.result), fusion ? fusionCard(fusion) : null].filter(Boolean) };
}

function problemOf(run) {
  if (run.error) return new Problem(run.error);
  return new Problem({ title: t("turn.no_answer"), detail: run.result?.error ?? t("turn.status", { status: run.status }) });
}
