// The pictures: one or two that zoom and move together, side by side or over each other; maps, marks and a loupe.

import { el, freshId, replace } from "./dom.js";
import { Histogram } from "./histogram.js";
import { Pane } from "./pane.js";
import { WHOLE, pixelsOf, pixelScale } from "./view_geometry.js";
import { t } from "./words.js";

const BUTTON_ZOOM = 1.5;
const FLICKER_MS = 700;
const OVER_EACH_OTHER = ["wipe", "flicker"];
const QUALITY = "quality";

export class Viewer {
  /** `regionDrawn(box)` gets [x, y, width, height] in pixels; `mapChosen(name)` the name of a map, or "";
   * `worstToggled(on)` whether the worst place is to be marked. */
  constructor(root, { regionDrawn, mapChosen, worstToggled }) {
    Object.assign(this, { root, regionDrawn, mapChosen, worstToggled });
    this.view = WHOLE;
    this.drawing = false;
    this.pictures = [];
    this.panes = [];
    this.layout = "first";
    this.regions = [];
    this.worst = null;
    this.worstOn = false;
    this.map = null;
    this.wantedMap = "";
    this.strength = 0.55;
    this.wipe = null;
    this.secondShown = false;
    this.loupeOn = false;
    this.loupeAt = null;
    this.histogram = new Histogram();
    this.build();
    new ResizeObserver(() => this.paint()).observe(this.paneRow);
  }

  // --- what is shown ---

  /** One or two of {label, url, width, height, drawable}; false where they are on show already. */
  setPictures(pictures, layout = null) {
    const same = pictures.length === this.pictures.length && pictures.every((each, at) => each.url === this.pictures[at].url && each.label === this.pictures[at].label);
    if (same) return false;
    this.pictures = pictures;
    this.map = null;
    this.wantedMap = "";
    this.view = WHOLE;
    this.root.hidden = pictures.length === 0;
    this.setWorst(null);
    this.useLayout(pictures.length < 2 ? "first" : (layout ?? "first"));
    return true;
  }

  /** Maps to choose from, as {name, title}, those of the picture itself and those of a run; the one on show stays. */
  setMaps(local, ofRun) {
    const options = (maps) => maps.map((map) => el("option", { value: map.name }, map.title));
    replace(
      this.mapSelect,
      el("option", { value: "" }, t("maps.none")),
      el("optgroup", { label: t("maps.local") }, options(local)),
      el("optgroup", { label: t("maps.run") }, ofRun.length ? options(ofRun) : el("option", { disabled: true }, t("maps.later"))),
    );
    const there = (wanted) => [...local, ...ofRun].some(({ name }) => name === wanted);
    if (!there(this.wantedMap)) this.wantedMap = "";
    if (!there(this.map?.name)) this.setMap(null);
    // The first map of an answer is the one that people want: it has a button of its own.
    this.mainMap = ofRun[0] ?? null;
    this.mapButton.hidden = !this.mainMap;
    this.mapButton.textContent = this.mainMap ? t(`viewer.map_${this.mainMap.name}`) : "";
    this.showChosenMap();
  }

  showChosenMap() {
    this.mapSelect.value = this.wantedMap;
    this.mapButton.setAttribute("aria-pressed", String(Boolean(this.mainMap) && this.wantedMap === this.mainMap.name));
  }

  toggleMap() {
    this.mapChosen(this.wantedMap === this.mainMap.name ? "" : this.mainMap.name);
  }

  offersMap(name) {
    return [...this.mapSelect.options].some((option) => option.value === name);
  }

  /** The map over the pictures: {name, label, url | urls by picture, legend, ends, scale, opaque} or null. */
  setMap(map) {
    this.map = map;
    this.slider.hidden = !map;
    this.showMap();
    this.sayMap();
  }

  sayMap() {
    const { map, worst } = this;
    this.say(map ? [map.legend, map.name === QUALITY ? worst?.more : null].filter(Boolean).join(" ") : "");
    if (map?.scale) this.mapHint.prepend(el("span", { class: "map-scale", "aria-hidden": "true" }, map.ends[0], el("span", { class: `scale-${map.scale}` }), map.ends[1]));
  }

  showMap() {
    for (const pane of this.panes) {
      const url = this.map && pane.picture.mapped ? (this.map.url ?? this.map.urls.get(pane.picture.url)) : null;
      pane.setOverlay(url ?? null, this.map?.label);
      pane.setStrength(this.map?.opaque ? 1 : this.strength);
    }
    this.slider.parentElement.classList.toggle("map-tools-opaque", Boolean(this.map?.opaque));
  }

