// Makes elements. Text goes in as text only: nothing in this page turns a string into markup.


const SVG = "http://www.w3.org/2000/svg";

/** An element with attributes and children; `on…` attributes are listeners, `class` is its class list. */
export function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [property, one] of Object.entries(value)) node.style.setProperty(property, one);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const byId = (id) => document.getElementById(id);

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter(Boolean));
}

/** A table of plain text with a caption for screen readers. */
export function table(caption, head, rows) {
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": caption },
    el(
      "table",
      // On a phone a wide table becomes a list; its roles say that it is a table all the same.
      { class: head.length > 4 ? "wide" : "", role: "table" },
      el("caption", { class: "unseen" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, head.map((text) => el("th", { scope: "col", role: "columnheader" }, text)))),
      el("tbody", { role: "rowgroup" }, rows.map((cells) => el("tr", { role: "row" }, cells.map((cell, at) => el("td", { role: "cell", "data-label": head[at] }, cell ?? ""))))),
    ),
  );
}

let lastNumber = 0;

/** An id that nothing else in the page has. */
export function freshId(prefix) {
  lastNumber += 1;
  return `${prefix}-${lastNumber}`;
}

/** A number with so many digits behind the point. */
export function fixed(value, digits = 2) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "–";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function percent(share, digits = 0) {
  return typeof share === "number" && Number.isFinite(share) ? `${fixed(100 * share, digits)} %` : "–";
}

export function megabytes(bytes) {
  const [amount, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : [bytes / 1024 / 1024, "MB"];
  return `${fixed(amount, amount < 10 ? 1 : 0)} ${unit}`;
}

export function seconds(value) {
  if (typeof value !== "number") return "";
  return `${fixed(value, value < 10 ? 1 : 0)} s`;
}
