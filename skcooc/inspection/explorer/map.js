// The map of topics: near each other where their distributions are alike.

// The map in so many pixels, beside the table or alone.
function topicMap(width) {
  const height = Math.min(580, Math.max(340, width * 0.66));
  const at = data.topics.map(({ at: place }) => place);
  const scale = fit(at, width, height, 54);
  const most = Math.sqrt(data.topics[byMass[0]].weight);
  const radius = (k) => 3 + (Math.min(width, height) / (4 * Math.sqrt(at.length) + 4)) * (Math.sqrt(data.topics[k].weight) / most);
  const circles = byMass.map((k) => {
    const [x, y] = scale(at[k]);
    return svgLink(k, svg("circle", { class: `k${k}`, cx: x, cy: y, r: radius(k) }),
      svg("title", {}, `${nameOf(k)}, ${percent(data.topics[k].weight)}: ${topWords(k)}`));
  });
  const label = briefs();
  const labels = placed(byMass.map((k) => [k, ...scale(at[k])]), width, height, radius, label);
  return el("section", {},
    el("p", { class: "quiet" }, "Near each other where their distributions are alike: Hellinger distances in two " +
      `dimensions, as well as can be. Areas are shares of the ${units}. Axes mean nothing.` +
      (labels.length < byMass.length ? ` No room for ${plural(byMass.length - labels.length, "label")}.` : "")),
    svg("svg", { class: "map", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `Map of ${nouns}` },
      circles, labels.map(([k, x, y]) => svg("text", { x, y, "aria-hidden": "true" }, label.get(k)))));
}

function svgLink(k, ...children) {
  const change = { view: "topics", topic: String(k) };
  return svg("a", { href: written({ ...state, ...change }), "aria-label": `${nameOf(k)}, ${percent(data.topics[k].weight)}`,
    onclick: (event) => { event.preventDefault(); go(change); } }, ...children);
}

const LONGEST = 22; // characters of a label

// Names shortened so that they differ: by as few words as do, by their ends, or by the number.
function briefs() {
  const tries = new Map(byMass.map((k) => [k, shortened(nameOf(k))]));
  const others = (k) => byMass.filter((other) => other !== k);
  return new Map(byMass.map((k) => [k,
    tries.get(k).find((text) => others(k).every((other) => !tries.get(other).includes(text))) ??
    `${cutTo(nameOf(k), LONGEST - 5)} (${k})`]));
}

function shortened(name) {
  const words = name.split(" · ");
  const ends = name.length > LONGEST ? [`${name.slice(0, 8).trim()}…${name.slice(-13).trim()}`] : [];
  return [...words.map((_, n) => cutTo(words.slice(0, n + 1).join(" · "))), ...ends,
    ...words.slice(1).map((word) => cutTo(`${cutTo(words[0], 10)} · ${word}`))];
}

const cutTo = (text, n = LONGEST) => (text.length > n ? `${text.slice(0, n - 1)}…` : text);

function fit(points, width, height, margin) {
  const range = (axis) => [Math.min(...points.map((p) => p[axis])), Math.max(...points.map((p) => p[axis]))];
  const [[left, right], [low, high]] = [range(0), range(1)];
  const unit = Math.min((width - 2 * margin) / (right - left || 1), (height - 2 * margin) / (high - low || 1));
  return ([x, y]) => [width / 2 + unit * (x - (left + right) / 2), height / 2 - unit * (y - (low + high) / 2)];
}

// Labels below, above or beside their circles, the largest first, none over another, and over
// circles only where there is no other room.
function placed(places, width, height, radius, label) {
  const boxes = [];
  const circles = places.map(([k, x, y]) => [x - radius(k), y - radius(k), x + radius(k), y + radius(k)]);
  return places.flatMap(([k, x, y]) => {
    const [half, r] = [3.6 * label.get(k).length + 3, radius(k)];
    const tries = [[x, y + r + 12], [x, y - r - 5], [x + r + half + 2, y + 4], [x - r - half - 2, y + 4]];
    const free = tries.map(([a, b]) => [Math.max(half, Math.min(a, width - half)), b])
      .filter(([a, b]) => b <= height - 3 && b >= 12 && boxes.every((box) => !overlap(box, around(a, b, half))));
    const at = free.find(([a, b]) => circles.every((circle) => !overlap(circle, around(a, b, half)))) ?? free[0];
    if (!at) return [];
    boxes.push(around(...at, half));
    return [[k, ...at]];
  });
}

const around = (x, y, half) => [x - half, y - 11, x + half, y + 3];
const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
