// Pictures of the server's own, so that the first click shows something.

import { getJson, pictureBlob } from "./api.js";
import { el, replace } from "./dom.js";

export class Examples {
  /** `run(mode, example, all)` loads an example and asks about it. */
  constructor(root, run) {
    Object.assign(this, { root, run, list: [] });
  }

  async load() {
    const { examples } = await getJson("/v1/examples");
    const earlier = this.list;
    this.list = await Promise.all(examples.map(async (example) => ({ ...example, thumbnail: URL.createObjectURL(await pictureBlob(example.image)) })));
    // Cards on the page have their pictures by now; the next ones are drawn from the new list.
    for (const { thumbnail } of earlier) URL.revokeObjectURL(thumbnail);
  }

  show(mode) {
    const cards = mode === "compare" ? this.pairs() : this.list.map((example) => this.card([example], example.title, example.query, () => this.run("assess", example, this.list)));
    replace(this.root, cards.length ? [el("h3", { class: "examples-title" }, "Or try an example"), el("div", { class: "example-cards" }, cards), this.credit()] : []);
    this.root.hidden = cards.length === 0;
  }

  hide() {
    this.root.hidden = true;
  }

  pairs() {
    const pairs = this.list.filter((example) => example.reference);
    return pairs.map((example) => {
      const original = this.list.find((each) => each.name === example.reference);
      return this.card([original, example], `${original.title} and ${lowered(example.title)}`, "Which is better, where, and why?", () => this.run("compare", example, this.list));
    });
  }

  card(pictures, title, words, action) {
    return el(
      "button",
      { type: "button", class: "example", onclick: action },
      el("span", { class: "example-pictures" }, pictures.map((picture) => el("img", { src: picture.thumbnail, alt: "", width: "160", height: "90" }))),
      el("span", { class: "example-title" }, title),
      el("span", { class: "example-words" }, words),
    );
  }

  credit() {
    const licences = [...new Set(this.list.map((example) => example.licence))];
    return el("p", { class: "hint" }, `Example pictures: ${licences.join("; ")}.`);
  }
}

const lowered = (text) => text.charAt(0).toLowerCase() + text.slice(1);
