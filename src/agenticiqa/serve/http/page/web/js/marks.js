// Boxes over a picture with labels that stay in view however far it is zoomed in.

import { el, replace } from "./dom.js";

const EDGE = 4;
const LABEL_HEIGHT = 24;

export class Marks {
  /** The boxes lie in the stage and grow with the picture, the labels in the window and do not. */
  constructor() {
    this.boxes = el("div", { class: "pane-boxes" });
    this.labels = el("div", { class: "pane-labels" });
    this.list = [];
  }

  /** Each of {name, box, kind, action?}: `action` makes its label a button. */
  set(list) {
    this.list = list.map((mark) => ({ ...mark, frame: el("div", { class: `pane-region pane-${mark.kind}` }), label: labelOf(mark) }));
    for (const { box, frame } of this.list) {
      const [x, y, width, height] = box;
      for (const [property, value] of Object.entries({ left: x, top: y, width, height })) frame.style.setProperty(property, `${value}px`);
    }
    replace(this.boxes, this.list.map((mark) => mark.frame));
    replace(this.labels, this.list.map((mark) => mark.label));
  }

  place({ zoom, x, y }, room) {
    for (const { box, label } of this.list) {
      const inside = (at, most) => Math.min(Math.max(at, EDGE), Math.max(EDGE, most - EDGE));
      const left = inside(x + box[0] * zoom, room.width - label.offsetWidth);
      const top = inside(y + box[1] * zoom - LABEL_HEIGHT - EDGE, room.height - LABEL_HEIGHT);
      label.style.setProperty("transform", `translate(${left}px, ${top}px)`);
    }
  }
}

function labelOf({ name, kind, action }) {
  if (!action) return el("span", { class: `pane-label pane-label-${kind}` }, name);
  const button = el("button", { type: "button", class: `pane-label pane-label-${kind}`, onclick: action }, name);
  // The picture under it must not take the press for a drag.
  for (const event of ["pointerdown", "dblclick", "keydown"]) button.addEventListener(event, (each) => each.stopPropagation());
  return button;
}