  setRegions(regions) {
    this.regions = regions;
    this.showMarks();
  }

  /** The worst place as {box, name, more}, `more` said beside the map's legend; null, or without a box, where there is none. */
  setWorst(worst, on = false) {
    this.worst = worst;
    this.worstButton.hidden = !worst?.box;
    this.markWorst(on);
    if (this.map) this.sayMap();
  }

  markWorst(on) {
    this.worstOn = on && Boolean(this.worst?.box);
    this.worstButton.setAttribute("aria-pressed", String(this.worstOn));
    this.showMarks();
  }

  toggleWorst() {
    if (!this.worst?.box) return;
    this.markWorst(!this.worstOn);
    this.worstToggled(this.worstOn);
  }

  showMarks() {
    const regions = this.regions.map((region) => ({ ...region, kind: "own" }));
    const worst = this.worstOn ? [{ ...this.worst, kind: "worst", action: () => this.showBox(this.worst.box) }] : [];
    for (const pane of this.panes) pane.setMarks([...(pane.picture.drawable ? regions : []), ...(pane.picture.mapped && !pane.picture.second ? worst : [])]);
    this.paint();
  }

  /** The name of the map that is being made: it is shown when it is there, unless another was chosen meanwhile. */
  wantMap(name) {
    this.wantedMap = name;
    this.showChosenMap();
    this.setMap(null);
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
    if (this.regions.length) this.setDrawing(false);
  }

  pointAt(share) {
    if (!this.loupeOn) return;
    this.loupeAt = share;
    this.paint();
  }

  nudgeLoupe(dx, dy) {
    const inside = (value) => Math.min(Math.max(value, 0), 1);
    const from = this.loupeAt ?? { x: 0.5, y: 0.5 };
    this.pointAt({ x: inside(from.x + dx), y: inside(from.y + dy) });
  }

  setWipe(share) {
    this.wipe = Math.min(Math.max(share, 0), 1);
    this.wipeSlider.value = String(Math.round(this.wipe * 100));
    this.paint();
  }

  // --- building ---

