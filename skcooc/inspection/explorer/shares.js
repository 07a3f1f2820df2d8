// The share of a topic in groups and over time, with bootstrap intervals.

function interval(kind, g, k) {
  const { share, low, high } = data[kind];
  const known = low[g][k] !== null;
  const [from, to] = known ? [low[g][k], high[g][k]] : [share[g][k], share[g][k]];
  return { share: share[g][k], low: from, high: to, known };
}

// One row alone has no interval.
const spoken = ({ share, low, high, known }) =>
  known ? `${percent(share)} (${percent(low)} to ${percent(high)})` : `${percent(share)} (one ${rowNoun})`;

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
    el("th", { scope: "row" }, labels[g]), el("td", { class: "wide" }, bar(interval(kind, g, k), most)),
    el("td", { class: "number" }, spoken(interval(kind, g, k))),
    el("td", { class: "number optional" }, count(sizes[g]))));
}

const heads = (what) => [what, "", ["share, and 95 % interval", "number"], [rowNouns, "number optional"]];

function byGroup(k) {
  const { labels, n } = data.groups;
  const order = labels.map((_, g) => g).sort((a, b) => data.groups.share[b][k] - data.groups.share[a][k]);
  const grid = table("Share by group", heads("group"), lines("groups", k, order));
  const note = n > labels.length ? el("p", { class: "quiet" }, `The largest ${labels.length} of ${n} groups.`) : null;
  return el("section", {}, el("h3", {}, "By group"), note, grid);
}

function overTime(k) {
  const { labels } = data.times;
  const order = labels.map((_, g) => g);
  const grid = table("Share over time", heads("time"), lines("times", k, order));
  return el("section", {}, el("h3", {}, "Over time"), curve(k),
    el("details", {}, el("summary", {}, "The same as a table"), grid));
}

// When an interval begins, or the time itself.
const begin = (label) => label.split(" ")[0];

// The times that are written, none over another.
function ticks(labels, x) {
  let end = -Infinity;
  return labels.map((_, g) => g).filter((g) => {
    const half = 4 * begin(labels[g]).length;
    if (x(g) - half < end) return false;
    end = x(g) + half + 6;
    return true;
  });
}

function curve(k) {
  const { labels } = data.times;
  const points = labels.map((_, g) => interval("times", g, k));
  const [width, height, left, bottom] = [Math.min(700, room()), 190, 48, 26];
  const most = Math.max(...points.map((point) => point.high), 1e-9);
  const { at } = data.times;
  const x = (g) => left + ((width - left - 30) * (at[g] - at[0])) / (at.at(-1) - at[0] || 1);
  const y = (value) => 10 + (height - bottom - 10) * (1 - value / most);
  const path = (values) => values.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("");
  const sure = points.map((_, g) => g).filter((g) => points[g].known);
  const edge = (end) => sure.map((g) => [x(g), y(points[g][end])]);
  const band = [...edge("high"), ...edge("low").reverse()];
  const said = `Share of ${nameOf(k)} over time, from ${spoken(points[0])} at ${labels[0]} to ` +
    `${spoken(points.at(-1))} at ${labels.at(-1)}`;
  return svg("svg", { class: "curve", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said },
    [0, most / 2, most].map((value) => svg("g", { class: "axis" },
      svg("line", { x1: left, x2: width - 10, y1: y(value), y2: y(value) }),
      svg("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, percent(value)))),
    svg("path", { class: "band", d: band.length ? `${path(band)}Z` : "" }),
    svg("path", { class: "line", d: path(points.map((p, g) => [x(g), y(p.share)])) }),
    points.map((p, g) => svg("circle", { class: "point", cx: x(g), cy: y(p.share), r: 2.5 },
      svg("title", {}, `${labels[g]}: ${spoken(p)}`))),
    ticks(labels, x).map((g) => svg("text", { x: x(g), y: height - 8, "text-anchor": "middle" }, begin(labels[g]))));
}
