// Sorts and filters the table of samples. Works on what the page already holds; nothing is loaded.
"use strict";

const table = document.getElementById("samples");
const filter = document.getElementById("filter");
const status = document.getElementById("status");
const shown = document.getElementById("shown");

function cellValue(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent;
}

function compare(a, b) {
  const x = Number.parseFloat(a);
  const y = Number.parseFloat(b);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  if (a === "") return 1;
  if (b === "") return -1;
  return a.localeCompare(b);
}

function sortBy(header, column) {
  const falling = header.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", falling ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows];
  rows.sort((a, b) => compare(cellValue(a, column), cellValue(b, column)) * (falling ? -1 : 1));
  table.tBodies[0].append(...rows);
}

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    const fits = words.every((word) => text.includes(word)) && (!status.value || row.dataset.status === status.value);
    row.hidden = !fits;
    if (fits) count += 1;
  }
  shown.textContent = `${count} shown`;
}

if (table) {
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    header.querySelector("button").addEventListener("click", () => sortBy(header, column));
  });
  filter.addEventListener("input", applyFilter);
  status.addEventListener("change", applyFilter);
  applyFilter();
}
