// What is looked at, and the names that were given: all of it in the address, so that it lasts.

const PLAIN = {
  view: "topics", topic: "", q: "", of: "", group: "", time: "", sort: "", t: "0.4", against: "all", block: "", doc: "",
};
const state = { ...PLAIN, names: {} };
const addressed = location.protocol !== "about:"; // a frame in a notebook has no address

function written(values) {
  const parts = new URLSearchParams();
  for (const key of Object.keys(PLAIN)) {
    if (values[key] !== PLAIN[key]) parts.set(key, values[key]);
  }
  for (const [k, name] of Object.entries(values.names)) parts.set(`name.${k}`, name);
  return `#${parts}`;
}

function readAddress() {
  if (!addressed) return;
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const key of Object.keys(PLAIN)) state[key] = parts.get(key) ?? PLAIN[key];
  if (!Object.hasOwn(data.topics, state.topic) || !/^\d+$/.test(state.topic)) state.topic = "";
  if (state.view !== "search" && !Object.hasOwn(VIEWS, state.view)) state.view = PLAIN.view;
  state.names = {};
  for (const [key, name] of parts) {
    const k = key.startsWith("name.") ? key.slice(5) : "";
    if (/^\d+$/.test(k) && Object.hasOwn(data.topics, k)) state.names[k] = name;
  }
}

// Keep a change in the address without a new entry in the history, and draw nothing.
function keep(change) {
  Object.assign(state, change);
  if (addressed) history.replaceState(null, "", written(state));
}

function go(change) {
  const before = written(state);
  Object.assign(state, change);
  if (addressed && written(state) !== before) history.pushState(null, "", written(state));
  draw({ moved: "view" in change || "topic" in change || "block" in change });
}

// A link to another place, which works without a mouse, and in a frame without an address.
function link(change, attributes, ...children) {
  const follow = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(change);
  };
  return el("a", { href: written({ ...state, ...change }), onclick: follow, ...attributes }, ...children);
}

const nameOf = (k) => state.names[k] ?? data.topics[k].name;
const noun = data.facts.kind;
const nouns = `${noun}s`;
const unit = data.facts.texts ? "token" : "co-occurrence";
const units = `${unit}s`;
const rowNoun = data.facts.texts ? "document" : "row";
const feature = data.facts.texts ? "word" : "feature";
const [rowNouns, columnNouns] = data.facts.sides ?? [`${rowNoun}s`, `${feature}s`];
// What sides are called is in the plural: of one there is no word.
const rowCount = (n) => plural(n, data.facts.sides ? `of the ${rowNouns}` : rowNoun, rowNouns);
const columnNoun = data.facts.sides ? columnNouns : feature; // above a table
const columnCount = (n) => plural(n, data.facts.sides ? `of the ${columnNouns}` : feature, columnNouns);
const lower = (text) => text[0].toLowerCase() + text.slice(1);
const capital = (word) => word[0].toUpperCase() + word.slice(1);
const byMass = data.topics.map((_, k) => k).sort((a, b) => data.topics[b].weight - data.topics[a].weight);
const toTopic = (k, attributes = {}) => link({ view: "topics", topic: String(k) }, attributes, nameOf(k));

function rename(k, name) {
  const names = { ...state.names };
  const trimmed = name.trim();
  if (trimmed && trimmed !== data.topics[k].name) names[k] = trimmed;
  else delete names[k];
  go({ names });
  say(`${capital(noun)} ${k} is called ${nameOf(k)}`);
}

function exportNames() {
  const names = Object.fromEntries(data.topics.map((_, k) => [k, nameOf(k)]));
  save("names", "json", "application/json", JSON.stringify(names, null, 2));
}
