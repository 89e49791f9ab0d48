// Maps over a picture: those the browser draws itself, and those that a run can show.

import { pictureBlob } from "./api.js";
import { clippingMarks, differenceMarks, focusMarks } from "./pixels.js";
import { t } from "./words.js";

const LONGEST = 2048;
const OF_RUN = [
  { name: "quality", fixed: true },
  { name: "SSIM", reference: true },
  { name: "GMSD", reference: true },
  { name: "CIEDE2000", reference: true },
  { name: "LPIPS", reference: true },
  { name: "PSNR", reference: true },
  { name: "PIQE" },
  { name: "clipping" },
  { name: "haze" },
];
const LOCAL = { clipped: clippingMarks, focus: focusMarks };
const PIXEL_DIFFERENCE = "pixel_difference";
const WHO_IS_BETTER = "difference";

/** Maps that need no run. */
export function localMaps(pictures) {
  const names = [...Object.keys(LOCAL), ...(pictures.length > 1 ? [PIXEL_DIFFERENCE] : [])];
  return names.map((name) => ({ name, title: t(`maps.${name}`) }));
}

/** Maps for a finished run; `ready` holds the names of the tools that run on this server. */
export function mapsOf(run, ready) {
  if (run.kind === "compare") return run.result?.map_shows ? [titled(WHO_IS_BETTER)] : [];
  return OF_RUN.filter((map) => (map.fixed || ready.has(map.name)) && (!map.reference || run.links.reference)).map(({ name }) => titled(name));
}

const titled = (name) => ({ name, title: t(`maps.${name}`) });

export class MapStore {
  constructor() {
    this.drawn = new Map();
  }

  /** The map of a name for these pictures and, if it is one of a run's, this run. */
  async find(name, pictures, run) {
    if (name in LOCAL || name === PIXEL_DIFFERENCE) return this.findLocal(name, pictures);
    const side = `max_side=${LONGEST}`;
    const path = name === WHO_IS_BETTER ? `${run.links.map}&${side}` : `${run.links.map}?tool=${encodeURIComponent(name)}&${side}`;
    const url = await this.urlOf(path, run.id, async () => URL.createObjectURL(await pictureBlob(path)));
    const looks = {
      quality: { legend: t("maps.quality_legend"), ends: ["5", "1"], scale: "turbo" },
      [WHO_IS_BETTER]: { legend: t("maps.difference_legend"), ends: ["A", "B"], scale: "sides" },
    };
    const relative = { legend: t("maps.relative_legend"), ends: [t("maps.least"), t("maps.most")], scale: "turbo" };
    return { name, label: t("maps.label", { title: t(`maps.${name}`) }), url, ...(looks[name] ?? relative) };
  }

  async findLocal(name, pictures) {
    const urls = new Map();
    const [first, second] = pictures;
    for (const picture of pictures) {
      const draw = name === PIXEL_DIFFERENCE ? () => differenceMarks(first, second) : () => LOCAL[name](picture);
      const key = name === PIXEL_DIFFERENCE ? `${name} ${first.url} ${second.url}` : `${name} ${picture.url}`;
      urls.set(picture.url, await this.urlOf(key, "local", draw));
    }
    return { name, label: t("maps.label", { title: t(`maps.${name}`) }), urls, legend: t(`maps.${name}_legend`), opaque: true };
  }

  async urlOf(key, owner, draw) {
    if (!this.drawn.has(key)) {
      const url = await draw();
      // Another request for the same map may have been faster.
      if (this.drawn.has(key)) URL.revokeObjectURL(url);
      else this.drawn.set(key, { owner, url });
    }
    return this.drawn.get(key).url;
  }

  /** Forgets the maps of all other runs: until its address is revoked, a browser keeps the picture behind it. */
  keepOnly(runs) {
    this.forget(({ owner }) => owner !== "local" && !runs.some((run) => run.id === owner));
  }

  /** Forgets what was drawn over pictures that are gone. */
  forgetLocal() {
    this.forget(({ owner }) => owner === "local");
  }

  forget(gone) {
    for (const [key, drawn] of this.drawn) {
      if (gone(drawn)) {
        URL.revokeObjectURL(drawn.url);
        this.drawn.delete(key);
      }
    }
  }
}
