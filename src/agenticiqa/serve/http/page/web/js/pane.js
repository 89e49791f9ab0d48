// One picture that can be moved, zoomed and drawn on, perhaps with a second one over it. It asks its viewer for the
// view, which all panes share.

import { el } from "./dom.js";
import { Loupe } from "./loupe.js";
import { Marks } from "./marks.js";
import { boxBetween, limited, moved, pixelAt, placement, zoomedAt } from "./view_geometry.js";
import { t } from "./words.js";

const KEY_STEP = 60;
const KEY_ZOOM = 1.3;
const LOUPE_STEP = 0.02;
const LEAST_DRAWN = 4;

export class Pane {
  /** `second`, if given, lies over `picture` and is shown from the wipe's edge on, or now and then. */
  constructor(viewer, picture, second = null) {
    Object.assign(this, { viewer, picture, second });
    this.pointers = new Map();
    this.base = el("img", { class: "pane-base", alt: picture.label, draggable: "false", src: picture.url });
    this.over = second ? el("img", { class: "pane-second", alt: second.label, draggable: "false", src: second.url }) : null;
    this.overlay = el("img", { class: "pane-overlay", alt: "", draggable: "false", hidden: true });
    this.marks = new Marks();
    this.loupe = new Loupe(picture);
    this.edge = second ? el("div", { class: "pane-edge", "aria-hidden": "true" }) : null;
    this.stage = el("div", { class: "pane-stage", style: { width: `${picture.width}px`, height: `${picture.height}px` } }, this.base, this.over, this.overlay, this.marks.boxes);
    this.window = el("div", { class: "pane-window", tabindex: "0", role: "application", "aria-roledescription": t("viewer.role"), "aria-label": t("viewer.keys", { label: picture.label }) }, this.stage, this.edge, this.loupe.element, this.marks.labels);
    this.window.style.setProperty("aspect-ratio", `${picture.width} / ${picture.height}`);
    this.window.style.setProperty("--natural", `${picture.height}px`);
    this.caption = el("figcaption", {}, picture.label);
    this.element = el("figure", { class: "pane" }, this.window, this.caption);
    this.listen();
  }

  get room() {
    return { width: this.window.clientWidth, height: this.window.clientHeight };
  }

  setOverlay(url, label = "") {
    this.overlay.hidden = !url;
    if (url) {
      this.overlay.src = url;
      this.overlay.alt = label;
    } else this.overlay.removeAttribute("src");
  }

  setStrength(share) {
    this.overlay.style.setProperty("opacity", String(share));
  }

  setMarks(list) {
    this.marks.set(list);
  }

  draw(view, { drawing, wipe, secondShown, loupeAt }) {
    const own = limited(view, this.room, this.picture);
    const place = placement(own, this.room, this.picture);
    this.stage.style.setProperty("transform", `translate(${place.x}px, ${place.y}px) scale(${place.zoom})`);
    this.stage.style.setProperty("--zoom", String(place.zoom));
    this.stage.classList.toggle("pane-pixels", place.zoom >= 3);
    this.window.classList.toggle("pane-drawing", drawing);
    // While the whole picture is shown, a finger on it scrolls the page.
    this.window.style.setProperty("touch-action", drawing || view.scale > 1 || this.edge ? "none" : "pan-y");
    this.marks.place(place, this.room);
    this.loupe.show(loupeAt, place);
    if (this.over) this.drawSecond(place, wipe, secondShown);
    return place.zoom;
  }

  drawSecond(place, wipe, shown) {
    const wiping = wipe !== null;
    this.edge.hidden = !wiping;
    this.over.hidden = !wiping && !shown;
    const cut = wiping ? (wipe * this.room.width - place.x) / place.zoom : 0;
    this.over.style.setProperty("clip-path", `inset(0 0 0 ${Math.min(Math.max(cut, 0), this.picture.width)}px)`);
    this.edge.style.setProperty("transform", `translateX(${(wipe ?? 0) * this.room.width}px)`);
    this.caption.textContent = wiping ? t("viewer.wipe_caption", { a: this.picture.label, b: this.second.label }) : shown ? this.second.label : this.picture.label;
  }

