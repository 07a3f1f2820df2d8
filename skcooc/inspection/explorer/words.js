// Documents, with their words coloured by topic.

const MENTIONED = 6; // topics of a document that are coloured

// The topics of a document that are coloured: that in focus first, then those with large shares.
function coloured(document_, focus) {
  const order = document_.mixture.map(([k]) => k).filter((k) => k !== focus);
  if (focus !== null && document_.topics.includes(focus)) order.unshift(focus);
  return order.slice(0, MENTIONED);
}

function parts(document_, shown) {
  return document_.parts.map((part, place) => {
    if (place % 2 === 0) return part;
    const k = document_.topics[(place - 1) / 2];
    return shown.includes(k) ? el("mark", { class: `k${k}`, title: nameOf(k) }, part) : part;
  });
}

const swatch = (k) => el("span", { class: `swatch k${k}`, "aria-hidden": "true" });

function legend(document_, shown) {
  const shares = new Map(document_.mixture);
  return el("ul", { class: "legend", "aria-label": `${capital(nouns)} in it` },
    shown.map((k) => el("li", {}, swatch(k), toTopic(k), shares.has(k) ? ` ${percent(shares.get(k))}` : null)));
}

function about(number) {
  const document_ = data.documents[number];
  const facts = [];
  for (const kind of ["groups", "times"]) {
    const of = data[kind] ? data[kind].of[number] : -1;
    if (of >= 0) facts.push(data[kind].labels[of]);
  }
  facts.push(plural(document_.size, unit));
  if (document_.perplexity !== null) facts.push(`perplexity ${small(document_.perplexity)}`);
  return facts.join(" · ");
}

function article(number, focus = null) {
  const document_ = data.documents[number];
  const shown = coloured(document_, focus);
  return el("article", { class: "document" },
    el("h4", {}, document_.name), el("p", { class: "quiet" }, about(number)),
    legend(document_, shown), el("p", { class: "text" }, parts(document_, shown)));
}

const articles = (numbers, focus = null) =>
  el("div", { class: "articles" }, paged(numbers, { first: 10, more: 10, within: "div" }, (number) => article(number, focus)));
