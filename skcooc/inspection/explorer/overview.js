// What topics are about, and where they are: all topics at once.

// The first screen: the map beside the table, before a topic is chosen.
function opening() {
  const rows = (found) => found.map((k) => el("tr", {},
    el("th", { scope: "row" }, swatch(k), link({ topic: String(k) }, { id: `topic-${k}` }, nameOf(k)), massOf(k)),
    numberCell(data.topics[k].weight, percent(data.topics[k].weight)),
    numberCell(data.topics[k].documents, percent(data.topics[k].documents)), el("td", { class: "wide-only" }, further(k).flatMap((f, at) => [at ? ", " : "", el("span", { title: whereIs(f) }, data.features[f][0])]))));
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
  const step = share > 0 ? Math.trunc(Math.log2(share / weight)) : -3;
  return `h${Math.max(-3, Math.min(3, step))}`;
}

function groupsView() {
  const { labels, sizes } = data.groups;
  const head = [noun, ["all", "number"], ...labels.map((label) => [breakable(label), "number"])];
  const rows = byMass.map((k) => el("tr", {}, el("th", { scope: "row" }, swatch(k), toTopic(k)),
    cell(k, data.topics[k].weight, null, percent(data.topics[k].weight), {}), labels.map((label, g) => heatCell(label, g, k))));
  const alone = sizes.some((n) => n === 1) ? " A group of one is not marked." : "";
  const grid = table(`${capital(nouns)} by ${groupNoun}`, head, rows, { kind: "heat", records: () => shareRecords("groups", byMass) });
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, `${capital(nouns)} by ${groupNoun}`),
    el("p", { class: "quiet" }, `The share of each ${noun} in the ${units} of each group; choose one to see its ${rowNouns}. Bars: each ${noun} on a scale of its own. ` +
      "Bold with ▲: characteristic, since the 95 % interval of " +
      `the difference from the other groups is above 0. Of many cells some are marked by chance.${alone}`),
    el("ul", { class: "legend quiet" }, `Of the share in all ${rowNouns}:`, [["h-2", "a quarter or less"], ["h-1", "half or less"], ["h1", "twice or more"],
      ["h2", "four times or more"]].map(([tone, text]) => el("li", {}, el("span", { class: `swatch ${tone}` }), text))),
    scrolling(grid.firstChild, "Table of shares"), grid.lastChild);
}

// A table that may be wider than the page, with the number of columns that are cut.
function scrolling(grid, label) {
  const hint = el("p", { class: "quiet hint", hidden: true });
  const box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, grid);
  const show = () => {
    const end = box.getBoundingClientRect().right + 1;
    const cut = [...grid.tHead.rows[0].cells].filter((cell) => cell.getBoundingClientRect().right > end).length;
    box.classList.toggle("cut", cut > 0);
    hint.hidden = cut === 0;
    hint.textContent = `${plural(cut, "more column")}: scroll the table to the right →`;
  };
  box.addEventListener("scroll", show);
  new ResizeObserver(show).observe(box);
  return el("div", {}, hint, box);
}

const rough = (share) => (share > 0 && share < 0.00095 ? "<0.1\u00a0%" : percent(share));

// A share above its bar, on the scale of its topic.
function cell(k, share, tone, content, attributes) {
  const mass = el("i", { class: `mass k${k}`, "aria-hidden": "true" });
  mass.style.width = `${(100 * share) / Math.max(...data.groups.share.map((of) => of[k]), data.topics[k].weight, 1e-9)}%`;
  return el("td", { class: `number ${tone ?? ""}`, ...attributes }, content, mass);
}

function heatCell(label, g, k) {
  const { documents, above } = data.groups;
  const share = data.groups.share[g][k];
  const { weight } = data.topics[k];
  const marked = above?.[g][k];
  const said = `${nameOf(k)} in ${label}: ${shareText("groups", g, k)}; in all ${percent(weight)}; ${LARGEST_IN}: ${percent(documents[g][k])}`;
  return cell(k, share, `${shade(share, weight)}${marked ? " marked" : ""}`,
    link({ view: "documents", topic: String(k), group: String(g), time: "", of: "", doc: "" }, {}, marked ? `▲ ${rough(share)}` : rough(share)),
    { title: said });
}

function timesView() {
  const n = Math.max(1, Math.floor(room() / 420));
  const width = Math.floor((room() - 28 * (n - 1)) / n);
  const curves = el("ul", { class: "curves" }, byMass.map((k) => el("li", {}, swatch(k), toTopic(k), curve(k, width))));
  curves.style.gridTemplateColumns = `repeat(${n}, minmax(0, 1fr))`;
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, overTimes(`${capital(nouns)} over time`)),
    el("p", { class: "quiet" }, `Each ${noun} on a scale of its own.`), curveNote(), curves,
    csvButton(`${capital(nouns)} over time`, () => shareRecords("times", byMass)));
}