  listen() {
    const pane = this.window;
    pane.addEventListener("pointerdown", (event) => this.press(event));
    pane.addEventListener("pointermove", (event) => this.move(event));
    pane.addEventListener("pointerup", (event) => this.release(event));
    pane.addEventListener("pointercancel", (event) => this.release(event));
    pane.addEventListener("pointerleave", () => this.viewer.pointAt(null));
    pane.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    pane.addEventListener("dblclick", (event) => this.viewer.drawing || this.zoom(2, this.pointOf(event)));
    pane.addEventListener("keydown", (event) => this.pressKey(event));
  }

  pointOf(event) {
    const edge = this.window.getBoundingClientRect();
    return { x: event.clientX - edge.left - this.window.clientLeft, y: event.clientY - edge.top - this.window.clientTop };
  }

  /** The place under a point of the pane, as shares of the picture. */
  shareAt(point) {
    const { x, y } = pixelAt(point, this.viewer.view, this.room, this.picture);
    const inside = (value) => Math.min(Math.max(value, 0), 1);
    return { x: inside(x / this.picture.width), y: inside(y / this.picture.height) };
  }

  press(event) {
    if (event.button !== 0) return;
    this.window.setPointerCapture(event.pointerId);
    const point = this.pointOf(event);
    this.pointers.set(event.pointerId, point);
    this.corner = this.viewer.drawing && this.picture.drawable ? pixelAt(point, this.viewer.view, this.room, this.picture) : null;
    this.wiping = !this.corner && this.viewer.wipe !== null && this.edge && Math.abs(point.x - this.viewer.wipe * this.room.width) < 24;
  }

  move(event) {
    const now = this.pointOf(event);
    if (this.viewer.loupeOn) this.viewer.pointAt(this.shareAt(now));
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    if (this.wiping) this.viewer.setWipe(now.x / this.room.width);
    else if (this.corner) this.stretch(now);
    else if (this.pointers.size === 2) this.pinch(event.pointerId, before, now);
    else if (event.pointerType !== "touch" || this.viewer.view.scale > 1) {
      this.viewer.show(moved(this.viewer.view, now.x - before.x, now.y - before.y, this.room, this.picture));
    }
    this.pointers.set(event.pointerId, now);
  }

  stretch(now) {
    const box = boxBetween(this.corner, pixelAt(now, this.viewer.view, this.room, this.picture), this.picture);
    if (box && Math.min(box[2], box[3]) >= LEAST_DRAWN) this.viewer.drawn(box);
  }

  pinch(id, before, now) {
    const other = [...this.pointers].find(([each]) => each !== id)[1];
    const distance = (a, b) => Math.hypot(a.x - b.x, a.y - b.y) || 1;
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 };
    this.zoom(distance(now, other) / distance(before, other), middle);
  }

  release(event) {
    this.pointers.delete(event.pointerId);
    this.wiping = false;
    if (this.corner) {
      this.corner = null;
      this.viewer.finishDrawing();
    }
  }

  /** Over a picture that was clicked, or with Ctrl held, the wheel zooms; elsewhere it scrolls the page as always. */
  wheel(event) {
    if (!event.ctrlKey && document.activeElement !== this.window) return;
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.06 : 0.002)), this.pointOf(event));
  }

  zoom(factor, point = { x: this.room.width / 2, y: this.room.height / 2 }) {
    this.viewer.show(zoomedAt(this.viewer.view, factor, point, this.room, this.picture));
  }

  pressKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { viewer } = this;
    const move = (dx, dy) => {
      if (viewer.loupeOn) viewer.nudgeLoupe(-dx * LOUPE_STEP, -dy * LOUPE_STEP);
      else viewer.show(moved(viewer.view, dx * KEY_STEP, dy * KEY_STEP, this.room, this.picture));
    };
    const actions = {
      "+": () => this.zoom(KEY_ZOOM),
      "=": () => this.zoom(KEY_ZOOM),
      "-": () => this.zoom(1 / KEY_ZOOM),
      0: () => viewer.fit(),
      1: () => viewer.showPixels(),
      ArrowLeft: () => move(1, 0),
      ArrowRight: () => move(-1, 0),
      ArrowUp: () => move(0, 1),
      ArrowDown: () => move(0, -1),
    };
    const action = actions[event.key];
    if (!action || (event.key.startsWith("Arrow") && viewer.view.scale <= 1 && !viewer.loupeOn)) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  }
}
