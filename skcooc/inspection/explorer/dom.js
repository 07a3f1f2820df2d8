// Elements without HTML: whatever a user has named is set as text or as an attribute.
"use strict";

const data = JSON.parse(document.getElementById("payload").textContent);
const byId = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "open") element[name] = value;
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const el = (tag, attributes = {}, ...children) =>
  fill(document.createElement(tag), attributes, children);

const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const clear = (element, ...children) => {
  element.replaceChildren(...children.flat().filter((child) => child !== null));
  return element;
};

// What a screen reader is told of a change that is not at the focus.
const say = (text) => { byId("said").textContent = text; };

const count = (n) => n.toLocaleString("en", { maximumFractionDigits: 2 });
const plural = (n, noun, many = `${noun}s`) => `${count(n)} ${n === 1 ? noun : many}`;

function percent(share) {
  const value = 100 * share;
  if (value === 0) return "0\u00a0%";
  return `${value >= 9.95 ? value.toFixed(0) : value >= 0.095 ? value.toFixed(1) : value.toPrecision(1)}\u00a0%`;
}

function small(value) {
  if (value === 0) return "0";
  if (!isFinite(value)) return "∞";
  return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(3)));
}

// A name that may go on in another line after a slash, a hyphen, a low line, or a dot in a word.
const breakable = (name) => name.replace(/[/_-](?=.)|\.(?=\p{L})/gu, "$&\u200b");

const field = (label, control) => el("label", { class: "field" }, el("span", {}, label), control);

function choice(id, options, value, change) {
  const select = el("select", { id, onchange: (event) => change(event.target.value) });
  for (const [key, label] of options) {
    select.append(el("option", { value: key }, label));
  }
  select.value = value;
  return select;
}

// A cell with a number as it is read, which is saved with all its digits.
const numberCell = (value, text, kind = "") => el("td", { class: `number ${kind}`, "data-value": value }, text);

// A table that can be saved: with the values of its cells, or with other records, a line each. Of a
// heading with a class, such as "number", both are given, and perhaps what it means.
function table(caption, head, rows, { kind = null, records = null } = {}) {
  const grid = el("table", { class: kind }, el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, head.map((cell) => {
      const [text, of, meaning] = [cell].flat();
      return el(text ? "th" : "td", { scope: text ? "col" : null, class: of, title: meaning }, text);
    }))),
    el("tbody", {}, rows));
  return el("div", {}, grid, csvButton(caption, records ?? (() => recordsOf(grid))));
}

// The cells of a table but those of its columns without a heading, which are bars.
function recordsOf(grid) {
  const headings = [...grid.tHead.rows[0].cells].map((cell) => cell.textContent);
  const value = (cell) => cell.dataset.value ?? cell.textContent.replaceAll("\u200b", "").trim();
  const lines = [...grid.tBodies[0].rows].map((row) => [...row.cells].map(value));
  return [headings, ...lines].map((line) => line.filter((_, column) => headings[column]));
}

const quoted = (value) => {
  const text = String(value ?? "");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

const csvButton = (caption, records) => saveButton("Table (CSV)", caption, "csv", "text/csv",
  () => `${records().map((line) => line.map(quoted).join(",")).join("\n")}\n`);

// A figure that can be saved as it is seen.
const figure = (caption, picture) => el("div", { class: "figure" }, picture,
  saveButton("Figure (SVG)", caption, "svg", "image/svg+xml", () => standalone(picture)));

const saveButton = (label, caption, ending, type, content) => el("div", { class: "save" },
  el("button", { type: "button", "aria-label": `${label}: ${caption}`,
    onclick: () => save(`${data.title} ${caption}`, ending, type, content()) }, label));

function save(title, ending, type, content) {
  const name = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 80);
  const url = URL.createObjectURL(new Blob([content], { type }));
  el("a", { href: url, download: `${name}.${ending}` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const DRAWN = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin",
  "paint-order", "font-family", "font-size", "text-anchor"];
const OF_THE_PAGE = ["class", "href", "id", "tabindex", "data-number", "data-at"];

// A picture without the page: its styles are attributes, and it has the background of the page.
function standalone(picture) {
  const copy = picture.cloneNode(true);
  const nodes = (root) => [root, ...root.querySelectorAll("*")];
  const originals = nodes(picture);
  nodes(copy).forEach((node, i) => {
    for (const name of OF_THE_PAGE) node.removeAttribute(name);
    if (!node.matches("rect, circle, line, path, text")) return;
    const style = getComputedStyle(originals[i]);
    for (const name of DRAWN) node.setAttribute(name, style.getPropertyValue(name));
  });
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor }));
  return new XMLSerializer().serializeToString(copy);
}

// What is made of items: the first ones, and more on demand.
function paged(items, { first, more, within }, make) {
  const list = el(within);
  let shown = 0;
  const button = el("button", { type: "button", onclick: () => add(more) });
  function add(n) {
    const next = items.slice(shown, shown + n).map(make);
    const asked = shown > 0;
    list.append(...next);
    shown += next.length;
    button.textContent = `Show more (${count(items.length - shown)} left)`;
    button.hidden = shown >= items.length;
    if (asked && next.length) { next[0].tabIndex = -1; next[0].focus(); }
  }
  add(first);
  return [list, button];
}
