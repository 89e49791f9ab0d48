// One kind of work with everything that belongs to it: its pictures, its question, its regions, its thread of answers.

import { PictureSlot } from "./picture_slot.js";
import { el, replace } from "./dom.js";
import { firstQuestion, sentFor } from "./questions.js";
import { t } from "./words.js";

const SLOTS = {
  assess: [{ name: "image" }, { name: "reference", optional: true }],
  compare: [{ name: "image_a" }, { name: "image_b" }, { name: "reference", optional: true }],
};

/** Who has no pointer cannot drop. */
const hintOf = () => (matchMedia("(pointer: coarse)").matches ? "slot.hint_touch" : "slot.hint");

export class Bench {
  constructor(kind, changed, several) {
    this.kind = kind;
    this.title = t(`bench.${kind}_title`);
    this.action = t(`bench.${kind}_action`);
    this.question = firstQuestion(kind);
    this.regions = [];
    this.map = "";
    this.worst = null;
    this.worstOn = false;
    this.began = 0;
    this.run = null;
    this.active = null;
    this.runs = [];
    this.turns = [];
    /** Questions that are asked when the one under way has its answer. */
    this.waiting = [];
    this.thread = el("div", { class: "thread" });
    this.loading = false;
    this.more = el("div", { class: "slots-more" });
    this.slots = SLOTS[kind].map((slot) => new PictureSlot({ ...slot, label: t(`slot.${slot.name}`), hint: t(slot.optional ? "slot.reference_hint" : hintOf()), changed: (which) => changed(this, which), several }));
  }

  /** Quiet ways to what is needed now and then: a reference and, before the first picture, two pictures or a folder. */
  renderMore() {
    const reference = this.slot("reference");
    const add = el("button", { type: "button", class: "quiet small", "data-more": "reference" }, t("slot.add_reference"));
    add.addEventListener("click", () => {
      reference.disclose();
      this.renderMore();
    });
    const ways = this.empty && this.kind === "assess" ? { compare: "slot.to_compare", many: "slot.to_folder" } : {};
    replace(this.more, reference.element.hidden ? add : null, Object.entries(ways).map(([view, words]) => el("a", { class: "button quiet small", href: `#/${view}` }, t(words))));
  }

  slot(name) {
    return this.slots.find((each) => each.name === name);
  }

  /** The picture that boxes are drawn on. */
  get main() {
    return this.slots[0].picture;
  }

  get empty() {
    return this.slots.every((slot) => !slot.picture);
  }

  get missing() {
    return this.slots.find((slot) => !slot.optional && !slot.picture) ?? null;
  }

  /** The slot that a pasted or loosely dropped picture goes to: the first that is free, else the first. */
  get nextSlot() {
    return this.slots.find((slot) => !slot.picture && !slot.optional) ?? this.slots[0];
  }

  get asked() {
    return this.turns.map((turn) => turn.question);
  }

  /** What the viewer shows. */
  get shown() {
    const names = this.kind === "compare" ? ["image_a", "image_b"] : ["image", "reference"];
    return names
      .map((name) => this.slot(name))
      .filter((slot) => slot.picture?.url)
      .map((slot) => {
        const { url, width, height } = slot.picture;
        return { label: slot.label, url, width, height, drawable: slot.name !== "reference", mapped: slot.name !== "reference" };
      });
  }

  /** The request's body. */
  form(question, backend) {
    const form = new FormData();
    for (const slot of this.slots) slot.addTo(form);
    form.append("query", sentFor(question));
    if (backend) for (const name of backend.split(",")) form.append(backend.includes(",") ? "backends" : "backend", name);
    // What was asked before is known to the next question; boxes that were removed are not.
    if (this.run && this.kind === "assess") form.append("after", this.run.id);
    if ((this.regions.length || this.run) && this.kind === "assess") form.append("regions", JSON.stringify(Object.fromEntries(this.regions.map(({ name, box }) => [name, box]))));
    const inside = this.regions.find((region) => region.inside);
    if (inside && this.kind === "compare") form.append("region", JSON.stringify(inside.box));
    return form;
  }

  /** From now on the pictures are on the server: the next question need not send them again. */
  keptBy(run) {
    for (const slot of this.slots) if (slot.picture && !slot.picture.example && run.links[slot.name]) slot.picture.kept = `${run.id}/${slot.name}`;
  }

  /** The run that the next question would follow was deleted; false where there is none to forget. */
  forgetRun() {
    const known = Boolean(this.run);
    this.run = null;
    return known;
  }

  /** The server has let its copies go; true where all pictures can be sent again. */
  sendAgain() {
    const own = this.slots.filter((slot) => slot.picture?.kept);
    if (!own.length || own.some((slot) => !slot.picture.file)) return false;
    for (const slot of own) slot.picture.kept = null;
    return true;
  }
}
