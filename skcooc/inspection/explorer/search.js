// Names, features and documents that hold some letters.

function searchView() {
  const wanted = state.q.trim().toLowerCase();
  if (!wanted) return el("p", { class: "quiet" }, "Type something to search for.");
  const named = byMass.filter((k) => nameOf(k).toLowerCase().includes(wanted));
  const found = foundFeatures(wanted);
  const documents = data.documents.map((_, number) => number).filter((number) => holds(number, wanted));
  say(`${plural(named.length, noun)}, ${columnCount(found.length)}, ${rowCount(documents.length)}`);
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, `Search: ${state.q.trim()}`),
    el("section", {}, el("h3", {}, plural(named.length, noun)), el("ul", { class: "legend" }, named.slice(0, 30).map((k) => el("li", {}, swatch(k), toTopic(k))))),
    el("section", {}, el("h3", {}, columnCount(found.length)), featuresFound(found)),
    data.blocks ? membersFound(wanted) : null,
    el("section", {}, el("h3", {}, `${count(documents.length)} of ${here()}`), articles(documents)));
}

// Those equal to what is wanted first, then those that begin with it, then by frequency.
function foundFeatures(wanted) {
  return data.features.filter(([name]) => name.toLowerCase().includes(wanted))
    .map((feature) => [rank(feature[0], wanted), feature])
    .sort((a, b) => a[0] - b[0] || b[1][1] - a[1][1]).map(([, feature]) => feature);
}

function featuresFound(found) {
  if (!found.length) return null;
  const rows = found.slice(0, 30).map(([name, share, topics]) => el("tr", {},
    el("th", { scope: "row" }, name), numberCell(share, percent(share)),
    el("td", {}, topics.length ? el("ul", { class: "legend" }, topics.map(([k, posterior]) =>
      el("li", {}, swatch(k), toTopic(k), ` ${percent(posterior)}`))) : `spread over many ${nouns}`)));
  const note = found.length > 30 ? el("p", { class: "quiet" }, `The first 30 of ${count(found.length)}.`) : null;
  return [table(capital(columnNouns), [columnNoun, ["share", "number"], `its ${units} by ${noun}`], rows), note].filter(Boolean);
}
