// The pictures: one or two side by side that zoom and move together, a map over them, and a region.

import { el, freshId, replace } from "./dom.js";
import { Pane } from "./pane.js";
import { WHOLE, fitOf } from "./view_geometry.js";

const LAYOUTS = { first: "First", both: "Side by side", second: "Second" };
const BUTTON_ZOOM = 1.5;

export class Viewer {
  /** `regionDrawn(box)` gets [x, y, width, height] in pixels; `mapChosen(name)` the name of a map, or "". */
  constructor(root, { regionDrawn, mapChosen }) {
    Object.assign(this, { root, regionDrawn, mapChosen });
    this.view = WHOLE;
    this.drawing = false;
    this.pictures = [];
    this.panes = [];
    this.layout = "first";
    this.region = null;
    this.map = null;
    this.maps = [];
    this.strength = 0.75;
    this.build();
    new ResizeObserver(() => this.paint()).observe(this.paneRow);
  }

  // --- what is shown ---

  /** One or two of {label, url, width, height, drawable}. */
  setPictures(pictures, layout = null) {
    const same = pictures.length === this.pictures.length && pictures.every((each, at) => each.url === this.pictures[at].url && each.label === this.pictures[at].label);
    if (same) return;
    this.pictures = pictures;
    this.map = null;
    this.layout = pictures.length < 2 ? "first" : (layout ?? this.layout);
    this.view = WHOLE;
    this.root.hidden = pictures.length === 0;
    this.rebuildPanes();
    this.renderLayouts();
  }

  /** Maps to choose from, as {name, title}; an empty list says why there are none. */
  setMaps(maps, chosen = "") {
    this.maps = maps;
    this.map = null;
    const none = el("option", { value: "" }, maps.length ? "No map" : "After the first answer");
    replace(this.mapSelect, none, maps.map((map) => el("option", { value: map.name }, map.title)));
    this.mapSelect.value = chosen;
    this.mapSelect.disabled = maps.length === 0;
    this.slider.disabled = true;
    this.say("");
    for (const pane of this.panes) pane.setOverlay(null);
  }

  /** The map over the pictures: {label, url, legend} or null. */
  setMap(map) {
    this.map = map;
    this.slider.disabled = !map;
    for (const pane of this.panes) pane.setOverlay(pane.picture.mapped ? map : null);
    this.setStrength(this.strength);
    this.say(map ? map.legend : "");
    if (map) this.mapHint.prepend(el("span", { class: "map-scale", "aria-hidden": "true" }, map.ends[0], el("span", { class: `scale-${map.scale}` }), map.ends[1]));
  }

  setRegion(region) {
    this.region = region;
    for (const pane of this.panes) pane.setRegion(region);
  }

  say(text) {
    this.mapHint.textContent = text;
  }

  // --- called by panes ---

  show(view) {
    this.view = view;
    this.paint();
  }

  drawn(box) {
    this.regionDrawn(box);
  }

  finishDrawing() {
    if (this.region) this.setDrawing(false);
  }

  // --- building ---

