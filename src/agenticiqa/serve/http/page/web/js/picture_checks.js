// Whether a chosen file can be used, before anything is asked: its size, its kind, its number of pixels.

import { getJson, request, send } from "./api.js";
import { fixed, megabytes } from "./dom.js";
import { t } from "./words.js";

const PICTURES = /\.(jpe?g|png|webp|tiff?|bmp|gif|avif|heic|heif|jp2|j2k|p[gbpn]m|dng|nef|cr[23w]|arw|raf|orf|rw2|pef|srw)$/i;

const SHOWN_BY_BROWSERS_ALONE = ["image/svg+xml", "image/x-icon", "image/vnd.microsoft.icon"];

let limits = null;

/** What the server takes; null until it has said so. */
export async function loadLimits() {
  limits = await getJson("/v1/limits");
  return limits;
}

export const knownLimits = () => limits;

/** Whether a {file, path} may be a picture, by its kind or its name. */
export const looksLikePicture = ({ file, path }) => file.type.startsWith("image/") || PICTURES.test(path);

/** A file that cannot be used, and why, in words. */
export class Refused extends Error {}

/**
 * The picture as {url, width, height}: as the browser shows it, or else as the server does. A file that is too large, has
 * too many pixels, or is no picture is Refused.
 */
export async function openPicture(file, onProgress = () => {}) {
  if (limits && file.size > limits.max_upload_bytes) throw new Refused(t("check.too_large", { size: megabytes(file.size), most: megabytes(limits.max_upload_bytes) }));
  if (file.size === 0) throw new Refused(t("check.empty"));
  if (SHOWN_BY_BROWSERS_ALONE.includes(file.type)) throw noPicture();
  const url = URL.createObjectURL(file);
  const image = await loaded(url);
  // A picture of too many pixels is refused before they are decoded, which could take all memory there is.
  if (image) checked({ url, width: image.naturalWidth, height: image.naturalHeight });
  if (image && (await isWhole(image))) return { url, width: image.naturalWidth, height: image.naturalHeight };
  URL.revokeObjectURL(url);
  return checked(await previewOf(file, onProgress));
}

const noPicture = () => new Refused(t("check.no_picture", { formats: (limits?.formats ?? []).join(", ") }));

function checked(picture) {
  const pixels = picture.width * picture.height;
  if (limits && pixels > limits.max_pixels) {
    URL.revokeObjectURL(picture.url);
    throw new Refused(t("check.too_many_pixels", { width: picture.width, height: picture.height, pixels: millions(pixels), most: millions(limits.max_pixels) }));
  }
  return picture;
}

const millions = (pixels) => fixed(pixels / 1e6, pixels < 1e7 ? 1 : 0);

/** Browsers cannot show every format: the server decodes it, or says that it is no picture. */
async function previewOf(file, onProgress) {
  try {
    const { blob, header } = await send("/v1/preview", previewForm(file), { onProgress });
    const [width, height] = (header("Picture-Size") ?? "").split("x").map(Number);
    return { url: URL.createObjectURL(blob), width, height, preview: true };
  } catch (problem) {
    throw problem.status === 415 ? unreadable(problem) : problem;
  }
}

/**
 * Browsers show files that the server cannot judge, such as one whose end is missing. Returns why it cannot be used, or
 * null; also null where the server is away or busy, which is no fault of the file.
 */
export async function serverRefusal(file, signal) {
  try {
    const response = await request("/v1/preview", { method: "POST", body: previewForm(file), signal });
    // What it looks like is known already.
    await response.body?.cancel();
    return null;
  } catch (problem) {
    if (problem.status === 415) return unreadable(problem).message;
    return [413, 422].includes(problem.status) ? problem.message : null;
  }
}

const unreadable = (problem) => (problem.detail.includes("damaged or cut off") ? new Refused(t("check.damaged")) : noPicture());

function previewForm(file) {
  const form = new FormData();
  form.append("image", file, file.name || "picture");
  return form;
}

/** The picture as far as its size is known, or null for a format that this browser cannot show. */
function loaded(url) {
  return new Promise((resolve) => {
    const image = new Image();
    image.addEventListener("load", () => resolve(image));
    image.addEventListener("error", () => resolve(null));
    image.src = url;
  });
}

async function isWhole(image) {
  try {
    await image.decode();
    return true;
  } catch {
    return false;
  }
}
