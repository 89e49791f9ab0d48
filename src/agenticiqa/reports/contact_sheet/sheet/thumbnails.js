// Small pictures: in blocks of text at the end of the page, or as files in a folder beside it.
const KEPT_BLOCKS = 24;
const blocks = new Map();

function blockOf(number) {
  let lines = blocks.get(number);
  if (!lines) {
    const element = document.getElementById(`thumbnails-${number}`);
    if (!element) return null; // the page is still being read
    lines = element.textContent.split("\n");
    if (blocks.size >= KEPT_BLOCKS) blocks.delete(blocks.keys().next().value);
    blocks.set(number, lines);
  }
  return lines;
}

// An address for an image element; null while it is not there yet, "" where there is none.
function thumbnailOf(picture) {
  if (!picture.opens) return "";
  if (about.thumbnails) return `${encodeURIComponent(about.thumbnails)}/${Math.floor(picture.place / 1000)}/${picture.place}.jpg`;
  const lines = blockOf(Math.floor(picture.place / about.block));
  return lines && `data:image/jpeg;base64,${lines[picture.place % about.block]}`;
}

const urlPath = (path) => path.split("/").map(encodeURIComponent).join("/");
const filled = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name]));

// The picture in full, where it can be had from here; a server may make it smaller, down to the side that is needed.
function fileOf(picture, side) {
  if (!picture.opens) return null;
  if (about.links) return about.links.picture && filled(about.links.picture, { ...picture, side });
  if (about.base == null || picture.path.startsWith("/") || picture.path.includes("://")) return null;
  return `${urlPath(about.base)}/${urlPath(picture.path)}`;
}
