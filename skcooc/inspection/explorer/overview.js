// What topics are about, and where they are: all topics at once.

// The first screen: the map beside the table, before a topic is chosen.
function opening() {
  const rows = (found) => found.map((k) => el("tr", {},
    el("th", { scope: "row" }, swatch(k), link({ topic: String(k) }, { id: `topic-${k}` }, nameOf(k)), massOf(k)),
    el("td", { class: "number" }, percent(data.topics[k].weight)),
    el("td", { class: "number" }, percent(data.topics[k].documents)), el("td", { class: "wide-only" }, further(k).flatMap((f, at) => [at ? ", " : "", el("span", { title: whereIs(f) }, data.features[f][0])]))));
  const list = el("div", { class: "all" });
  const show = () => {
    const found = byMass.filter((k) => matches(k, state.of));
    clear(list, table(`All ${nouns}`, [noun, [SHARE, "number", SHARE_MEANS], [LARGEST_IN, "number", LARGEST_MEANS],
      [`further ${columnNouns}`, "wide-only"]], rows(found)));
    return found.length;
  };
  show();
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, `${plural(data.topics.length, noun)} by share`),
    el("p", { class: "quiet" }, `Choose a ${noun}, on the map or in the table, to see its ${columnNouns} and ${rowNouns}.`,
      ["groups", "times"].filter((view) => VIEWS[view]).flatMap((view) => [" ", link({ view }, {}, `${capital(nouns)} ${lower(VIEWS[view][0])}`), "."])),
    el("div", { class: "first" }, topicMap(mapWidth()), el("section", {}, filterOf(show), list, exportButton())));
}

// A field that filters topics; show draws them and returns how many there are.
function filterOf(show) {
  return field(`Filter ${nouns}`, el("input", { id: "filter", type: "search", value: state.of, oninput: (event) => {
    keep({ of: event.target.value });
    say(plural(show(), noun));
  } }));
}

const exportButton = () => el("button", { type: "button", id: "export", onclick: exportNames }, "Export names (JSON)");

// A bar as long as the share of a topic.
function massOf(k) {
  const mass = el("i", { class: `mass k${k}`, "aria-hidden": "true" });
  mass.style.width = `${(100 * data.topics[k].weight) / data.topics[byMass[0]].weight}%`;
  return mass;
}

const SHARE = `share of ${units}`;
const SHARE_MEANS = `The part of all ${units} that the model ascribes to the ${noun}.`;
const LARGEST_IN = `largest in ${rowNouns}`;
const LARGEST_MEANS = `The part of the ${rowNouns} that have more of this ${noun} than of any other.`;

// Features of a topic that its name does not have.
function further(k) {
  const named = nameOf(k).split(" · ");
  return ranked(k).map(([f]) => f).filter((f) => !named.includes(data.features[f][0])).slice(0, 6);
}

const topWords = (k) => further(k).map((f) => data.features[f][0]).join(", ");
const whereIs = (f) => data.features[f][2].map(([k, part]) => `${nameOf(k)} ${percent(part)}`).join("\n");

// A colour for the share in a group as a multiple of that in all rows, by powers of two.
function shade(share, weight) {
  const step = share > 0 ? Math.round(Math.log2(share / weight)) : -3;
  return `h${Math.max(-3, Math.min(3, step))}`;
}

function groupsView() {
  const { labels, sizes } = data.groups;
  const head = [noun, ["all", "number"], ...labels.map((label) => [breakable(label), "number"])];
  const rows = byMass.map((k) => el("tr", {}, el("th", { scope: "row" }, swatch(k), toTopic(k)),
    el("td", { class: "number" }, percent(data.topics[k].weight)), labels.map((label, g) => heatCell(label, g, k))));
  const alone = sizes.some((n) => n === 1) ? " A group of one is not marked." : "";
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, `${capital(nouns)} by ${groupNoun}`),
    el("p", { class: "quiet" }, `The share of each ${noun} in the ${units} of each group; choose one to see its ${rowNouns}. Bold with ▲: characteristic, since the 95 % interval of ` +
      `the difference from the other groups is above 0. Of many cells some are marked by chance.${alone}`),
    el("ul", { class: "legend quiet" }, `Of the share in all ${rowNouns}:`, [["h-2", "a quarter or less"], ["h-1", "half"], ["h1", "twice"],
      ["h2", "four times or more"]].map(([tone, text]) => el("li", {}, el("span", { class: `swatch ${tone}` }), text))),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of shares" },
      el("div", {}, heated(table(`Shares of ${nouns} in groups`, head, rows)))));
}

const heated = (grid) => { grid.classList.add("heat"); return grid; };

const rough = (share) => (share > 0 && share < 0.00095 ? "<0.1\u00a0%" : percent(share));

function heatCell(label, g, k) {
  const { documents, above } = data.groups;
  const share = data.groups.share[g][k];
  const { weight } = data.topics[k];
  const marked = above?.[g][k];
  return el("td", { class: `number ${shade(share, weight)}${marked ? " marked" : ""}`,
    title: `${nameOf(k)} in ${label}: ${percent(share)}; in all ${percent(weight)}; ${LARGEST_IN}: ${percent(documents[g][k])}` },
  link({ view: "documents", topic: String(k), group: String(g), time: "", of: "", doc: "" }, {}, marked ? `▲ ${rough(share)}` : rough(share)));
}

function timesView() {
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, overTimes(`${capital(nouns)} over time`)),
    el("p", { class: "quiet" }, `Each ${noun} on a scale of its own, from 0 to its peak. Lines break where there are no ${rowNouns}, or one alone.`),
    el("ul", { class: "lines" }, byMass.map((k) => el("li", {}, swatch(k), toTopic(k), el("span", { class: "quiet" }, ` peak\u00a0${percent(peak(k))}`), spark(k)))));
}

function spark(k) {
  const { share, at, labels } = data.times;
  const [width, height, most, drawn] = [220, 44, peak(k), joined()];
  const [first, last] = [drawn[0]?.[0] ?? 0, drawn.at(-1)?.at(-1) ?? 0]; // a time that is left out takes no room
  const x = (g) => 3 + ((width - 6) * (at[g] - at[first])) / (at[last] - at[first] || 1);
  const y = (g) => 3 + (height - 6) * (1 - Math.min(share[g][k], most) / most);
  const said = `${nameOf(k)}: ${labels.map((label, g) => `${label} ${percent(share[g][k])}`).join(", ")}`;
  return svg("svg", { class: `curve k${k}`, width, height: height + 14, viewBox: `0 0 ${width} ${height + 14}`, role: "img", "aria-label": said },
    svg("g", { class: "axis" }, svg("line", { x1: 0, x2: width, y1: height - 3, y2: height - 3 }),
      svg("text", { x: 0, y: height + 11 }, begin(labels[first])), svg("text", { x: width, y: height + 11, "text-anchor": "end" }, begin(labels[last]))),
    drawn.map((piece) => (piece.length > 1 ? svg("path", { class: "line", d: path(piece.map((g) => [x(g), y(g)])) })
      : svg("circle", { class: "point", cx: x(piece[0]), cy: y(piece[0]), r: 2.5 }))));
}
