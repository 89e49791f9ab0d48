// A place for one picture: choose, drop, paste, photograph, or take an example.

import { pictureBlob } from "./api.js";
import { el, freshId, percent, replace } from "./dom.js";
import { chosenFiles } from "./dropped.js";
import { openPicture, serverRefusal } from "./picture_checks.js";
import { t } from "./words.js";

export const ACCEPTED = "image/*,.tif,.tiff,.webp,.avif,.heic,.heif,.bmp,.jp2,.dng,.nef,.cr2,.cr3,.arw,.raf,.orf,.rw2";

const GRACE_MS = 10_000;

export class PictureSlot {
  /** `name` is the field of the request, `label` what people read; `changed(slot)` is called after every change. */
  constructor({ name, label, hint, optional = false, changed, several = () => {} }) {
    Object.assign(this, { name, label, hint, optional, changed, several });
    this.picture = null;
    this.turn = 0;
    this.checking = null;
    this.said = el("p", { class: "slot-said", role: "alert" });
    this.element = el("div", { class: "slot", role: "group", "aria-label": label, hidden: optional });
    this.listen();
    this.render();
  }

  /** Takes a file; `name` overrides what it is called. */
  async takeFile(file, name = file.name) {
    return this.take({ file, name: name || t("slot.pasted") }, () => openPicture(file, (share) => this.say(t("slot.opening", { share: percent(share) }))));
  }

  async takeExample(example) {
    return this.take({ example: example.name, name: example.title }, async () => openPicture(await pictureBlob(example.image)));
  }

  /** Takes a picture that the server keeps: `kept` is its name for requests, `path` where it can be seen. */
  async takeStored(path, name, kept) {
    return this.take({ kept, name }, async () => openPicture(await pictureBlob(path)));
  }

  /** True where the picture is here now: another may have been chosen before it came. */
  async take(source, open) {
    const turn = (this.turn += 1);
    this.say("");
    this.element.setAttribute("aria-busy", "true");
    try {
      const opened = await open();
      if (turn !== this.turn) {
        URL.revokeObjectURL(opened.url);
        return false;
      }
      this.drop();
      this.picture = { ...source, ...opened };
      this.render();
      this.say("");
      this.changed(this);
      if (source.file && !opened.preview) this.askServer(source, turn);
      return true;
    } catch (problem) {
      if (turn !== this.turn) return false;
      if (!source.file) throw problem;
      this.say(t("slot.refused", { name: source.name, why: problem.message }));
      return false;
    } finally {
      if (turn === this.turn) this.element.removeAttribute("aria-busy");
    }
  }

  /** The picture is on show; should the server not be able to use it, that is said before anything is asked. */
  async askServer({ file, name }, turn) {
    this.checking = new AbortController();
    const why = await serverRefusal(file, this.checking.signal);
    if (!why || turn !== this.turn) return;
    this.clear();
    this.say(t("slot.refused", { name, why }));
  }

  /** An optional place is out of sight until it is wanted, or filled. */
  disclose() {
    this.element.hidden = false;
    this.element.querySelector("input").focus();
  }

  say(text) {
    this.said.textContent = text;
  }

  clear() {
    this.turn += 1;
    this.say("");
    if (!this.picture) return;
    this.drop();
    this.render();
    this.changed(this);
  }

  drop() {
    this.checking?.abort();
    const url = this.picture?.url;
    // The viewer may be about to load it still.
    if (url) setTimeout(() => URL.revokeObjectURL(url), GRACE_MS);
    this.picture = null;
  }

