// The region that is asked about: its name and its numbers, which a keyboard can change.

import { el, freshId, replace } from "./dom.js";

const PARTS = ["x", "y", "width", "height"];

export class RegionPanel {
  /** `changed(region)` gets {name, box} or null. */
  constructor(root, changed) {
    Object.assign(this, { root, changed, region: null, size: null });
  }

  /** `size` is the picture's {width, height}: numbers stay inside it. */
  set(region, size) {
    const fresh = !this.region || !region;
    this.region = region;
    this.size = size;
    if (fresh) this.build();
    else this.fill();
  }

  build() {
    if (!this.region) {
      replace(this.root);
      return;
    }
    this.inputs = PARTS.map((part) => el("input", { type: "number", id: freshId(part), min: "0", step: "1", inputmode: "numeric" }));
    this.nameInput = el("input", { type: "text", id: freshId("region"), maxlength: "60", class: "region-name", autocomplete: "off" });
    for (const input of [...this.inputs, this.nameInput]) input.addEventListener("change", () => this.read());
    this.hint = el("p", { class: "hint", role: "status" });
    const field = (label, input) => el("label", { class: "region-field", for: input.id }, el("span", {}, label), input);
    replace(
      this.root,
      el(
        "fieldset",
        { class: "region-panel" },
        el("legend", {}, "Region asked about, in pixels"),
        field("Call it", this.nameInput),
        this.inputs.map((input, place) => field(PARTS[place], input)),
        el("button", { type: "button", class: "quiet small", "aria-label": "Remove region", onclick: () => this.changed(null) }, "Remove"),
        this.hint,
      ),
    );
    this.fill();
  }

  /** Says so when a question does not speak of the region: it may be answered for the whole picture. */
  checkQuestion(question) {
    if (!this.region) return;
    const named = question.toLowerCase().includes(this.region.name.toLowerCase());
    this.hint.textContent = named ? "" : `Say “${this.region.name}” in the question; otherwise it may be taken to be about the whole picture.`;
  }

  fill() {
    this.nameInput.value = this.region.name;
    this.inputs.forEach((input, place) => {
      input.value = String(this.region.box[place]);
    });
  }

  read() {
    const number = (place, least, most) => Math.min(Math.max(Math.round(Number(this.inputs[place].value) || 0), least), most);
    const x = number(0, 0, this.size.width - 1);
    const y = number(1, 0, this.size.height - 1);
    const box = [x, y, number(2, 1, this.size.width - x), number(3, 1, this.size.height - y)];
    const name = this.nameInput.value.trim() || this.region.name;
    this.changed({ name, box });
  }
}
