// A place for one picture: choose, drop, paste, or take an example.

import { pictureBlob } from "./api.js";
import { el, freshId, replace } from "./dom.js";

const ACCEPTED = "image/*,.tif,.tiff,.webp,.avif,.heic,.bmp,.jp2";

export class PictureSlot {
  /** `name` is the field of the request, `label` what people read; `changed(slot)` is called after every change. */
  constructor({ name, label, hint, optional = false, changed }) {
    Object.assign(this, { name, label, hint, optional, changed });
    this.picture = null;
    this.turn = 0;
    this.element = el("div", { class: "slot", role: "group", "aria-label": label });
    this.listen();
    this.render();
  }

  /** Takes a file; `name` overrides what it is called. */
  async takeFile(file, name = file.name) {
    await this.take({ file, name: name || "pasted picture" }, () => URL.createObjectURL(file));
  }

  async takeExample(example) {
    const blob = await pictureBlob(example.image);
    await this.take({ example: example.name, name: example.title }, () => URL.createObjectURL(blob));
  }

  /** Takes the picture of an earlier run. */
  async takeStored(path, name) {
    const blob = await pictureBlob(path);
    await this.take({ file: blob, name, stored: true }, () => URL.createObjectURL(blob));
  }

  async take(source, makeUrl) {
    const turn = (this.turn += 1);
    const url = makeUrl();
    const size = await sizeOf(url);
    if (turn !== this.turn) {
      URL.revokeObjectURL(url);
      return;
    }
    this.drop();
    this.picture = { ...source, url: size ? url : null, width: size?.width ?? 0, height: size?.height ?? 0 };
    this.render();
    this.changed(this);
  }

  clear() {
    this.turn += 1;
    if (!this.picture) return;
    this.drop();
    this.render();
    this.changed(this);
  }

  drop() {
    if (this.picture?.url) URL.revokeObjectURL(this.picture.url);
    this.picture = null;
  }

  /** Adds the picture to a request. */
  addTo(form) {
    if (!this.picture) return;
    if (this.picture.example) form.append(`${this.name}_example`, this.picture.example);
    else form.append(this.name, this.picture.file, this.picture.name);
  }

  listen() {
    const over = (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.element.classList.add("slot-over");
    };
    this.element.addEventListener("dragenter", over);
    this.element.addEventListener("dragover", over);
    this.element.addEventListener("dragleave", () => this.element.classList.remove("slot-over"));
    this.element.addEventListener("drop", (event) => {
      event.preventDefault();
      event.stopPropagation();
      this.element.classList.remove("slot-over");
      const file = event.dataTransfer.files[0];
      if (file) this.takeFile(file);
    });
  }

  render() {
    const hadFocus = this.element.contains(document.activeElement);
    const id = freshId("file");
    const input = el("input", { type: "file", id, class: "unseen file-input", accept: ACCEPTED });
    input.setAttribute("aria-label", this.picture ? `Replace ${this.label.toLowerCase()}` : `Choose ${this.label.toLowerCase()}`);
    input.addEventListener("change", () => input.files[0] && this.takeFile(input.files[0]));
    this.element.classList.toggle("slot-full", Boolean(this.picture));
    this.element.classList.toggle("slot-optional", this.optional);
    replace(this.element, this.picture ? this.full(id, input) : this.empty(id, input));
    if (hadFocus) this.element.querySelector("input").focus();
  }

  empty(id, input) {
    return [
      el("span", { class: "slot-label" }, this.label),
      el("span", { class: "slot-hint" }, this.hint),
      el("span", { class: "slot-actions" }, input, el("label", { class: "button", for: id, "aria-hidden": "true" }, "Choose a file"), pasteButton(this)),
    ];
  }

  full(id, input) {
    const { name, width, height } = this.picture;
    const size = width ? `${width} × ${height}` : "not shown by this browser";
    const remove = el("button", { type: "button", class: "quiet small", title: "Remove" }, "✕");
    remove.setAttribute("aria-label", `Remove ${this.label.toLowerCase()}`);
    remove.addEventListener("click", () => this.clear());
    return [
      el("span", { class: "slot-label" }, this.label),
      el("span", { class: "slot-name", title: `${name}, ${size}` }, name),
      el("span", { class: "slot-size" }, size),
      el("span", { class: "slot-actions" }, input, el("label", { class: "button quiet small", for: id, "aria-hidden": "true" }, "Replace"), remove),
    ];
  }
}

/** Reading the clipboard by a button is for devices without Ctrl+V, and only where the browser lets pages do it. */
function pasteButton(slot) {
  if (!navigator.clipboard?.read || matchMedia("(pointer: fine)").matches) return null;
  const button = el("button", { type: "button", class: "quiet" }, "Paste");
  button.addEventListener("click", async () => {
    try {
      for (const item of await navigator.clipboard.read()) {
        const kind = item.types.find((type) => type.startsWith("image/"));
        if (kind) return slot.takeFile(await item.getType(kind), "pasted picture");
      }
      button.textContent = "No picture there";
    } catch {
      button.textContent = "Not allowed";
    }
    return undefined;
  });
  return button;
}

/** Width and height as shown, or null for a format that this browser cannot show (the server may). */
async function sizeOf(url) {
  const image = new Image();
  image.src = url;
  try {
    await image.decode();
  } catch {
    return null;
  }
  return { width: image.naturalWidth, height: image.naturalHeight };
}

/** The first picture of a paste or drop, if there is one. */
export function pictureIn(transfer) {
  return [...(transfer?.files ?? [])].find((file) => file.type.startsWith("image/")) ?? null;
}