  /** Adds the picture to a request; what the server keeps is named, not sent again. */
  addTo(form) {
    if (!this.picture) return;
    // From here on the question itself tells whether the picture can be used.
    this.checking?.abort();
    const { example, kept, file, name } = this.picture;
    if (example) form.append(`${this.name}_example`, example);
    else if (kept) form.append(`${this.name}_kept`, kept);
    else form.append(this.name, file, name);
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
      this.element.classList.remove("slot-over");
      // Several files, or a folder, are the page's business.
      const { files, items } = event.dataTransfer;
      const folder = [...items].some((item) => item.webkitGetAsEntry?.()?.isDirectory);
      if (files.length !== 1 || folder) return;
      event.preventDefault();
      event.stopPropagation();
      this.takeFile(files[0]);
    });
  }

  render() {
    const hadFocus = this.element.contains(document.activeElement);
    const id = freshId("file");
    const input = el("input", { type: "file", id, class: "unseen file-input", accept: ACCEPTED, multiple: !this.optional });
    input.setAttribute("aria-label", t(this.picture ? "slot.replace_long" : "slot.choose_long", { label: this.label }));
    input.addEventListener("change", () => {
      if (input.files.length > 1) this.several(chosenFiles(input.files));
      else if (input.files[0]) this.takeFile(input.files[0]);
      input.value = "";
    });
    this.element.classList.toggle("slot-full", Boolean(this.picture));
    if (this.picture) this.element.hidden = false;
    this.element.classList.toggle("slot-optional", this.optional);
    replace(this.element, this.picture ? this.full(id, input) : this.empty(id, input), this.said);
    if (hadFocus) this.element.querySelector("input").focus();
  }

  empty(id, input) {
    return [
      el("span", { class: "slot-label" }, this.label),
      el("span", { class: "slot-hint" }, this.hint),
      el("span", { class: "slot-actions" }, input, el("label", { class: "button", for: id, "aria-hidden": "true" }, t("slot.choose")), this.optional ? null : [cameraButton(this), pasteButton(this)]),
    ];
  }

  full(id, input) {
    const { name, width, height } = this.picture;
    const size = `${width} × ${height}`;
    const remove = el("button", { type: "button", class: "quiet small", title: t("slot.remove") }, "✕");
    remove.setAttribute("aria-label", t("slot.remove_long", { label: this.label }));
    remove.addEventListener("click", () => this.clear());
    return [
      el("span", { class: "slot-label" }, this.label),
      el("span", { class: "slot-name", title: `${name}, ${size}` }, name),
      el("span", { class: "slot-size" }, size),
      el("span", { class: "slot-actions" }, input, el("label", { class: "button quiet small", for: id, "aria-hidden": "true" }, t("slot.replace")), remove),
    ];
  }
}

/** On a phone or tablet a photograph can be taken at once. */
function cameraButton(slot) {
  if (!matchMedia("(pointer: coarse)").matches) return null;
  const id = freshId("camera");
  const input = el("input", { type: "file", id, class: "unseen file-input camera-input", accept: "image/*", capture: "environment", "aria-label": t("slot.camera") });
  input.addEventListener("change", () => input.files[0] && slot.takeFile(input.files[0], t("slot.photographed")));
  return [input, el("label", { class: "button", for: id, "aria-hidden": "true" }, t("slot.camera"))];
}

/** Reading the clipboard by a button is for devices without Ctrl+V, and only where the browser lets pages do it. */
function pasteButton(slot) {
  if (!navigator.clipboard?.read || matchMedia("(pointer: fine)").matches) return null;
  const button = el("button", { type: "button", class: "quiet" }, t("slot.paste"));
  button.addEventListener("click", async () => {
    try {
      for (const item of await navigator.clipboard.read()) {
        const kind = item.types.find((type) => type.startsWith("image/"));
        if (kind) return slot.takeFile(await item.getType(kind), t("slot.pasted"));
      }
      button.textContent = t("slot.no_picture_there");
    } catch {
      button.textContent = t("slot.not_allowed");
    }
    return undefined;
  });
  return button;
}

/** The first picture of a paste, if there is one. */
export function pictureIn(transfer) {
  return [...(transfer?.files ?? [])].find((file) => file.type.startsWith("image/")) ?? null;
}
