// The share of a topic in groups and over time, with bootstrap intervals.

function interval(kind, g, k) {
  const { share, low, high } = data[kind];
  const known = low[g][k] !== null;
  const [from, to] = known ? [low[g][k], high[g][k]] : [share[g][k], share[g][k]];
  return { share: share[g][k], low: from, high: to, known };
}

// One row alone has no interval.
const spoken = ({ share, low, high, known }) =>
  known ? `${percent(share)} (${percent(low)} to ${percent(high)})` : `${percent(share)} (${rowCount(1)})`;

function bar({ share, low, high }, most) {
  const at = (value) => `${(100 * value) / most}%`;
  const drawn = el("span", { class: "interval", "aria-hidden": "true" },
    el("i", { class: "mass" }), el("i", { class: "range" }));
  drawn.children[0].style.width = at(share);
  drawn.children[1].style.left = at(low);
  drawn.children[1].style.width = at(high - low);
  return drawn;
}

function lines(kind, k, order) {
  const { labels, sizes } = data[kind];
  const most = Math.max(...labels.map((_, g) => interval(kind, g, k).high), 1e-9);
  return order.map((g) => el("tr", {},
    el("th", { scope: "row" }, breakable(labels[g])), el("td", { class: "wide" }, bar(interval(kind, g, k), most)),
    el("td", { class: "number spoken" }, spoken(interval(kind, g, k))),
    el("td", { class: "number optional" }, count(sizes[g]))));
}

const heads = (what) => [what, "", ["share, and 95 % interval", "number"], [rowNouns, "number optional"]];

const FEW = data.facts.few; // rows of a time, below which its interval sets no scale

// Up to where shares are drawn: the interval of no time of few rows has a say, if there are others.
function top(k) {
  const { labels, sizes } = data.times;
  const many = labels.map((_, g) => g).filter((g) => sizes[g] >= FEW);
  const scaled = many.length ? many : labels.map((_, g) => g);
  return Math.max(...scaled.map((g) => interval("times", g, k).high), 1e-9);
}

// Lines go over no time that is left out, and bands over none of one row.
const joined = (known) => data.times.runs.flatMap(([a, b]) => {
  const pieces = [[]];
  for (let g = a; g < b; g += 1) {
    if (known(g)) pieces.at(-1).push(g);
    else pieces.push([]);
  }
  return pieces.filter((piece) => piece.length);
});

const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
const called = (kind, plain) => (data[kind].name && !plain.endsWith(data[kind].name) ? `${plain} (${data[kind].name})` : plain);

function byGroup(k) {
  const { labels, n } = data.groups;
  const order = labels.map((_, g) => g).sort((a, b) => data.groups.share[b][k] - data.groups.share[a][k]);
  const grid = table("Share by group", heads("group"), lines("groups", k, order));
  const note = n > labels.length ? el("p", { class: "quiet" }, `The largest ${labels.length} of ${n} groups.`) : null;
  return el("section", {}, el("h3", {}, called("groups", "By group")), note, grid);
}

function overTime(k) {
  const { labels, sizes } = data.times;
  const order = labels.map((_, g) => g);
  const grid = table("Share over time", heads("time"), lines("times", k, order));
  const few = sizes.some((n) => n < FEW) ? ` Hollow points: fewer than ${FEW} ${rowNouns}; those above the scale are at its upper end.` : "";
  return el("section", {}, el("h3", {}, called("times", "Over time")), curve(k),
    el("p", { class: "quiet" }, `Line: the share; band: its 95 % interval; dashed: the share in all ${rowNouns}. ` +
      `The line breaks where there are no ${rowNouns}, or one alone.${few}`),
    el("details", {}, el("summary", {}, "The same as a table"), grid));
}

// When an interval begins, or the time itself.
const begin = (label) => label.split(" ")[0];

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
  const points = labels.map((_, g) => interval("times", g, k));
  const [width, height, left, bottom] = [Math.min(700, room()), 190, 48, 26];
  const most = top(k);
  const x = (g) => left + ((width - left - 30) * (at[g] - at[0])) / (at.at(-1) - at[0] || 1);
  const y = (value) => 10 + (height - bottom - 10) * (1 - Math.min(value, most) / most);
  const pieces = joined((g) => points[g].known);
  const band = (piece) => `${path([...piece.map((g) => [x(g), y(points[g].high)]),
    ...piece.map((g) => [x(g), y(points[g].low)]).reverse()])}Z`;
  const said = `Share of ${nameOf(k)} over time, from ${spoken(points[0])} at ${labels[0]} to ` +
    `${spoken(points.at(-1))} at ${labels.at(-1)}`;
  const overall = y(data.topics[k].weight);
  return svg("svg", { class: "curve", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said },
    [0, most / 2, most].map((value) => svg("g", { class: "axis" },
      svg("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value)))),
    pieces.map((piece) => svg("path", { class: "band", d: band(piece) })),
    svg("line", { class: "overall", x1: left, x2: width - 10, y1: overall, y2: overall }),
    pieces.map((piece) => svg("path", { class: "line", d: path(piece.map((g) => [x(g), y(points[g].share)])) })),
    points.map((p, g) => svg("circle", { class: sizes[g] < FEW ? "point few" : "point", cx: x(g), cy: y(p.share), r: 2.5 },
      svg("title", {}, `${labels[g]}: ${spoken(p)}, ${rowCount(sizes[g])}`))),
    ticks(labels, x, width).map(([g, middle]) => svg("text", { x: middle, y: height - 8, "text-anchor": "middle" }, begin(labels[g]))));
}
