// Up to four pictures side by side, all whole or all at 100 % around the same place of each.
const FITTING = 2048;
const WHOLE = 8192;
const CLICK_PIXELS = 4;
const panes = [];
// x and y: the place in the middle, as shares of the picture.
const view = { zoomed: false, x: 0.5, y: 0.5 };

function newPane() {
  const pane = made("figure");
  pane.className = "pane";
  const [glass, caption, mark, name, copy] = ["div", "figcaption", "span", "span", "span"].map((tag) => made(tag));
  [glass.className, mark.className, name.className, copy.className] = ["glass", "mark", "pane-name", "copy"];
  caption.append(mark, name, copy);
  pane.append(glass, caption);
  Object.assign(pane, { glass, mark, name, copy });
  listenToPointer(pane);
  panes.push(pane);
  part("panes").append(pane);
  return pane;
}

function showPanes(list, current) {
  part("panes").dataset.count = list.length;
  part("panes").toggleAttribute("data-tall", list[0].height > list[0].width);
  list.forEach((picture, number) => fillPane(panes[number] ?? newPane(), picture, picture === current));
  panes.forEach((pane, number) => { pane.hidden = number >= list.length; });
}

function fillPane(pane, picture, current) {
  pane.toggleAttribute("data-current", current);
  showDecision(pane.mark, picture);
  pane.name.textContent = picture.path;
  const file = fileOf(picture, view.zoomed ? WHOLE : FITTING);
  const key = `${picture.place} ${file}`;
  if (pane.key === key) return;
  if (pane.picture !== picture) pane.glass.replaceChildren();
  Object.assign(pane, { key, picture });
  if (!picture.opens) pane.glass.replaceChildren(made("p", t("grid.unopened")));
  const small = thumbnailOf(picture);
  // The thumbnail at once; the file as soon as it is there, if it can be shown at all.
  if (small) loadInto(pane, small, () => !pane.glass.firstChild);
  if (file) loadInto(pane, file, () => true);
}

function loadInto(pane, source, wantedStill) {
  const { key, picture } = pane;
  const image = new Image();
  Object.assign(image, { alt: picture.path, draggable: false });
  image.onload = () => {
    if (pane.key !== key || !wantedStill()) return;
    const [width, height] = [image.naturalWidth, image.naturalHeight];
    pane.style.setProperty("--width", `${width / devicePixelRatio}px`);
    pane.style.setProperty("--height", `${height / devicePixelRatio}px`);
    const whole = Math.max(picture.width, picture.height);
    pane.copy.textContent = Math.max(width, height) < whole ? t("viewer.copy", { side: Math.max(width, height), whole }) : "";
    pane.glass.replaceChildren(image);
  };
  image.src = source;
}

// Where it is sharpest, or the place of a click, comes into the middle.
function zoom(place = { x: shown.sharpest?.[0] ?? 0.5, y: shown.sharpest?.[1] ?? 0.5 }) {
  Object.assign(view, { zoomed: !view.zoomed }, place);
  showZoom();
  show(shown);
}

function showZoom() {
  part("panes").toggleAttribute("data-zoomed", view.zoomed);
  part("panes").style.setProperty("--x", view.x);
  part("panes").style.setProperty("--y", view.y);
}

// By so many pixels of the screen, in all panes.
function pan(pane, right, down) {
  const image = pane.glass.querySelector("img");
  if (!image) return;
  const within = (share, side, room) => {
    const edge = Math.min(0.5, room / 2 / side);
    return Math.min(Math.max(share, edge), 1 - edge);
  };
  view.x = within(view.x - right / image.width, image.width, pane.glass.clientWidth);
  view.y = within(view.y - down / image.height, image.height, pane.glass.clientHeight);
  showZoom();
}

function placeIn(pane, event) {
  const image = pane.glass.querySelector("img");
  if (!image) return undefined;
  const box = pane.glass.getBoundingClientRect();
  const scale = Math.min(box.width / image.naturalWidth, box.height / image.naturalHeight);
  const share = (at, middle, side) => Math.min(Math.max((at - middle) / (side * scale) + 0.5, 0), 1);
  return {
    x: share(event.clientX, box.left + box.width / 2, image.naturalWidth),
    y: share(event.clientY, box.top + box.height / 2, image.naturalHeight),
  };
}

function listenToPointer(pane) {
  let last = null;
  pane.glass.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    last = { x: event.clientX, y: event.clientY, moved: 0 };
    pane.glass.setPointerCapture(event.pointerId);
    if (pane.picture !== shown) show(pane.picture);
  });
  pane.glass.addEventListener("pointermove", (event) => {
    if (!last) return;
    const [right, down] = [event.clientX - last.x, event.clientY - last.y];
    last = { x: event.clientX, y: event.clientY, moved: last.moved + Math.abs(right) + Math.abs(down) };
    if (view.zoomed) pan(pane, right, down);
  });
  pane.glass.addEventListener("pointerup", (event) => {
    if (last && last.moved < CLICK_PIXELS) {
      zoom(placeIn(pane, event));
      pan(pane, 0, 0);
    }
    last = null;
  });
  pane.glass.addEventListener("pointercancel", () => { last = null; });
}
