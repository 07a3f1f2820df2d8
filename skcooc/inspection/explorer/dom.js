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

// Of a heading with a class, such as "number", both are given, and perhaps what it means.
const table = (caption, head, rows) =>
  el("table", {}, el("caption", { class: "unseen" }, caption),
    el("thead", {}, el("tr", {}, head.map((cell) => {
      const [text, kind, meaning] = [cell].flat();
      return el(text ? "th" : "td", { scope: text ? "col" : null, class: kind, title: meaning }, text);
    }))),
    el("tbody", {}, rows));

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