  build() {
    this.paneRow = el("div", { class: "panes" });
    this.zoomText = el("output", { class: "zoom-text", "aria-label": "Magnification" }, "100 %");
    const button = (text, label, action) => el("button", { type: "button", class: "quiet small", "aria-label": label, title: label, onclick: action }, text);
    const middle = (factor) => () => this.panes[0]?.zoom(factor);
    this.layouts = el("div", { class: "segments", role: "group", "aria-label": "Which pictures are shown" });
    this.regionButton = el("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: (event) => this.toggleDrawing(event) }, "Draw a region");
    this.root.classList.add("viewer", "card");
    this.root.hidden = true;
    replace(
      this.root,
      this.paneRow,
      el(
        "div",
        { class: "viewer-tools", role: "toolbar", "aria-label": "View" },
        el("div", { class: "tool-group" }, button("−", "Zoom out", middle(1 / BUTTON_ZOOM)), this.zoomText, button("+", "Zoom in", middle(BUTTON_ZOOM)), button("Fit", "Fit the whole picture", () => this.show(WHOLE)), button("1:1", "1:1, one picture pixel for each screen pixel", () => this.showPixels())),
        this.layouts,
        el("span", { class: "spring" }),
        this.regionButton,
      ),
      this.buildMapTools(),
    );
  }

  buildMapTools() {
    const selectId = freshId("map");
    this.mapSelect = el("select", { id: selectId, onchange: () => this.mapChosen(this.mapSelect.value) });
    this.slider = el("input", { type: "range", "aria-label": "Fade from picture to map", min: "0", max: "100", value: String(this.strength * 100), oninput: () => this.setStrength(this.slider.value / 100) });
    this.mapHint = el("p", { class: "hint map-hint", role: "status" });
    return el(
      "div",
      { class: "map-tools" },
      el("label", { for: selectId }, "Map"),
      this.mapSelect,
      el("span", { "aria-hidden": "true" }, "Picture"),
      this.slider,
      el("span", { "aria-hidden": "true" }, "Map"),
      this.mapHint,
    );
  }

  rebuildPanes() {
    const shown = this.layout === "both" ? this.pictures : this.pictures.slice(this.layout === "second" ? 1 : 0).slice(0, 1);
    this.panes = shown.map((picture) => new Pane(this, picture));
    this.paneRow.classList.toggle("panes-two", this.panes.length === 2);
    replace(this.paneRow, this.panes.map((pane) => pane.element));
    this.setRegion(this.region);
    for (const pane of this.panes) pane.setOverlay(pane.picture.mapped ? this.map : null);
    this.setStrength(this.strength);
    this.regionButton.hidden = !this.panes.some((pane) => pane.picture.drawable);
    this.paint();
  }

  renderLayouts() {
    this.layouts.hidden = this.pictures.length < 2;
    if (this.layouts.hidden) return;
    const names = { ...LAYOUTS, first: this.pictures[0].label, second: this.pictures[1].label };
    const choose = (layout) => {
      this.layout = layout;
      this.rebuildPanes();
      for (const each of this.layouts.children) each.setAttribute("aria-pressed", String(each.dataset.layout === layout));
    };
    replace(
      this.layouts,
      Object.entries(names).map(([layout, name]) => el("button", { type: "button", class: "small", "data-layout": layout, "aria-pressed": String(layout === this.layout), onclick: () => choose(layout) }, name)),
    );
  }

  // --- acting ---

  setStrength(share) {
    this.strength = share;
    this.slider.setAttribute("aria-valuetext", `${Math.round(share * 100)} % map`);
    for (const pane of this.panes) pane.setStrength(share);
  }

  showPixels() {
    const pane = this.panes[0];
    if (pane) this.show({ ...this.view, scale: Math.max(1, 1 / devicePixelRatio / fitOf(pane.room, pane.picture)) });
  }

  toggleDrawing(event) {
    this.setDrawing(!this.drawing);
    // A key press cannot draw: it gets the middle of the picture, to be changed by its numbers.
    const pane = this.panes.find((each) => each.picture.drawable);
    if (this.drawing && event.detail === 0 && !this.region && pane) {
      const { width, height } = pane.picture;
      this.drawn([Math.round(width / 4), Math.round(height / 4), Math.max(1, Math.round(width / 2)), Math.max(1, Math.round(height / 2))]);
      this.setDrawing(false);
    }
  }

  setDrawing(on) {
    this.drawing = on;
    this.regionButton.setAttribute("aria-pressed", String(on));
    this.regionButton.textContent = on ? "Drag over the picture" : "Draw a region";
    this.paint();
  }

  paint() {
    const zooms = this.panes.map((pane) => pane.draw(this.view, this.drawing));
    if (zooms.length) this.zoomText.textContent = `${Math.round(zooms[0] * 100)} %`;
  }
}
