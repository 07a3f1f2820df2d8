// The share of a topic in groups and over time.

function bar(share, most) {
  const mass = el("i", { class: "mass" });
  mass.style.width = `${(100 * share) / most}%`;
  return el("span", { class: "bars", "aria-hidden": "true" }, mass);
}

function lines(kind, k, order) {
  const { labels, sizes, share, documents } = data[kind];
  const most = Math.max(...share.map((of) => of[k]), 1e-9);
  return order.map((g) => el("tr", {},
    el("th", { scope: "row" }, breakable(labels[g])), el("td", { class: "wide" }, bar(share[g][k], most)),
    el("td", { class: "number" }, percent(share[g][k])), el("td", { class: "number" }, percent(documents[g][k])),
    el("td", { class: "number optional" }, count(sizes[g]))));
}

const heads = (what) => [what, "", [SHARE, "number"], [LARGEST_IN, "number"], [rowNouns, "number optional"]];

const FEW = data.facts.few; // rows of a time, below which its share sets no scale

// The largest share, of times that have enough rows if there are any.
function peak(k) {
  const { share, sizes } = data.times;
  const many = share.filter((_, g) => sizes[g] >= FEW);
  return Math.max(...(many.length ? many : share).map((of) => of[k]), 1e-9);
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
  const grid = table("Share by group", heads(groupNoun), lines("groups", k, order));
  const note = n > labels.length ? el("p", { class: "quiet" }, `The largest ${labels.length} of ${n} groups.`) : null;
  return el("section", {}, el("h3", {}, `By ${groupNoun}`), note, grid);
}

function overTime(k) {
  const { labels, sizes } = data.times;
  const order = labels.map((_, g) => g);
  const grid = table("Share over time", heads("time"), lines("times", k, order));
  const few = sizes.some((n) => n < FEW) ? ` Hollow points: fewer than ${FEW} ${rowNouns}; those above the scale are at its upper end.` : "";
  return el("section", {}, el("h3", {}, overTimes("Over time")), curve(k),
    el("p", { class: "quiet" }, `Line: the share of ${units}; dashed: the share in all ${rowNouns}. ` +
      `The line breaks where there are no ${rowNouns}, or one alone.${few}`),
    el("details", {}, el("summary", {}, "The same as a table"), grid));
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

function curve(k) {
  const { labels, at, sizes } = data.times;
  const points = data.times.share.map((of) => of[k]);
  const [width, height, left, bottom] = [Math.min(700, window.innerWidth > 1200 ? (room() - 410) / 2 : room()), 190, 48, 26];
  const most = peak(k);
  const x = (g) => left + ((width - left - 30) * (at[g] - at[0])) / (at.at(-1) - at[0] || 1);
  const y = (value) => 10 + (height - bottom - 10) * (1 - Math.min(value, most) / most);
  const said = `Share of ${nameOf(k)} over time, from ${percent(points[0])} at ${labels[0]} to ` +
    `${percent(points.at(-1))} at ${labels.at(-1)}`;
  const overall = y(data.topics[k].weight);
  return svg("svg", { class: `curve k${k}`, width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said },
    [0, most / 2, most].map((value) => svg("g", { class: "axis" },
      svg("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value)))),
    svg("line", { class: "overall", x1: left, x2: width - 10, y1: overall, y2: overall }),
    joined().map((piece) => svg("path", { class: "line", d: path(piece.map((g) => [x(g), y(points[g])])) })),
    points.map((share, g) => svg("circle", { class: sizes[g] < FEW ? "point few" : "point", cx: x(g), cy: y(share), r: 2.5 },
      svg("title", {}, `${labels[g]}: ${percent(share)}, ${rowCount(sizes[g])}`))),
    ticks(labels, x, width).map(([g, middle]) => svg("text", { x: middle, y: height - 8, "text-anchor": "middle" }, begin(labels[g]))));
}
