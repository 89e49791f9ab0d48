// What a first visitor sees: a headline, one sentence, and pictures of the server's own, so that one click shows it all.

import { getJson, pictureBlob } from "./api.js";
import { el, replace } from "./dom.js";
import { t, wordsIfAny } from "./words.js";

export class StartView {
  /** `headline` and `examples` are the places of both; `run(kind, example, all)` loads an example and asks about it. */
  constructor(headline, examples, run) {
    Object.assign(this, { headline, examples, run, list: [] });
  }

  async load() {
    const { examples } = await getJson("/v1/examples");
    const earlier = this.list;
    this.list = await Promise.all(examples.map(async (example) => ({ ...example, title: titleOf(example), thumbnail: URL.createObjectURL(await pictureBlob(example.image)) })));
    // Cards on the page have their pictures by now; the next ones are drawn from the new list.
    for (const { thumbnail } of earlier) URL.revokeObjectURL(thumbnail);
  }

  show(kind) {
    replace(this.headline, el("p", { class: "headline" }, t(`start.${kind}_headline`)), el("p", { class: "headline-words" }, t(`start.${kind}_words`)));
    this.headline.hidden = false;
    const cards = kind === "compare" ? this.pairs() : this.list.filter((example) => example.first).map((example) => this.card([example], example.title, example.query, () => this.run("assess", example, this.list)));
    replace(this.examples, cards.length ? [el("h2", { class: "examples-title" }, t("start.examples")), el("div", { class: "example-cards" }, cards), this.credit(kind)] : []);
    this.examples.hidden = cards.length === 0;
  }

  hide() {
    this.headline.hidden = true;
    this.examples.hidden = true;
  }

  pairs() {
    const pairs = this.list.filter((example) => example.reference);
    return pairs.map((example) => {
      const original = this.list.find((each) => each.name === example.reference);
      return this.card([original, example], t("start.pair", { a: original.title, b: lowered(example.title) }), t("ask.better"), () => this.run("compare", example, this.list));
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

  credit(kind) {
    const shown = this.list.filter((example) => (kind === "compare" ? !example.first : example.first));
    const licences = [...new Set(shown.map((example) => example.licence))];
    return el("details", { class: "credit" }, el("summary", {}, t("start.credits")), el("p", { class: "hint" }, licences.join("; ")));
  }
}

const titleOf = (example) => wordsIfAny(`example.${example.name}`) ?? example.title;

const lowered = (text) => text.charAt(0).toLowerCase() + text.slice(1);
