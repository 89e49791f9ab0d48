// Maps that a run can show over its picture.

import { pictureBlob } from "./api.js";

const LONGEST = 2048;
const RELATIVE = "Red: most is lost there, relative to the worst places of this picture; blue: least.";
const KNOWN = [
  { name: "quality", title: "Quality (vision model)", legend: "Red is 1 (bad), blue is 5 (excellent).", ends: ["5", "1"] },
  { name: "SSIM", title: "SSIM: structure", reference: true },
  { name: "GMSD", title: "GMSD: edges", reference: true },
  { name: "CIEDE2000", title: "CIEDE2000: colour", reference: true },
  { name: "LPIPS", title: "LPIPS: deep features", reference: true },
  { name: "PSNR", title: "PSNR: squared error", reference: true },
  { name: "PIQE", title: "PIQE: block distortion" },
  { name: "clipping", title: "Clipped light and shadow" },
  { name: "haze", title: "Haze" },
];
const DIFFERENCE = { name: "difference", title: "Which is better where", legend: "Blue: A is better there; orange: B is; grey: no difference.", ends: ["A", "B"], scale: "sides" };

/** Maps for a finished run; `ready` holds the names of the tools that run on this server. */
export function mapsOf(run, ready) {
  if (run.kind === "compare") return run.result?.map_shows ? [DIFFERENCE] : [];
  return KNOWN.filter((map) => (map.name === "quality" || ready.has(map.name)) && (!map.reference || run.links.reference));
}

export class MapStore {
  constructor() {
    this.drawn = new Map();
  }

  /** The map as {label, url, legend}. */
  async find(run, name) {
    const map = name === DIFFERENCE.name ? DIFFERENCE : KNOWN.find((each) => each.name === name);
    const path = map === DIFFERENCE ? `${run.links.map}&max_side=${LONGEST}` : `${run.links.map}?tool=${encodeURIComponent(name)}&max_side=${LONGEST}`;
    const url = await this.urlOf(run, path);
    return { label: `Map: ${map.title}`, url, legend: map.legend ?? RELATIVE, ends: map.ends ?? ["least", "most"], scale: map.scale ?? "turbo" };
  }

  async urlOf(run, path) {
    if (!this.drawn.has(path)) {
      const blob = await pictureBlob(path);
      // Whoever asked for the same map meanwhile may have been faster.
      if (!this.drawn.has(path)) this.drawn.set(path, { runId: run.id, url: URL.createObjectURL(blob) });
    }
    return this.drawn.get(path).url;
  }

  /** Forgets the maps of all other runs: until its address is revoked, a browser keeps the picture behind it. */
  keepOnly(runs) {
    const kept = new Set(runs.map((run) => run.id));
    for (const [path, { runId, url }] of this.drawn) {
      if (!kept.has(runId)) {
        URL.revokeObjectURL(url);
        this.drawn.delete(path);
      }
    }
  }
}
