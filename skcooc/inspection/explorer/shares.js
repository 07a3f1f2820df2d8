// The share of a topic in groups and over time.

// A bar with its interval, which is cut at the end of the scale.
function bar(k, kind, g, most) {
  const { share, low, high } = data[kind];
  const across = (value) => `${(100 * Math.min(value, most)) / most}%`;
  const mass = el("i", { class: "mass" });
  mass.style.width = across(share[g][k]);
  const bars = el("span", { class: "bars", "aria-hidden": "true" }, mass);
  if (low[g][k] !== null) {
    const range = el("i", { class: "range" });
    range.style.left = across(low[g][k]);
    range.style.right = `calc(100% - ${across(high[g][k])})`;
    bars.append(range);
  }
  return bars;
}

// The share in a group with its interval, in words; groups of one row have none.
function shareText(kind, g, k) {
  const { share, low, high } = data[kind];
  return low[g][k] === null ? percent(share[g][k]) : `${percent(share[g][k])} (${percent(low[g][k])} to ${percent(high[g][k])})`;
}

const INTERVALS = `95 % intervals, from the variation between ${rowNouns}; the ${nouns} are taken as known.`;

function lines(kind, k, order) {
  const { labels, sizes, share, documents } = data[kind];
  const most = peak(kind, k);
  return order.map((g) => el("tr", {},
    el("th", { scope: "row" }, breakable(labels[g])),
    el("td", { class: "wide", title: shareText(kind, g, k) }, bar(k, kind, g, most)),
    numberCell(share[g][k], percent(share[g][k])), numberCell(documents[g][k], percent(documents[g][k])),
    numberCell(sizes[g], count(sizes[g]), "optional")));
}

// Shares with their intervals, a line for each topic and group or time.
function shareRecords(kind, topics) {
  const { labels, sizes, share, low, high, documents, above } = data[kind];
  const columns = [noun, kind === "groups" ? groupNoun : "time", "share", "low", "high", LARGEST_IN, rowNouns];
  const of = (k) => labels.map((label, g) => [nameOf(k), label, share[g][k], low[g][k], high[g][k],
    documents[g][k], sizes[g], ...(above ? [above[g][k]] : [])]);
  return [above ? [...columns, "characteristic"] : columns, ...topics.flatMap(of)];
}

const heads = (what) => [what, "", [SHARE, "number"], [LARGEST_IN, "number"], [rowNouns, "number optional"]];

const FEW = data.facts.few; // rows of a time, below which its share sets no scale

// The end of a scale: of the intervals of groups that have enough rows if there are any, but at
// most three times the largest share.
function peak(kind, k) {
  const { share, high, sizes } = data[kind];
  const all = sizes.map((_, g) => g);
  const many = all.filter((g) => sizes[g] >= FEW);
  const shown = many.length ? many : all;
  const most = Math.max(...shown.map((g) => share[g][k]), 1e-9);
  return Math.min(Math.max(most, ...shown.map((g) => high[g][k] ?? 0)), 3 * most);
}

// Lines go over no time that is left out, and over none of one row.
const joined = () => data.times.runs.flatMap(([a, b]) => {
  const pieces = [[]];
  for (let g = a; g < b; g += 1) {
    if (data.times.sizes[g] > 1) pieces.at(-1).push(g);
    else pieces.push([]);
  }
  return pieces.filter((piece) => piece.length);
});

const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
const groupNoun = data.groups?.name ?? "group";
const overTimes = (plain) => (data.times.name && !plain.endsWith(data.times.name) ? `${plain} (${data.times.name})` : plain);

function byGroup(k) {
  const { labels, n } = data.groups;
  const order = labels.map((_, g) => g).sort((a, b) => data.groups.share[b][k] - data.groups.share[a][k]);
  const grid = table(`${nameOf(k)} by ${groupNoun}`, heads(groupNoun), lines("groups", k, order),
    { records: () => shareRecords("groups", [k]) });
  const note = n > labels.length ? el("p", { class: "quiet" }, `The largest ${labels.length} of ${n} groups.`) : null;
  return el("section", {}, el("h3", {}, `By ${groupNoun}`), note, grid, el("p", { class: "quiet" }, `Lines: ${INTERVALS}`));
}

function overTime(k) {
  const order = data.times.labels.map((_, g) => g);
  const grid = table(`${nameOf(k)} over time`, heads("time"), lines("times", k, order),
    { records: () => shareRecords("times", [k]) });
  const width = Math.min(700, window.innerWidth > 1200 ? (room() - 410) / 2 : room());
  return el("section", {}, el("h3", {}, overTimes("Over time")), curve(k, width), curveNote(),
    el("details", {}, el("summary", {}, "The same as a table"), grid));
}

function curveNote() {
  const few = data.times.sizes.some((n) => n < FEW) ? ` Hollow points: fewer than ${FEW} ${rowNouns}; those above the scale are at its upper end.` : "";
  return el("p", { class: "quiet" }, `Points: shares of the ${units}; dashed: the share in all ${rowNouns}. ` +
    `The line breaks where there are no ${rowNouns}, or one alone.${few} Upright lines: ${INTERVALS}`);
}

// When an interval begins, or the time itself.
const begin = (label) => label.split(" – ")[0];

// The times that are written, none over another, and where: within the picture.
function ticks(labels, x, width) {
  let end = -Infinity;
  return labels.flatMap((_, g) => {
    const half = 4 * begin(labels[g]).length;
    const middle = Math.max(half, Math.min(x(g), width - half));
    if (middle - half < end) return [];
    end = middle + half + 6;
    return [[g, middle]];
  });
}

function curve(k, width) {
  const { labels, at, sizes, low, high } = data.times;
  const points = data.times.share.map((of) => of[k]);
  const [height, left, bottom] = [200, 48, 26];
  const most = peak("times", k);
  const x = (g) => left + 6 + ((width - left - 36) * (at[g] - at[0])) / (at.at(-1) - at[0] || 1);
  const y = (value) => 10 + (height - bottom - 10) * (1 - Math.min(value, most) / most);
  const said = `Share of ${nameOf(k)} over time: ${labels.map((label, g) => `${label} ${percent(points[g])}`).join(", ")}`;
  const overall = y(data.topics[k].weight);
  const known = points.map((_, g) => g).filter((g) => low[g][k] !== null);
  return figure(`${nameOf(k)} over time`, svg("svg", { class: `curve k${k}`, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said },
    [0, most / 2, most].map((value) => svg("g", { class: "axis" },
      svg("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value)))),
    svg("line", { class: "overall", x1: left, x2: width - 10, y1: overall, y2: overall }),
    known.map((g) => svg("line", { class: "range", x1: x(g), x2: x(g), y1: y(low[g][k]), y2: y(high[g][k]) })),
    joined().map((piece) => svg("path", { class: "line", d: path(piece.map((g) => [x(g), y(points[g])])) })),
    points.map((share, g) => svg("circle", { class: sizes[g] < FEW ? "point few" : "point", cx: x(g), cy: y(share), r: 3.5 },
      svg("title", {}, `${labels[g]}: ${shareText("times", g, k)}, ${rowCount(sizes[g])}`))),
    ticks(labels, x, width).map(([g, middle]) => svg("text", { x: middle, y: height - 8, "text-anchor": "middle" }, begin(labels[g])))));
}
