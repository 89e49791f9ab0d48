// The steps of a run as they happen: what is done, what is under way, what will follow.

import { el, replace } from "./dom.js";
import { STEPS, stepContent, stepTitle, stepsOf, workingWords } from "./step_views.js";
import { t } from "./words.js";

export class Timeline {
  constructor(title, announce = () => {}) {
    this.announce = announce;
    this.list = el("ol", { class: "steps" });
    this.element = el("section", { class: "evidence" }, el("h4", { class: "card-title" }, title), this.list);
    this.expected = [...STEPS];
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
    if (this.status === "queued") return t("working.queued");
    return this.current ? workingWords(this.current) : t("working.finishing");
  }

  feed(event, data) {
    if (event === "status") this.status = data.status;
    if (event === "step" && STEPS.includes(data.name)) this.step(data.name, data.details);
    this.renderPending();
  }

  step(name, details) {
    if (name === "plan") {
      this.passes += 1;
      if (this.passes > 1) this.list.append(el("li", { class: "pass" }, t("step.pass", { number: this.passes })));
      this.expected = stepsOf(details.plan);
    } else this.expected = this.expected.filter((step) => step !== name);
    for (const each of this.pending) each.remove();
    this.pending = [];
    this.list.append(el("li", { class: "step step-done" }, el("p", { class: "step-title" }, stepTitle(name), el("span", { class: "unseen" }, t("step.done"))), stepContent(name, details)));
    this.announce(t("step.announce", { step: stepTitle(name) }));
  }

  renderPending() {
    for (const each of this.pending) each.remove();
    this.pending = this.expected.map((step, place) => {
      const now = place === 0 && this.status === "running";
      return el("li", { class: now ? "step step-now" : "step step-next" }, el("p", { class: "step-title" }, stepTitle(step), now ? el("span", { class: "unseen" }, t("step.now")) : null));
    });
    this.list.append(...this.pending);
  }

  /** Nothing more will come; steps that did not happen go. */
  finish() {
    this.expected = [];
    this.status = "ended";
    this.renderPending();
    if (!this.list.children.length) replace(this.list, el("li", { class: "step" }, t("step.nothing")));
  }
}
