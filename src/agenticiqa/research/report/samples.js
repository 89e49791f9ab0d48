// The table of all samples: sorts, filters, and draws the rows that are in view. Nothing is loaded.
"use strict";

(() => {
  const holder = document.getElementById("rows");
  const table = document.getElementById("samples");
  if (!holder || !table) return;

  const HEIGHT = 53, SPARE = 8, PRINTED = 1000;
  const words = new Intl.Collator(undefined, { numeric: true });
  const STATUS = 2, NUMBERS = new Set([3, 4]);
  const all = JSON.parse(holder.textContent);
  const texts = all.map((row) => row.slice(1).join(" ").toLowerCase());
  const view = document.getElementById("window");
  const filter = document.getElementById("filter");
  const status = document.getElementById("status");
  const told = document.getElementById("shown");
  const body = table.tBodies[0];
  const columns = [...table.tHead.rows[0].cells].map((header) => Number(header.dataset.column));
  let order = all.map((_, place) => place), shown = order, printing = false;

  function compare(a, b) {
    const missing = (a === null || a === "") - (b === null || b === "");
    if (missing) return missing;
    return typeof a === "number" && typeof b === "number" ? a - b : words.compare(String(a), String(b));
  }

  function sortBy(header, column) {
    const falling = header.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const sign = falling ? -1 : 1;
    // What is missing stays last, whichever way it is sorted.
    const empty = (value) => value === null || value === "";
    order = [...order].sort((i, j) => {
      const a = all[i][column], b = all[j][column];
      return empty(a) || empty(b) ? compare(a, b) : sign * compare(a, b);
    });
    choose();
  }

  function choose() {
    const wanted = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = order.filter((place) => (!status.value || all[place][STATUS] === status.value) && wanted.every((word) => texts[place].includes(word)));
    told.textContent = `${shown.length.toLocaleString("en")} of ${all.length.toLocaleString("en")} shown`;
    view.scrollTop = 0;
    draw();
  }

  function drawnRow(place, number) {
    const row = document.createElement("tr");
    row.className = all[place][STATUS];
    row.setAttribute("aria-rowindex", String(number + 2));
    for (const column of columns) {
      const value = all[place][column], cell = row.insertCell();
      if (column === 0) {
        if (!value) continue;
        const picture = new Image();
        picture.src = value;
        picture.alt = "";
        cell.append(picture);
      } else if (NUMBERS.has(column)) {
        cell.textContent = value === null ? "" : value.toPrecision(3);
      } else {
        cell.textContent = value === null ? "" : value;
        cell.title = cell.textContent;
      }
    }
    return row;
  }

  function space(rows) {
    const row = document.createElement("tr");
    row.className = "space";
    row.insertCell().colSpan = columns.length;
    row.style.setProperty("--height", `${rows * HEIGHT}px`);
    row.hidden = rows === 0;
    return row;
  }

  function draw() {
    const first = printing ? 0 : Math.max(0, Math.floor(view.scrollTop / HEIGHT) - SPARE);
    const room = printing ? PRINTED : Math.ceil(view.clientHeight / HEIGHT) + 2 * SPARE;
    const drawn = shown.slice(first, first + room);
    const below = printing ? 0 : shown.length - first - drawn.length;
    body.replaceChildren(space(first), ...drawn.map((place, number) => drawnRow(place, first + number)), space(below));
    table.setAttribute("aria-rowcount", String(shown.length + 1));
  }

  for (const header of table.tHead.rows[0].cells) {
    header.querySelector("button")?.addEventListener("click", () => sortBy(header, Number(header.dataset.column)));
  }
  let asked = false;
  view.addEventListener("scroll", () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; draw(); });
  }, { passive: true });
  filter.addEventListener("input", choose);
  status.addEventListener("change", choose);
  addEventListener("beforeprint", () => { printing = true; draw(); });
  addEventListener("afterprint", () => { printing = false; draw(); });
  choose();
})();
