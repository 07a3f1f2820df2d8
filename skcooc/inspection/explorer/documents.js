// The documents that are shown, filtered and sorted, and how well all are predicted.

const SORTS = [["", "in their order"], ["worst", "predicted worst first"], ["best", "predicted best first"]];

function documentsView() {
  const list = el("div", {});
  const show = (first) => {
    const found = selected();
    clear(list, el("p", { class: "quiet", id: "found" }, `${count(found.length)} of ${here()}`),
      articles(found, state.topic === "" ? null : Number(state.topic)));
    if (!first) say(rowCount(found.length));
  };
  const change = (what) => { keep(what); show(false); };
  const options = [["", `any ${noun}`], ...byMass.map((k) => [String(k), nameOf(k)])];
  const controls = [field(capital(noun), choice("of-topic", options, state.topic, (topic) => change({ topic }))),
    field("Order", choice("order", SORTS, state.sort, (sort) => change({ sort })))];
  for (const [kind, word] of [["groups", "group"], ["times", "time"]]) {
    if (!data[kind]) continue;
    const labels = [["", `any ${word}`], ...data[kind].labels.map((label, g) => [String(g), label])];
    controls.push(field(capital(data[kind].name ?? word), choice(`of-${word}`, labels, state[word], (g) => change({ [word]: g }))));
  }
  controls.push(field("Filter", el("input", { id: "words", type: "search", value: state.of,
    oninput: (event) => change({ of: event.target.value }) })));
  show(true);
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, capital(rowNouns)), errors(),
    el("div", { class: "bar" }, controls), list);
}

function selected() {
  const wanted = state.of.toLowerCase();
  const error = (number) => data.documents[number].perplexity;
  const found = data.documents.map((_, number) => number).filter((number) =>
    (state.topic === "" || data.documents[number].mixture.some(([k, share]) => k === Number(state.topic) && share >= 0.1)) &&
    within("groups", state.group, number) && within("times", state.time, number) &&
    (!wanted || holds(number, wanted)));
  if (state.sort === "") return found;
  const sign = state.sort === "worst" ? -1 : 1;
  return found.filter((number) => error(number) !== null).sort((a, b) => sign * (error(a) - error(b)));
}

const within = (kind, chosen, number) => chosen === "" || (data[kind] && data[kind].of[number] === Number(chosen));

// How many can be looked at, and of how many.
function here() {
  const [shown, all] = [data.documents.length, data.facts.n_rows];
  return shown < all ? `the ${count(shown)} on this page, a part of all ${rowCount(all)}` : rowCount(all);
}

const texts = new Map();
function holds(number, wanted) {
  if (!texts.has(number)) {
    const { name, parts: pieces } = data.documents[number];
    texts.set(number, `${name}\n${pieces.join("")}`.toLowerCase());
  }
  return texts.get(number).includes(wanted);
}

function errors() {
  if (!data.errors) return null;
  const { edges, counts } = data.errors;
  const [width, height, bottom] = [Math.min(560, room()), 130, 24];
  const most = Math.max(...counts);
  const step = (width - 20) / counts.length;
  const bars = counts.map((n, i) => svg("rect", { x: 10 + i * step, width: step - 1,
    y: 6 + (height - bottom - 6) * (1 - n / most), height: ((height - bottom - 6) * n) / most },
  svg("title", {}, `${small(edges[i])} to ${small(edges[i + 1])}: ${rowCount(n)}`)));
  const ticks = [0, 8, 16, 24].map((i) => svg("text", { x: 10 + i * step, y: height - 6,
    "text-anchor": i === 0 ? "start" : i === 24 ? "end" : "middle" }, small(edges[i])));
  const { held_out, median } = data.facts;
  const where = held_out ? "held out: half of each is folded in, and the other half is scored"
    : `in sample: on the ${units} that were fitted or folded in, so that it is lower than on new ones`;
  const said = `Perplexity of ${rowCount(data.facts.n_rows)}, from ${small(edges[0])} to ${small(edges.at(-1))}`;
  return el("div", { class: "errors" },
    el("p", {}, `Perplexity of ${rowNouns}, one by one, ${where}. The median is ${small(median)}. ` +
      `The smaller, the better predicted: 100 is as if each ${unit} were one of 100 equally likely ${columnNouns}.`),
    svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }, bars, ticks));
}
