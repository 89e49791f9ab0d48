// The pictures of a folder while it is sent and looked through: small at once, from the files here; then what is found.

import { getJson } from "./api.js";
import { el, fixed } from "./dom.js";
import { t } from "./words.js";

const SIDE = 176;
const AT_ONCE = 3;

export class LiveTiles {
  constructor() {
    Object.assign(this, { tiles: new Map(), waiting: new Set(), drawing: 0, names: {} });
    // Drawn while in view and freed after: thousands of pictures take the memory of a few.
    this.inView = new IntersectionObserver((entries) => entries.forEach((entry) => this.moved(entry)), { rootMargin: "200px" });
    this.element = el("ul", { class: "live", "aria-label": t("many.pictures") });
  }

  /** Shows {file, path} that are not there yet. */
  add(pictures) {
    this.element.append(...pictures.filter(({ path }) => !this.tiles.has(path)).map(({ file, path }) => this.tile(path, file)));
  }

  tile(path, file = null) {
    const canvas = el("canvas", { width: 0, height: 0, "aria-hidden": "true" });
    const [what, why] = [el("p", { class: "live-what" }), el("p", { class: "live-why" })];
    const tile = el("li", {}, canvas, el("p", { class: "live-name", title: path }, path.split("/").at(-1)), what, why);
    this.tiles.set(path, Object.assign(tile, { canvas, what, why, file, thumbnail: null, decision: null }));
    this.inView.observe(tile);
    return tile;
  }

  moved({ target: tile, isIntersecting }) {
    if (isIntersecting) this.waiting.add(tile);
    else {
      this.waiting.delete(tile);
      tile.canvas.width = 0;
    }
    this.drawNext();
  }

  drawNext() {
    for (const tile of this.waiting) {
      if (this.drawing >= AT_ONCE) return;
      this.waiting.delete(tile);
      this.drawing += 1;
      draw(tile).finally(() => {
        this.drawing -= 1;
        this.drawNext();
      });
    }
  }

  /** Loads the words for what may be found. */
  async learnNames() {
    this.names = await getJson("/static/sheet/words.json");
  }

  /** What the server found of one picture, which may have no tile yet; told again, it is known with more. */
  found(row) {
    let tile = this.tiles.get(row.path);
    if (!tile) this.element.append((tile = this.tile(row.path)));
    // The server tells a small picture once.
    tile.thumbnail = row.thumbnail ?? tile.thumbnail;
    const names = Object.keys(row.findings).map((name) => this.names[`finding.${name}`] ?? name.replaceAll("_", " "));
    const score = typeof row.score === "number" ? el("strong", {}, `${row.level} ${fixed(row.score, 1)}`) : null;
    tile.what.replaceChildren(...[score, score && " · ", names.join(", ") || t("many.fine")].filter(Boolean));
    if (row.decision) this.decided(tile, row);
    if (tile.canvas.width) return;
    // Where this browser cannot show the file, it can show the server's small picture.
    this.inView.unobserve(tile);
    this.inView.observe(tile);
  }

  /** What may still change, because its group is not looked through, says so. */
  decided(tile, { decision, why, settled }) {
    const said = this.names[`decision.${decision}`];
    tile.decision = decision;
    tile.why.title = why;
    tile.why.replaceChildren(el("strong", { "data-decision": decision }, settled ? said : t("many.so_far", { decision: said })), ` · ${why}`);
  }

  /** How many are decided how. */
  decisions() {
    const counts = { keep: 0, maybe: 0, reject: 0 };
    for (const { decision } of this.tiles.values()) if (decision) counts[decision] += 1;
    return counts;
  }

  close() {
    this.inView.disconnect();
    this.waiting.clear();
  }
}

async function draw(tile) {
  const source = tile.thumbnail ? new Blob([Uint8Array.from(atob(tile.thumbnail), (letter) => letter.charCodeAt(0))]) : tile.file;
  // A format that this browser does not know stays empty here.
  const small = source && (await createImageBitmap(source, { resizeWidth: SIDE, resizeQuality: "medium" }).catch(() => null));
  if (!small) return;
  Object.assign(tile.canvas, { width: small.width, height: small.height });
  tile.canvas.getContext("2d").drawImage(small, 0, 0);
  small.close();
}
