// The map of topics: near each other where their distributions are alike.

function mapView() {
  const width = room();
  const height = Math.min(580, Math.max(340, width * 0.66));
  const at = data.topics.map(({ at: place }) => place);
  const scale = fit(at, width, height, 44);
  const most = Math.sqrt(data.topics[byMass[0]].weight);
  const radius = (k) => 3 + (Math.min(width, height) / (4 * Math.sqrt(at.length) + 4)) * (Math.sqrt(data.topics[k].weight) / most);
  const circles = byMass.map((k) => {
    const [x, y] = scale(at[k]);
    return svgLink(k, svg("circle", { cx: x, cy: y, r: radius(k) }),
      svg("title", {}, `${nameOf(k)}, ${percent(data.topics[k].weight)}`));
  });
  const labels = placed(byMass.map((k) => [k, ...scale(at[k])]), width, height, radius);
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, `Map of ${nouns}`),
    el("p", { class: "quiet" }, "Near each other where their distributions are alike: Hellinger distances in two " +
      "dimensions, as well as can be. Areas are shares of the observations. Axes mean nothing."),
    svg("svg", { class: "map", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `Map of ${nouns}` },
      circles, labels.map(([k, x, y]) => svg("text", { x, y, "aria-hidden": "true" }, brief(k)))));
}

function svgLink(k, ...children) {
  const change = { view: "topics", topic: String(k) };
  return svg("a", { href: written({ ...state, ...change }), "aria-label": `${nameOf(k)}, ${percent(data.topics[k].weight)}`,
    onclick: (event) => { event.preventDefault(); go(change); } }, ...children);
}

const brief = (k) => { const name = nameOf(k).split(" · ")[0]; return name.length > 22 ? `${name.slice(0, 21)}…` : name; };

function fit(points, width, height, margin) {
  const range = (axis) => [Math.min(...points.map((p) => p[axis])), Math.max(...points.map((p) => p[axis]))];
  const [[left, right], [low, high]] = [range(0), range(1)];
  const unit = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
  return ([x, y]) => [width / 2 + unit * (x - (left + right) / 2), height / 2 - unit * (y - (low + high) / 2)];
}

// Labels below their circles, the largest first, none over another.
function placed(places, width, height, radius) {
  const boxes = [];
  return places.map(([k, x, y]) => {
    const half = 3.6 * brief(k).length + 3;
    const box = [x - half, y + radius(k) + 1, x + half, y + radius(k) + 15];
    const clash = box[0] < 0 || box[2] > width || box[3] > height ||
      boxes.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    if (clash) return null;
    boxes.push(box);
    return [k, x, y + radius(k) + 12];
  }).filter(Boolean);
}
