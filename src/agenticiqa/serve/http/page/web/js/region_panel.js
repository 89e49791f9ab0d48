// The regions that are asked about: a name and numbers for each, which a keyboard can change.

import { el, freshId, replace } from "./dom.js";
import { t } from "./words.js";

const PARTS = ["x", "y", "width", "height"];

export class RegionPanel {
  /** `changed(regions)` gets a list of {name, box, inside}. */
  constructor(root, changed) {
    Object.assign(this, { root, changed, regions: [], size: null, comparing: false, rows: [] });
  }

  /** `size` is the picture's {width, height}: numbers stay inside it. */
  set(regions, size, comparing) {
    const rebuilt = regions.length !== this.regions.length || comparing !== this.comparing;
    Object.assign(this, { regions, size, comparing });
    if (rebuilt) this.build();
    else this.fill();
  }

  build() {
    this.rows = this.regions.map((_, place) => this.row(place));
    this.hint = el("p", { class: "hint", role: "status" });
    replace(this.root, this.regions.length ? el("fieldset", { class: "region-panel" }, el("legend", {}, t(this.comparing ? "region.legend_compare" : "region.legend")), this.rows.map((row) => row.element), this.hint) : []);
    this.fill();
  }

  row(place) {
    const name = el("input", { type: "text", id: freshId("region"), maxlength: "60", class: "region-name", autocomplete: "off" });
    const numbers = PARTS.map((part) => el("input", { type: "number", id: freshId(part), min: "0", step: "1", inputmode: "numeric" }));
    for (const input of [...numbers, name]) input.addEventListener("change", () => this.read(place));
    const inside = this.comparing ? el("input", { type: "checkbox", id: freshId("inside"), onchange: () => this.chooseInside(place, inside.checked) }) : null;
    const field = (label, input) => el("label", { class: "region-field", for: input.id }, el("span", {}, label), input);
    const remove = el("button", { type: "button", class: "quiet small", onclick: () => this.changed(this.regions.filter((__, other) => other !== place)) }, t("region.remove"));
    const element = el("div", { class: "region-row" }, field(t("region.call"), name), numbers.map((input, at) => field(t(`region.${PARTS[at]}`), input)), inside ? el("label", { class: "region-inside", for: inside.id }, inside, t("region.inside")) : null, remove);
    return { element, name, numbers, inside, remove };
  }

  /** Says so when a question speaks of no region: it may be answered for the whole picture. */
  checkQuestion(question) {
    if (!this.regions.length || this.comparing) return;
    const named = this.regions.some(({ name }) => question.toLowerCase().includes(name.toLowerCase()));
    this.hint.textContent = named ? "" : t("region.say_it", { name: this.regions.at(-1).name });
  }

  fill() {
    this.rows.forEach(({ name, numbers, inside, remove }, place) => {
      const region = this.regions[place];
      name.value = region.name;
      remove.setAttribute("aria-label", t("region.remove_long", { name: region.name }));
      numbers.forEach((input, at) => {
        input.value = String(region.box[at]);
      });
      if (inside) inside.checked = Boolean(region.inside);
    });
  }

  read(place) {
    const { name, numbers } = this.rows[place];
    const number = (at, least, most) => Math.min(Math.max(Math.round(Number(numbers[at].value) || 0), least), most);
    const x = number(0, 0, this.size.width - 1);
    const y = number(1, 0, this.size.height - 1);
    const box = [x, y, number(2, 1, this.size.width - x), number(3, 1, this.size.height - y)];
    const old = this.regions[place];
    this.changed(this.regions.map((region, at) => (at === place ? { ...old, name: this.freeName(name.value.trim() || old.name, place), box } : region)));
  }

  /** Two regions of one name could not be told apart. */
  freeName(wanted, place) {
    const taken = this.regions.filter((_, at) => at !== place).map((region) => region.name);
    let name = wanted;
    for (let number = 2; taken.includes(name); number += 1) name = `${wanted} ${number}`;
    return name;
  }

  /** A comparison looks inside one box at most. */
  chooseInside(place, on) {
    this.changed(this.regions.map((region, at) => ({ ...region, inside: on && at === place })));
  }
}
