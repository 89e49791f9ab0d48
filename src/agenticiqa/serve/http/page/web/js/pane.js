// One picture that can be moved, zoomed and drawn on. It asks its viewer for the view, which all panes share.

import { el, replace } from "./dom.js";
import { WHOLE, boxBetween, limited, moved, pixelAt, placement, zoomedAt } from "./view_geometry.js";

const KEY_STEP = 60;
const KEY_ZOOM = 1.3;
const LEAST_DRAWN = 4;

export class Pane {
  constructor(viewer, picture) {
    this.viewer = viewer;
    this.picture = picture;
    this.pointers = new Map();
    this.base = el("img", { class: "pane-base", alt: picture.label, draggable: "false", src: picture.url });
    this.overlay = el("img", { class: "pane-overlay", alt: "", draggable: "false", hidden: true });
    this.box = el("div", { class: "pane-region", hidden: true });
    this.stage = el("div", { class: "pane-stage", style: { width: `${picture.width}px`, height: `${picture.height}px` } }, this.base, this.overlay, this.box);
    this.window = el(
      "div",
      { class: "pane-window", tabindex: "0", role: "application", "aria-roledescription": "zoomable picture", "aria-label": `${picture.label}. Plus and minus zoom, arrow keys move, 0 shows the whole picture.` },
      this.stage,
    );
    this.window.style.setProperty("aspect-ratio", `${picture.width} / ${picture.height}`);
    this.element = el("figure", { class: "pane" }, this.window, el("figcaption", {}, picture.label));
    this.listen();
  }

  get room() {
    return { width: this.window.clientWidth, height: this.window.clientHeight };
  }

  setOverlay(map) {
    this.overlay.hidden = !map;
    if (map) {
      this.overlay.src = map.url;
      this.overlay.alt = map.label;
    } else this.overlay.removeAttribute("src");
  }

  setStrength(share) {
    this.overlay.style.setProperty("opacity", String(share));
  }

  setRegion(region) {
    this.box.hidden = !region;
    if (!region) return;
    const [x, y, width, height] = region.box;
    for (const [property, value] of Object.entries({ left: x, top: y, width, height })) this.box.style.setProperty(property, `${value}px`);
    replace(this.box, el("span", {}, region.name));
  }

  draw(view, drawing) {
    const own = limited(view, this.room, this.picture);
    const { zoom, x, y } = placement(own, this.room, this.picture);
    this.stage.style.setProperty("transform", `translate(${x}px, ${y}px) scale(${zoom})`);
    this.stage.style.setProperty("--zoom", String(zoom));
    this.stage.classList.toggle("pane-pixels", zoom >= 3);
    this.window.classList.toggle("pane-drawing", drawing);
    // While the whole picture is shown, a finger on it scrolls the page.
    this.window.style.setProperty("touch-action", drawing || view.scale > 1 ? "none" : "pan-y");
    return zoom;
  }

  listen() {
    const pane = this.window;
    pane.addEventListener("pointerdown", (event) => this.press(event));
    pane.addEventListener("pointermove", (event) => this.move(event));
    pane.addEventListener("pointerup", (event) => this.release(event));
    pane.addEventListener("pointercancel", (event) => this.release(event));
    pane.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    pane.addEventListener("dblclick", (event) => this.viewer.drawing || this.zoom(2, this.pointOf(event)));
    pane.addEventListener("keydown", (event) => this.pressKey(event));
  }

  pointOf(event) {
    const edge = this.window.getBoundingClientRect();
    return { x: event.clientX - edge.left - this.window.clientLeft, y: event.clientY - edge.top - this.window.clientTop };
  }

  press(event) {
    if (event.button !== 0) return;
    this.window.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, this.pointOf(event));
    this.corner = this.viewer.drawing && this.picture.drawable ? pixelAt(this.pointOf(event), this.viewer.view, this.room, this.picture) : null;
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = this.pointOf(event);
    if (this.corner) this.stretch(now);
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
    const move = (dx, dy) => this.viewer.show(moved(this.viewer.view, dx, dy, this.room, this.picture));
    const actions = {
      "+": () => this.zoom(KEY_ZOOM),
      "=": () => this.zoom(KEY_ZOOM),
      "-": () => this.zoom(1 / KEY_ZOOM),
      0: () => this.viewer.show(WHOLE),
      ArrowLeft: () => move(KEY_STEP, 0),
      ArrowRight: () => move(-KEY_STEP, 0),
      ArrowUp: () => move(0, KEY_STEP),
      ArrowDown: () => move(0, -KEY_STEP),
    };
    const action = actions[event.key];
    if (!action || (event.key.startsWith("Arrow") && this.viewer.view.scale <= 1)) return;
    event.preventDefault();
    action();
  }
}