  build() {
    this.paneRow = el("div", { class: "panes" });
    this.zoomText = el("output", { class: "zoom-text", "aria-label": t("viewer.magnification") }, "100 %");
    const button = (text, label, action) => el("button", { type: "button", class: "quiet small", "aria-label": label, title: label, onclick: action }, text);
    const middle = (factor) => () => this.panes[0]?.zoom(factor);
    this.layouts = el("div", { class: "segments", role: "group", "aria-label": t("viewer.layouts") });
    this.regionButton = el("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: (event) => this.toggleDrawing(event) }, t("viewer.draw"));
    this.loupeButton = el("button", { type: "button", class: "quiet small", "aria-pressed": "false", onclick: () => this.setLoupe(!this.loupeOn) }, t("viewer.loupe"));
    this.worstButton = el("button", { type: "button", class: "small", hidden: true, "aria-pressed": "false", onclick: () => this.toggleWorst() }, t("viewer.to_worst"));
    this.mapButton = el("button", { type: "button", class: "small", hidden: true, "aria-pressed": "false", onclick: () => this.toggleMap() });
    this.wipeSlider = el("input", { type: "range", min: "0", max: "100", value: "50", "aria-label": t("viewer.wipe_slider"), oninput: () => this.setWipe(this.wipeSlider.value / 100) });
    this.flickerButton = el("button", { type: "button", class: "small", onclick: () => this.flickerOnce() }, t("viewer.other"));
    this.overTools = el("div", { class: "over-tools", hidden: true }, this.wipeSlider, this.flickerButton);
    this.root.classList.add("viewer", "card");
    this.root.hidden = true;
    replace(
      this.root,
      this.paneRow,
      this.overTools,
      el(
        "div",
        { class: "viewer-tools", role: "toolbar", "aria-label": t("viewer.toolbar") },
        el("div", { class: "tool-group" }, button("−", t("viewer.out"), middle(1 / BUTTON_ZOOM)), this.zoomText, button("+", t("viewer.in"), middle(BUTTON_ZOOM)), button(t("viewer.fit"), t("viewer.fit_long"), () => this.fit()), button("100 %", t("viewer.pixels_long"), () => this.showPixels())),
        this.layouts,
        el("span", { class: "spring" }),
        this.loupeButton,
        this.regionButton,
      ),
      this.buildMapTools(),
      this.histogram.element,
    );
  }

  buildMapTools() {
    const selectId = freshId("map");
    this.mapSelect = el("select", { id: selectId, onchange: () => this.mapChosen(this.mapSelect.value) });
    this.slider = el("input", { type: "range", "aria-label": t("viewer.fade"), min: "0", max: "100", value: String(this.strength * 100), hidden: true, oninput: () => this.setStrength(this.slider.value / 100) });
    this.mapHint = el("p", { class: "hint map-hint", role: "status" });
    return el("div", { class: "map-tools" }, this.mapButton, this.worstButton, el("span", { class: "map-choice" }, el("label", { for: selectId }, t("viewer.map")), this.mapSelect), this.slider, this.mapHint);
  }

  useLayout(layout) {
    this.layout = layout;
    this.wipe = layout === "wipe" ? 0.5 : null;
    this.wipeSlider.value = "50";
    this.secondShown = false;
    clearInterval(this.flickering);
    if (layout === "flicker" && !matchMedia("(prefers-reduced-motion: reduce)").matches) this.flickering = setInterval(() => this.flickerOnce(), FLICKER_MS);
    this.rebuildPanes();
    this.renderLayouts();
  }

  flickerOnce() {
    this.secondShown = !this.secondShown;
    this.paint();
  }

  rebuildPanes() {
    const [first, second] = this.pictures;
    const byLayout = { both: this.pictures, second: [second] };
    const shown = (byLayout[this.layout] ?? [first]).filter(Boolean);
    this.panes = shown.map((picture) => new Pane(this, picture, OVER_EACH_OTHER.includes(this.layout) ? second : null));
    this.paneRow.classList.toggle("panes-two", this.panes.length === 2);
    this.paneRow.classList.toggle("panes-alone", this.pictures.length === 1);
    replace(this.paneRow, this.panes.map((pane) => pane.element));
    if (shown.length) this.histogram.show(shown[0], this.pictures.length > 1);
    this.overTools.hidden = !OVER_EACH_OTHER.includes(this.layout);
    this.wipeSlider.hidden = this.layout !== "wipe";
    this.flickerButton.hidden = this.layout !== "flicker";
    this.showMap();
    this.regionButton.hidden = !this.panes.some((pane) => pane.picture.drawable);
    this.showMarks();
  }

  renderLayouts() {
    this.layouts.hidden = this.pictures.length < 2;
    if (this.layouts.hidden) return;
    const names = { first: this.pictures[0].label, both: t("viewer.both"), second: this.pictures[1].label, wipe: t("viewer.wipe"), flicker: t("viewer.flicker") };
    replace(
      this.layouts,
      Object.entries(names).map(([layout, name]) => el("button", { type: "button", class: "small", "data-layout": layout, "aria-pressed": String(layout === this.layout), onclick: () => this.useLayout(layout) }, name)),
    );
  }

  // --- acting ---

  setStrength(share) {
    this.strength = share;
    this.slider.setAttribute("aria-valuetext", t("viewer.strength", { share: Math.round(share * 100) }));
    this.showMap();
  }

  setLoupe(on) {
    this.loupeOn = on;
    this.loupeAt = on ? { x: 0.5, y: 0.5 } : null;
    this.loupeButton.setAttribute("aria-pressed", String(on));
    this.paint();
  }

  fit() {
    this.show(WHOLE);
  }

  showPixels() {
    const pane = this.panes[0];
    if (pane) this.show({ ...this.view, scale: pixelScale(pane.room, pane.picture) });
  }

  /** A place at 100 %, in all panes. */
  showBox(box) {
    const pane = this.panes[0];
    if (pane) this.show(pixelsOf(box, pane.room, pane.picture));
  }

  toggleDrawing(event) {
    this.setDrawing(!this.drawing);
    // A key press cannot draw: it gets the middle of the picture, to be changed by its numbers.
    const pane = this.panes.find((each) => each.picture.drawable);
    if (this.drawing && event.detail === 0 && pane) {
      const { width, height } = pane.picture;
      this.drawn([Math.round(width / 4), Math.round(height / 4), Math.max(1, Math.round(width / 2)), Math.max(1, Math.round(height / 2))]);
      this.setDrawing(false);
    }
  }

  setDrawing(on) {
    this.drawing = on;
    this.startedBox = false;
    this.regionButton.setAttribute("aria-pressed", String(on));
    this.regionButton.textContent = on ? t("viewer.drag") : t("viewer.draw");
    this.paint();
  }

  paint() {
    const state = { drawing: this.drawing, wipe: this.wipe, secondShown: this.secondShown, loupeAt: this.loupeOn ? this.loupeAt : null };
    const zooms = this.panes.map((pane) => pane.draw(this.view, state));
    if (zooms.length) this.zoomText.textContent = `${Math.round(zooms[0] * 100)} %`;
  }
}
