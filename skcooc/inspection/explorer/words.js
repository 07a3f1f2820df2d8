// Documents, with their words coloured by topic.

const COLOURS = 6;

// The colours of the topics of a document: that in focus first, then those with large shares.
function colours(document_, focus) {
  const order = document_.mixture.map(([k]) => k).filter((k) => k !== focus);
  if (focus !== null && document_.topics.includes(focus)) order.unshift(focus);
  return new Map(order.slice(0, COLOURS).map((k, place) => [k, place]));
}

function parts(document_, colour) {
  return document_.parts.map((part, place) => {
    if (place % 2 === 0) return part;
    const k = document_.topics[(place - 1) / 2];
    if (!colour.has(k)) return part;
    return el("mark", { class: `w${colour.get(k)}`, title: nameOf(k) }, part);
  });
}

function legend(document_, colour) {
  const shares = new Map(document_.mixture);
  return el("ul", { class: "legend", "aria-label": `${capital(nouns)} in it` },
    [...colour].map(([k, place]) => el("li", {},
      el("span", { class: `swatch w${place}`, "aria-hidden": "true" }), toTopic(k),
      shares.has(k) ? ` ${percent(shares.get(k))}` : null)));
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
  const colour = colours(document_, focus);
  return el("article", { class: "document" },
    el("h4", {}, document_.name), el("p", { class: "quiet" }, about(number)),
    legend(document_, colour), el("p", { class: "text" }, parts(document_, colour)));
}

const articles = (numbers, focus = null) =>
  el("div", { class: "articles" }, paged(numbers, { first: 10, more: 10, within: "div" }, (number) => article(number, focus)));
