// The list of topics, and one of them.

function topicsView() {
  if (state.topic === "") return opening();
  const chosen = Number(state.topic);
  return el("div", { class: "panes one" },
    el("section", { class: "list", "aria-label": `All ${nouns}` }, listOfTopics(chosen)),
    el("section", { class: "detail k" + chosen, "aria-live": "off" }, topic(chosen)));
}

function listOfTopics(chosen) {
  const list = el("ol", { class: "topics" });
  const show = () => {
    const found = byMass.filter((k) => matches(k, state.of));
    clear(list, found.map((k) => el("li", {}, link({ topic: String(k) },
      { id: `topic-${k}`, "aria-current": k === chosen ? "true" : null },
      el("span", { class: "name" }, nameOf(k)), el("span", { class: "number" }, percent(data.topics[k].weight)), massOf(k)))));
    return found.length;
  };
  show();
  return [el("h2", {}, `${plural(data.topics.length, noun)} by share`), filterOf(show), list, exportButton()];
}

function matches(k, text) {
  const wanted = text.toLowerCase();
  if (!wanted) return true;
  const { features } = data.topics[k];
  return nameOf(k).toLowerCase().includes(wanted) ||
    features.slice(0, 20).some(([f]) => data.features[f][0].toLowerCase().includes(wanted));
}

function topic(k) {
  const { weight, documents, affinity, nearest, seeds } = data.topics[k];
  const place = byMass.indexOf(k);
  const step = (to, label) => byMass[to] === undefined ? null
    : link({ topic: String(byMass[to]) }, { class: "button narrow-only" }, label);
  return [
    link({ topic: "" }, { class: "button" }, `← All ${nouns}`),
    el("h2", { tabindex: "-1", id: "heading" }, swatch(k), nameOf(k)),
    el("p", { class: "quiet" }, `${percent(weight)} of all ${units}; the largest ${noun} in ${percent(documents)} of the ${rowNouns}. ` +
      `Number ${place + 1} of ${byMass.length} by share; component ${k} of the model.` +
      (affinity === undefined ? "" : ` The members of the average agree on it by ${affinity.toFixed(2)} (mean cosine).`),
      nearest ? mostSimilar(...nearest) : null),
    seeds?.length ? el("p", { class: "quiet" }, `Seeds: ${seeds.join(", ")}.`) : null,
    el("div", { class: "bar" }, step(place - 1, "← Larger"), step(place + 1, "Smaller →"),
      data.blocks ? link({ view: "blocks", block: strongest([k], data.blocks.columns).join("-") }, { class: "button" }, "Its blocks") : null),
    el("div", { class: "halves" },
      el("div", {}, el("h3", {}, capital(columnNouns)), features(k), data.groups ? byGroup(k) : null,
        data.times?.labels.length ? overTime(k) : null, naming(k)),
      el("div", {}, el("h3", {}, `Most representative ${rowNouns}`), articles(data.representative[k], k))),
  ];
}

function mostSimilar(k, distance) {
  const alike = distance < data.facts.twins && !data.tree;
  return [" Most similar: ", toTopic(k), `, at a distance of ${distance.toFixed(2)}; the largest possible one is 1.`,
    alike ? el("strong", {}, " They are nearly equal: fit again with n_init=2, or merge them.") : null];
}

function naming(k) {
  const input = el("input", { id: "name", type: "text", value: nameOf(k), maxlength: "120" });
  const submit = (event) => { event.preventDefault(); rename(k, input.value); };
  return el("form", { class: "bar", onsubmit: submit }, field("Name", input),
    el("button", { type: "submit", id: "rename" }, "Rename"),
    state.names[k] === undefined ? null
      : el("button", { type: "button", id: "reset", onclick: () => rename(k, "") }, "Reset"));
}

// Sievert and Shirley's relevance; the ratio of what is seldom in the topic says little.
function relevance([f, p, rest], weight, t) {
  if (t === 0) return Math.log(p);
  const against = state.against === "all" ? data.features[f][1] : rest;
  if (data.facts.n_tokens * weight * p < data.facts.least) return -Infinity;
  return t * Math.log(p / against) + (1 - t) * Math.log(p);
}

function ranked(k) {
  const { features: listed, weight } = data.topics[k];
  const t = Number(state.t);
  return listed.map((entry) => [relevance(entry, weight, t), entry])
    .filter(([score]) => score > -Infinity).sort((a, b) => b[0] - a[0]).slice(0, 20).map(([, entry]) => entry);
}

function features(k) {
  const body = el("div", {});
  const show = () => clear(body, featureTable(k));
  const change = (what) => { keep(what); show(); };
  const slider = el("input", { id: "slider", type: "range", min: "0", max: "1", step: "0.1", value: state.t,
    "aria-valuetext": sliderText(), oninput: (event) => {
      change({ t: String(Number(event.target.value)) });
      event.target.setAttribute("aria-valuetext", sliderText());
    } });
  const against = choice("against", [["all", `all ${units}`], ["others", `the other ${nouns}`]],
    state.against, (value) => change({ against: value }));
  show();
  return el("div", {}, el("div", { class: "bar" },
    field(`From probable to characteristic ${columnNouns}`, slider), field("Compared with", against)), body);
}

const sliderText = () => `${Math.round(100 * state.t)} % characteristic`;

const MEANINGS = {
  probability: `The share of the ${feature} in the ${units} of the ${noun}.`,
  members: "Between which the models lie that were averaged.",
  lift: `How many times as probable the ${feature} is in the ${noun} as in all ${units}: ×1 says nothing.`,
  "log-ratio": `Natural logarithm of the probability in the ${noun} over that in the other ${nouns}: 0 is as much, 0.69 twice as much.`,
  "also in": `Other ${nouns} that its ${units} are of, with their part.`,
};

function featureTable(k) {
  const shown = ranked(k);
  const most = Math.max(...shown.map(([, p]) => p), 1e-12);
  const members = shown.some((entry) => entry.length > 3);
  const { seeds = [] } = data.topics[k];
  const lifted = state.against === "all";
  const rows = shown.map(([f, p, rest, low, high]) => {
    const [name, share, topics] = data.features[f];
    const mass = el("i", { class: "mass" });
    mass.style.width = `${(100 * p) / most}%`;
    return el("tr", {},
      el("th", { scope: "row", "data-value": name }, link({ view: "search", q: name }, {}, name), seeds.includes(name) ? el("b", { class: "seed" }, "seed") : null),
      el("td", { class: "wide" }, el("span", { class: "bars", "aria-hidden": "true" }, mass)),
      numberCell(p, percent(p)),
      members ? el("td", { class: "number spoken" }, `${percent(low)} to ${percent(high)}`) : null,
      lifted ? numberCell(p / share, `×${p / share >= 10 ? count(Math.round(p / share)) : (p / share).toFixed(1)}`)
        : numberCell(Math.log(p / rest), Math.log(p / rest).toFixed(2)),
      el("td", { class: "elsewhere" }, topics.filter(([other]) => other !== k).map(([other, part]) =>
        link({ topic: String(other) }, { title: nameOf(other), "aria-label": `${nameOf(other)} ${percent(part)}` }, swatch(other), percent(part)))));
  });
  const names = ["probability", ...(members ? ["members"] : []), lifted ? "lift" : "log-ratio", "also in"];
  const heads = names.map((name) => [name, name === "also in" ? "elsewhere" : "number", MEANINGS[name]]);
  return table(`${capital(columnNouns)} of ${nameOf(k)}`, [columnNoun, "", ...heads], rows);
}
