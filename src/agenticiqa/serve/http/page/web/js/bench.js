// One kind of work with everything that belongs to it: its pictures, its question, its region, its run.

import { PictureSlot } from "./picture_slot.js";
import { el } from "./dom.js";
import { DEFAULT_QUESTION } from "./questions.js";

const DROP = "Drop it here, paste it, or choose a file.";
const KINDS = {
  assess: {
    title: "Assess a picture",
    action: "Ask",
    slots: [
      { name: "image", label: "Picture", hint: DROP },
      { name: "reference", label: "Reference", hint: "Optional: the same picture undamaged.", optional: true },
    ],
  },
  compare: {
    title: "Compare two pictures",
    action: "Compare",
    slots: [
      { name: "image_a", label: "Picture A", hint: DROP },
      { name: "image_b", label: "Picture B", hint: DROP },
      { name: "reference", label: "Reference", hint: "Optional: the same picture undamaged.", optional: true },
    ],
  },
};

export class Bench {
  constructor(kind, changed) {
    this.kind = kind;
    this.facts = KINDS[kind];
    this.question = DEFAULT_QUESTION;
    this.region = null;
    this.run = null;
    this.active = null;
    this.results = el("div", { class: "results" });
    this.loading = false;
    this.slots = this.facts.slots.map((slot) => new PictureSlot({ ...slot, changed: (which) => changed(this, which) }));
  }

  slot(name) {
    return this.slots.find((each) => each.name === name);
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

  /** What the viewer shows. */
  get shown() {
    const names = this.kind === "compare" ? ["image_a", "image_b"] : ["image", "reference"];
    return names
      .map((name) => this.slot(name))
      .filter((slot) => slot.picture?.url)
      .map((slot) => {
        const { url, width, height } = slot.picture;
        return { label: slot.label, url, width, height, drawable: slot.name === "image", mapped: slot.name !== "reference" };
      });
  }

  /** The request's body. */
  form(question, backend) {
    const form = new FormData();
    for (const slot of this.slots) slot.addTo(form);
    form.append("query", question || DEFAULT_QUESTION);
    if (backend) form.append("backend", backend);
    if (this.region && this.kind === "assess") form.append("regions", JSON.stringify({ [this.region.name]: this.region.box }));
    return form;
  }
}
