// Only what is on the screen is in the document: tiles are moved and filled anew while one scrolls.
const GAP = 10;
const CAPTION = 50;
const ROWS_AROUND = 1;
const FRAME_MS = 2.5;
const stage = document.getElementById("stage");
const LEAST_TILE = 110;
const grid = { list: [], columns: 1, width: 0, height: 0, current: -1, tiles: new Map(), spare: [], due: false, wait: 0 };

function newTile() {
  const tile = document.createElement("div");
  tile.className = "tile";
  tile.setAttribute("role", "listitem");
  const frame = document.createElement("button");
  frame.type = "button";
  frame.className = "frame";
  const image = document.createElement("img");
  image.decoding = "async";
  image.alt = "";
  const unopened = document.createElement("span");
  unopened.className = "unopened";
  unopened.textContent = t("grid.unopened");
  frame.append(image, unopened);
  const caption = document.createElement("div");
  caption.className = "caption";
  const name = document.createElement("div");
  name.className = "name";
  const what = document.createElement("div");
  what.className = "what";
  caption.append(name, what);
  const box = document.createElement("input");
  box.type = "checkbox";
  const mark = document.createElement("span");
  mark.className = "mark";
  tile.append(frame, caption, box, mark);
  frame.addEventListener("click", () => openViewer(grid.list[tile.index]));
  box.addEventListener("click", (event) => toggle(tile.index, event.shiftKey));
  return Object.assign(tile, { frame, image, unopened, name, what, box, mark });
}

function describe(picture) {
  return picture.names.length ? picture.names.map(finding).join(", ") : t("grid.fine");
}

function fill(tile, index) {
  const picture = grid.list[index];
  tile.index = index;
  const label = picture.path.slice(picture.path.lastIndexOf("/") + 1);
  tile.name.textContent = label;
  tile.name.title = picture.path;
  tile.what.replaceChildren();
  if (picture.score != null) {
    const level = document.createElement("span");
    level.className = "level";
    level.dataset.level = picture.level;
    level.textContent = `${picture.level} ${inDigits(picture.score, 1)}`;
    tile.what.append(level, " · ");
  }
  tile.what.append(describe(picture));
  tile.box.setAttribute("aria-label", t("grid.select", { name: label }));
  tile.unopened.hidden = picture.opens;
  tile.image.hidden = !picture.opens;
  showThumbnail(tile, picture);
  showMarks(tile, picture);
}

function showThumbnail(tile, picture) {
  const source = thumbnailOf(picture);
  if (source === null) {
    tile.image.removeAttribute("src");
    tile.waiting = true;
    clearTimeout(grid.wait);
    grid.wait = setTimeout(fillWaiting, 120);
    return;
  }
  tile.waiting = false;
  if (source) tile.image.src = source;
  else tile.image.removeAttribute("src");
}

function fillWaiting() {
  for (const tile of grid.tiles.values()) if (tile.waiting) showThumbnail(tile, grid.list[tile.index]);
}

function showMarks(tile, picture) {
  tile.toggleAttribute("data-current", tile.index === grid.current);
  tile.toggleAttribute("data-selected", selected.has(picture.place));
  showDecision(tile.mark, picture);
  const state = picture.opens ? "" : `${t("grid.unopened")}, `;
  tile.frame.setAttribute("aria-label", `${tile.name.textContent}: ${decisionInWords(picture)}, ${state}${describe(picture)}`);
  tile.box.checked = selected.has(picture.place);
}

function refreshMarks() {
  for (const tile of grid.tiles.values()) showMarks(tile, grid.list[tile.index]);
}

function measure() {
  const room = stage.clientWidth;
  const { valueAsNumber: asked, defaultValue } = document.getElementById("size");
  // On a phone two stand beside each other, unless larger ones are asked for.
  const half = Math.floor((room - GAP) / 2);
  const wish = asked > Number(defaultValue) || half < LEAST_TILE ? asked : Math.min(asked, half);
  grid.columns = Math.max(1, Math.floor((room + GAP) / (Math.min(wish, room) + GAP)));
  grid.width = Math.floor((room + GAP) / grid.columns) - GAP;
  grid.height = Math.round(grid.width * 0.78) + CAPTION;
  stage.style.setProperty("--tile-width", `${grid.width}px`);
  stage.style.setProperty("--tile-height", `${grid.height}px`);
  stage.style.height = `${Math.ceil(grid.list.length / grid.columns) * (grid.height + GAP)}px`;
}

function visibleRange() {
  const top = window.scrollY - stage.offsetTop;
  const step = grid.height + GAP;
  const first = Math.max(0, Math.floor(top / step) - ROWS_AROUND);
  const last = Math.ceil((top + window.innerHeight) / step) + ROWS_AROUND;
  return [first * grid.columns, Math.min(grid.list.length, Math.max(0, last) * grid.columns)];
}

function draw() {
  grid.due = false;
  const [first, last] = visibleRange();
  for (const [index, tile] of grid.tiles) {
    if (index < first || index >= last) {
      grid.tiles.delete(index);
      grid.spare.push(tile);
    }
  }
  const until = performance.now() + FRAME_MS;
  for (let index = first; index < last; index += 1) {
    if (grid.tiles.has(index)) continue;
    if (performance.now() > until) {
      // The rest with the next frame: scrolling goes on meanwhile.
      drawSoon();
      break;
    }
    const tile = grid.spare.pop() ?? stage.appendChild(newTile());
    tile.hidden = false;
    tile.style.transform = `translate(${(index % grid.columns) * (grid.width + GAP)}px, ${Math.floor(index / grid.columns) * (grid.height + GAP)}px)`;
    fill(tile, index);
    grid.tiles.set(index, tile);
  }
  for (const tile of grid.spare) tile.hidden = true;
}

function drawSoon() {
  if (grid.due) return;
  grid.due = true;
  requestAnimationFrame(draw);
}

function redraw() {
  for (const tile of grid.tiles.values()) grid.spare.push(tile);
  grid.tiles.clear();
  measure();
  draw();
}

function showList(list) {
  grid.list = list;
  grid.current = -1;
  redraw();
}

let lastToggled = -1;
function toggle(index, range) {
  const on = !selected.has(grid.list[index].place);
  const from = range && lastToggled >= 0 ? Math.min(lastToggled, index) : index;
  const to = range && lastToggled >= 0 ? Math.max(lastToggled, index) : index;
  for (let each = from; each <= to; each += 1) {
    if (on) selected.add(grid.list[each].place);
    else selected.delete(grid.list[each].place);
  }
  lastToggled = index;
  selectionChanged();
}

function moveTo(index) {
  if (!grid.list.length) return;
  grid.current = Math.min(Math.max(index, 0), grid.list.length - 1);
  const row = Math.floor(grid.current / grid.columns);
  const top = stage.offsetTop + stage.parentElement.offsetTop + row * (grid.height + GAP);
  const head = document.querySelector(".top");
  const covered = getComputedStyle(head).position === "sticky" ? head.offsetHeight : 0;
  const room = window.innerHeight - document.getElementById("picked").offsetHeight;
  if (top < window.scrollY + covered) window.scrollTo(0, top - covered - GAP);
  else if (top + grid.height > window.scrollY + room) window.scrollTo(0, top + grid.height + GAP - room);
  draw();
  refreshMarks();
  focusCurrent();
}

// Its tile may come some frames later than the move.
function focusCurrent(frames = 20) {
  const tile = grid.tiles.get(grid.current);
  if (tile) tile.frame.focus({ preventScroll: true });
  else if (frames) requestAnimationFrame(() => focusCurrent(frames - 1));
}
