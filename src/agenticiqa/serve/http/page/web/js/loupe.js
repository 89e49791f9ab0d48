// A round glass over a picture that shows the place under it at twice its pixels.

import { el } from "./dom.js";

const SIDE = 190;
const MAGNIFIES = 2;

export class Loupe {
  constructor(picture) {
    this.picture = picture;
    this.image = el("img", { alt: "", draggable: "false", src: picture.url });
    this.element = el("div", { class: "loupe", "aria-hidden": "true", hidden: true }, this.image);
    for (const [property, length] of [["width", picture.width], ["height", picture.height]]) this.image.style.setProperty(property, `${length}px`);
  }

  /** `at` is the place as shares of the picture, `placement` where the picture lies in its pane; null hides it. */
  show(at, placement) {
    this.element.hidden = !at;
    if (!at) return;
    const [x, y] = [at.x * this.picture.width, at.y * this.picture.height];
    const zoom = Math.max(MAGNIFIES, placement.zoom * MAGNIFIES);
    this.element.style.setProperty("transform", `translate(${placement.x + x * placement.zoom - SIDE / 2}px, ${placement.y + y * placement.zoom - SIDE / 2}px)`);
    this.image.style.setProperty("transform", `translate(${SIDE / 2 - x * zoom}px, ${SIDE / 2 - y * zoom}px) scale(${zoom})`);
  }
}
