// One run on the page: what it is doing, then what came of it.

import { cancelRun, followRun, getJson, Problem } from "./api.js";
import { answerCard } from "./answer_card.js";
import { comparisonCards } from "./comparison_card.js";
import { el, replace, seconds } from "./dom.js";
import { fusionCard } from "./fusion_chart.js";
import { problemCard } from "./messages.js";
import { runCard } from "./run_card.js";
import { Timeline } from "./timeline.js";

const ENDED_BADLY = { cancelled: "cancelled", timed_out: "timed_out", interrupted: "interrupted" };

export class RunResults {
  constructor(root, announce) {
    Object.assign(this, { root, announce });
    this.words = el("p", { class: "waiting-words" }, "Sending");
    this.clock = el("span", { class: "dim", "aria-hidden": "true" });
    this.waiting = el("section", { class: "card waiting" }, el("div", { class: "waiting-line" }, el("span", { class: "spinner", "aria-hidden": "true" }), this.words, this.clock));
    this.head = el("div", { class: "results" }, this.waiting);
    this.timelines = el("div", { class: "results" });
    replace(root, this.head, this.timelines);
    this.started = performance.now();
    this.ticking = setInterval(() => this.tick(), 500);
  }

  /** Follows a run until it has ended; returns it with its result. */
  async follow(run, signal) {
    const bySide = this.begin(run.kind);
    await followRun(run.id, (event, data) => this.feed(bySide, event, data), signal);
    const ended = await getJson(`/v1/runs/${run.id}`, { signal });
    this.show(ended, bySide);
    return ended;
  }

  begin(kind) {
    const announce = (words) => this.announce(words);
    const bySide =
      kind === "compare"
        ? { A: new Timeline("How A was assessed", (words) => announce(`A, ${words}`), true), B: new Timeline("How B was assessed", (words) => announce(`B, ${words}`), true) }
        : { "": new Timeline("How the answer came about", announce) };
    replace(this.timelines, Object.values(bySide).map((each) => each.element));
    return bySide;
  }

  feed(bySide, event, data) {
    if (event === "status") for (const each of Object.values(bySide)) each.feed(event, data);
    else bySide[data.side ?? ""]?.feed(event, data);
    const going = Object.entries(bySide).find(([, each]) => each.current) ?? null;
    const side = going?.[0] ? `${going[0]}: ` : "";
    this.words.textContent = going ? `${side}${going[1].words}` : "Comparing";
  }

  show(run, bySide) {
    this.stop();
    for (const each of Object.values(bySide)) each.finish();
    replace(this.head, this.cardsOf(run));
    this.timelines.append(runCard(run));
    this.announce(run.result && run.status !== "error" ? "The answer is there." : "The run ended without an answer.");
  }

  cardsOf(run) {
    if (!run.result || run.status === "error" || run.status in ENDED_BADLY) return [problemCard(problemOf(run))];
    if (run.kind === "compare") return comparisonCards(run.result);
    const fusion = run.result.summarizer_result?.used_evidence?.fusion;
    return [answerCard(run.result), fusion ? fusionCard(fusion) : null];
  }

  /** A request that did not become a run, or a stream that broke. */
  fail(problem, again) {
    this.stop();
    replace(this.head, problemCard(problem, again));
    replace(this.timelines);
    this.announce(`Failed: ${problem.message}`);
  }

  async cancel(run) {
    this.words.textContent = "Cancelling at the next step";
    await cancelRun(run.id);
  }

  tick() {
    this.clock.textContent = seconds((performance.now() - this.started) / 1000);
  }

  stop() {
    clearInterval(this.ticking);
  }
}

function problemOf(run) {
  if (run.error) return new Problem(run.error);
  return new Problem({ title: "The run ended without an answer", detail: run.result?.error ?? `Its status is ${run.status}.` });
}
