// The steps of a run as they happen: what is done, what is under way, what will follow.

import { el, replace } from "./dom.js";
import { STEP_TITLES, stepContent, stepsOf, workingWords } from "./step_views.js";

export class Timeline {
  /** `folds`: it can be folded away, and is when the run has ended. */
  constructor(title, announce = () => {}, folds = false) {
    this.announce = announce;
    this.list = el("ol", { class: "steps" });
    this.element = folds
      ? el("details", { class: "card fold", open: true }, el("summary", {}, el("h3", { class: "card-title" }, title)), this.list)
      : el("section", { class: "card" }, el("h3", { class: "card-title" }, title), this.list);
    this.folds = folds;
    this.expected = ["plan", "detection", "selection", "analysis", "tools", "answer"];
    this.pending = [];
    this.passes = 0;
    this.status = "queued";
    this.renderPending();
  }

  get current() {
    return this.expected[0] ?? null;
  }

  /** What is going on, in a few words. */
  get words() {
    if (this.status === "queued") return "Waiting for a free worker";
    return this.current ? workingWords(this.current) : "Finishing";
  }

  feed(event, data) {
    if (event === "status") this.status = data.status;
    if (event === "step" && STEP_TITLES[data.name]) this.step(data.name, data.details);
    this.renderPending();
  }

  step(name, details) {
    if (name === "plan") {
      this.passes += 1;
      if (this.passes > 1) this.list.append(el("li", { class: "pass" }, `Pass ${this.passes}`));
      this.expected = stepsOf(details.plan);
    } else this.expected = this.expected.filter((step) => step !== name);
    for (const each of this.pending) each.remove();
    this.pending = [];
    this.list.append(el("li", { class: "step step-done" }, el("p", { class: "step-title" }, STEP_TITLES[name], el("span", { class: "unseen" }, " (done)")), stepContent(name, details)));
    this.announce(`${STEP_TITLES[name]}: done`);
  }

  renderPending() {
    for (const each of this.pending) each.remove();
    this.pending = this.expected.map((step, place) => {
      const now = place === 0 && this.status === "running";
      return el("li", { class: now ? "step step-now" : "step step-next" }, el("p", { class: "step-title" }, STEP_TITLES[step], now ? el("span", { class: "unseen" }, " (under way)") : null));
    });
    this.list.append(...this.pending);
  }

  /** Nothing more will come; steps that did not happen go. */
  finish() {
    this.expected = [];
    if (this.folds) this.element.open = false;
    this.status = "ended";
    this.renderPending();
    if (!this.list.children.length) replace(this.list, el("li", { class: "step" }, "Nothing was recorded."));
  }
}
