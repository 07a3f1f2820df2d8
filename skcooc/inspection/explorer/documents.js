// The documents that are shown, filtered and sorted, and how well all are predicted.

const SORTS = [["", "as given"], ["worst", "predicted worst first"], ["best", "predicted best first"]];

function documentsView() {
  const list = el("div", {});
  const { picture, opened, light } = rowMap();
  const show = (first) => {
    const found = selected();
    light(new Set(found));
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
  controls.push(field(`Filter ${rowNouns}`, el("input", { id: "words", type: "search", value: state.of,
    oninput: (event) => change({ of: event.target.value }) })));
  show(true);
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, capital(rowNouns)),
    el("div", { class: "first" }, picture, el("div", {}, opened, el("div", { class: "bar" }, controls), list)));
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
  const [shown, all] = [data.documents.length, data.facts.n_rows - data.facts.n_empty];
  return shown < all ? `the ${count(shown)} on this page, a part of all ${rowCount(all)}` : rowCount(all);
}

// All rows on a map, near the topics they are of; the arrows go from one to the next.
// Also where the chosen one is opened, and what shows some rows and makes the others pale.
function rowMap() {
  const across = mapWidth();
  const height = Math.min(580, Math.max(340, across * 0.8));
  const scale = fit([...data.places, ...data.topics.map(({ at }) => at)], across, height, 24);
  const order = data.places.map((_, number) => number).sort((a, b) => main(a) - main(b) || a - b);
  const points = data.places.map((place, number) => {
    const [x, y] = scale(place);
    return svg("circle", { class: `k${main(number)}`, cx: x.toFixed(1), cy: y.toFixed(1), r: data.places.length > 500 ? 3 : 5, "data-number": number },
      svg("title", {}, data.documents[number].name));
  });
  const panel = el("div", { class: "opened" });
  const close = () => { keep({ doc: "" }); mark(null); };
  function mark(number) {
    for (const point of points) point.classList.remove("chosen");
    if (number === null) return clear(panel);
    points[number].classList.add("chosen");
    points[number].parentNode.append(points[number]); // above the others
    return clear(panel, el("button", { type: "button", onclick: close }, "Close"), article(number));
  }
  function choose(number) {
    keep({ doc: String(number) });
    mark(number);
    const { top } = panel.getBoundingClientRect();
    if (top < 0 || top > window.innerHeight - 150) panel.scrollIntoView();
    say(data.documents[number].name);
  }
  const keys = (event) => {
    if (event.key === "Escape") return close();
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Enter: 0 }[event.key];
    if (step === undefined) return null;
    event.preventDefault();
    const at = state.doc === "" ? 0 : order.indexOf(Number(state.doc)) + step;
    return choose(order[Math.max(0, Math.min(order.length - 1, at))]);
  };
  const picked = (event) => { const n = event.target.getAttribute("data-number"); if (n !== null) choose(Number(n)); };
  const chosen = Object.hasOwn(data.documents, state.doc) && /^\d+$/.test(state.doc) ? Number(state.doc) : null;
  const labels = placed(byMass.map((k) => [k, ...scale(data.topics[k].at)]), across, height, () => 0,
    () => [[0, 14], [0, -6]]);
  const picture = el("div", {}, el("p", { class: "quiet" },
    `Each point is a ${rowNoun}, in the colour of its largest ${noun} and near the ${nouns} it is made of. Choose one to read it.`),
  figure(`Map of ${rowNouns}`, svg("svg", { class: "map rows", width: across, height, viewBox: `0 0 ${across} ${height}`, tabindex: "0",
    role: "application", "aria-label": `Map of ${rowNouns}: the arrows go from one to the next, Escape closes it`, onclick: picked, onkeydown: keys },
  svg("g", {}, points), labelled(labels))));
  mark(chosen);
  const light = (found) => points.forEach((point, number) => point.classList.toggle("pale", !found.has(number)));
  return { picture, opened: panel, light };
}

const main = (number) => data.documents[number].mixture[0]?.[0] ?? 0;

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
    figure(`Perplexity of ${rowNouns}`, svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }, bars, ticks)));
}
