// Where a picture lies inside its pane. `view` is {scale, cx, cy}: scale 1 shows the whole picture, cx and cy are the
// point in the middle of the pane as shares of the picture, so that pictures of different sizes move together.

export const WHOLE = Object.freeze({ scale: 1, cx: 0.5, cy: 0.5 });
const MOST_SCREEN_PIXELS = 32;

/** Screen pixels for each picture pixel when the whole picture is shown: never more than one. */
export function fitOf(pane, picture) {
  return Math.min(pane.width / picture.width, pane.height / picture.height, 1) || 1;
}

/** The scale of 100 %: one picture pixel is one pixel of the page, as browsers count them. */
export function pixelScale(pane, picture) {
  return 1 / fitOf(pane, picture);
}

export function limited(view, pane, picture) {
  const fit = fitOf(pane, picture);
  const scale = Math.min(Math.max(view.scale, 1), Math.max(MOST_SCREEN_PIXELS / fit, 1));
  return { scale, cx: centred(view.cx, pane.width, picture.width * fit * scale), cy: centred(view.cy, pane.height, picture.height * fit * scale) };
}

function centred(at, room, length) {
  if (length <= room) return 0.5;
  const half = room / 2 / length;
  return Math.min(Math.max(at, half), 1 - half);
}

/** The offset and magnification of the picture in the pane. */
export function placement(view, pane, picture) {
  const zoom = fitOf(pane, picture) * view.scale;
  return { zoom, x: pane.width / 2 - view.cx * picture.width * zoom, y: pane.height / 2 - view.cy * picture.height * zoom };
}

/** The picture's pixel under a point of the pane. */
export function pixelAt(point, view, pane, picture) {
  const { zoom, x, y } = placement(limited(view, pane, picture), pane, picture);
  return { x: (point.x - x) / zoom, y: (point.y - y) / zoom };
}

/** Zooms so that what is under `point` stays under it. */
export function zoomedAt(view, factor, point, pane, picture) {
  const under = pixelAt(point, view, pane, picture);
  const next = limited({ ...view, scale: view.scale * factor }, pane, picture);
  const zoom = fitOf(pane, picture) * next.scale;
  return limited(
    {
      scale: next.scale,
      cx: (under.x - (point.x - pane.width / 2) / zoom) / picture.width,
      cy: (under.y - (point.y - pane.height / 2) / zoom) / picture.height,
    },
    pane,
    picture,
  );
}

/** Moves the picture by screen pixels. */
export function moved(view, dx, dy, pane, picture) {
  const zoom = fitOf(pane, picture) * view.scale;
  return limited({ ...view, cx: view.cx - dx / (picture.width * zoom), cy: view.cy - dy / (picture.height * zoom) }, pane, picture);
}

/** The middle of a box at 100 %. */
export function pixelsOf(box, pane, picture) {
  const [x, y, width, height] = box;
  return limited({ scale: pixelScale(pane, picture), cx: (x + width / 2) / picture.width, cy: (y + height / 2) / picture.height }, pane, picture);
}

/** Whole pixels between two corners, inside the picture; null when nothing is left. */
export function boxBetween(a, b, picture) {
  const clamp = (value, most) => Math.min(Math.max(value, 0), most);
  const left = Math.round(clamp(Math.min(a.x, b.x), picture.width));
  const top = Math.round(clamp(Math.min(a.y, b.y), picture.height));
  const width = Math.round(clamp(Math.max(a.x, b.x), picture.width)) - left;
  const height = Math.round(clamp(Math.max(a.y, b.y), picture.height)) - top;
  return width >= 1 && height >= 1 ? [left, top, width, height] : null;
}
