// The map of topics: near each other where their distributions are alike.

// The map in so many pixels, beside the table or alone.
function topicMap(width) {
  const height = Math.min(580, Math.max(340, width * 0.8));
  const at = data.topics.map(({ at: place }) => place);
  const scale = fit(at, width, height, 50);
  const most = Math.sqrt(data.topics[byMass[0]].weight);
  const radius = (k) => 3 + (Math.min(width, height) / (4 * Math.sqrt(at.length) + 4)) * (Math.sqrt(data.topics[k].weight) / most);
  const pointed = el("p", { class: "pointed" }, `Point at a ${noun} to read its ${columnNouns}.`);
  const circles = byMass.map((k) => {
    const [x, y] = scale(at[k]);
    const words = topWords(k);
    const said = `${nameOf(k)}, ${percent(data.topics[k].weight)}${words && `: ${words}`}`;
    return svgLink(k, said, () => clear(pointed, swatch(k), said), svg("circle", { class: `k${k}`, cx: x, cy: y, r: radius(k) }));
  });
  const labels = placed(byMass.map((k) => [k, ...scale(at[k])]), width, height, radius);
  return el("section", {},
    el("p", { class: "quiet" }, `Similar ${nouns} are near each other; areas are shares of the ${units}.` +
      (labels.length < byMass.length ? ` No room for ${plural(byMass.length - labels.length, "label")}.` : "")),
    figure(`Map of ${nouns}`, svg("svg", { class: "map", width, height, viewBox: `0 0 ${width} ${height}`, "aria-label": `Map of ${nouns}` },
      circles, labelled(labels))), pointed);
}

function svgLink(k, said, point, circle) {
  const change = { view: "topics", topic: String(k) };
  return svg("a", { href: written({ ...state, ...change }), "aria-label": said, onfocus: point, onpointerenter: point,
    onclick: (event) => { event.preventDefault(); go(change); } }, circle);
}

const LONGEST = 24; // characters of a label

// Names shortened so that they differ: by as few words as do, by their ends, or by the number;
// then, where there is room, more of their words.
function briefs() {
  const tries = new Map(byMass.map((k) => [k, shortened(nameOf(k))]));
  const others = (k) => byMass.filter((other) => other !== k);
  return new Map(byMass.map((k) => {
    const short = tries.get(k).find((text) => others(k).every((other) => !tries.get(other).includes(text))) ??
      `${cutTo(nameOf(k), LONGEST - 5)} (${k})`;
    const words = nameOf(k).split(" · ");
    const longer = [3, 2].map((n) => words.slice(0, n).join(" · "))
      .filter((text) => text.length <= LONGEST && text.length > short.length && text.startsWith(short));
    return [k, [short, ...longer]];
  }));
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

// Labels around their circles, the largest first, none over another or over a circle, or nearer to
// another than to its own.
function placed(places, width, height, radius, near = beside) {
  const [label, found, pen] = [briefs(), new Map(), el("canvas").getContext("2d")];
  pen.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const circles = new Map(places.map(([k, x, y]) => [k, [x - radius(k), y - radius(k), x + radius(k), y + radius(k)]]));
  const nearest = (box) => Math.min(...[...circles.values()].map((circle) => gap(box, circle)));
  const put = (k, x, y, text) => {
    const [half, r] = [pen.measureText(text).width / 2 + 3, radius(k)];
    const boxes = [...found].filter(([other]) => other !== k).map(([, [, a, b, long]]) => around(a, b, long));
    const at = near(half, r).map(([a, b]) => [Math.max(half, Math.min(x + a, width - half)), y + b])
      .find(([a, b]) => b <= height - 3 && b >= 12 && [...boxes, ...circles.values()].every((box) => !overlap(box, around(a, b, half))) &&
        gap(around(a, b, half), circles.get(k)) <= nearest(around(a, b, half)));
    if (at) found.set(k, [text, ...at, half]);
    return at;
  };
  for (const [k, x, y] of places) put(k, x, y, label.get(k)[0]);
  for (const [k, x, y] of places) if (found.has(k)) label.get(k).slice(1).find((text) => put(k, x, y, text));
  return [...found.values()];
}

// Places of labels from the middle of circles: beside them, or a line farther.
function beside(half, r) {
  const near = [[0, r + 12], [0, -r - 5], [r + half + 2, 4], [-r - half - 2, 4], [half, r + 12], [-half, r + 12], [half, -r - 5], [-half, -r - 5]];
  return [...near, ...near.map(([a, b]) => [a, b + 14 * Math.sign(b)])];
}

const labelled = (labels) => labels.map(([text, x, y]) => svg("text", { x, y, "aria-hidden": "true" }, text));

const around = (x, y, half) => [x - half, y - 11, x + half, y + 3];
const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const gap = (a, b) => Math.hypot(...[0, 1].map((axis) => Math.max(0, a[axis] - b[axis + 2], b[axis] - a[axis + 2])));
