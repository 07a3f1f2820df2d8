// The blocks of a clustering of both sides: associations, members, and the most frequent pairs.

function blocksView() {
  const { rows, columns } = data.blocks;
  const narrow = room() < 700;
  const [left, top] = narrow ? [88, 84] : [118, 100];
  const right = narrow ? 24 : 40;
  const side = Math.max(28, Math.min(56, 480 / Math.max(rows.length, columns.length)));
  const width = Math.min(room(), left + side * columns.length + right);
  const cell = (width - left - right) / columns.length;
  const high = Math.min(cell, side);
  const height = top + high * rows.length;
  const panel = el("section", { class: "block" });
  const cells = rows.map((c, i) => columns.map((d, j) => {
    const rect = svg("rect", { x: left + j * cell, y: top + i * high, width: cell, height: high,
      class: tone(c, d), role: "gridcell", tabindex: "-1", "aria-label": blockText(c, d), "data-at": `${i},${j}`,
      id: `block-${c}-${d}`, onclick: () => choose(i, j) }, svg("title", {}, blockText(c, d)));
    return rect;
  }));
  const frame = svg("rect", { class: "frame", width: cell, height: high });
  function mark(i, j) {
    for (const rect of cells.flat()) rect.setAttribute("tabindex", "-1");
    cells[i][j].setAttribute("tabindex", "0");
    fill(frame, { x: left + j * cell, y: top + i * high }, []);
    clear(panel, block(rows[i], columns[j]));
  }
  function choose(i, j) {
    mark(i, j);
    cells[i][j].focus({ preventScroll: true });
    keep({ block: `${rows[i]}-${columns[j]}` });
  }
  const grid = svg("svg", { class: "blocks", width, height, viewBox: `0 0 ${width} ${height}`, role: "grid",
    "aria-label": `Associations of clusters of ${rowNouns} and of ${columnNouns}`, onkeydown: (event) => moved(event, choose, rows, columns) },
  cells.map((line) => svg("g", { role: "row" }, line)), sideWords(left, top, cell, high, narrow ? 10 : 15), frame);
  const [c, d] = state.block ? state.block.split("-").map(Number) : strongest(rows, columns);
  mark(Math.max(rows.indexOf(c), 0), Math.max(columns.indexOf(d), 0));
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, "Blocks"),
    el("p", { class: "quiet" }, `Clusters of ${rowNouns} from top to bottom, clusters of ${columnNouns} from left to right. Red blocks are observed ` +
      "more often than if both were independent, blue ones less often. Choose one, with the mouse or the arrow keys."),
    scale(), el("div", { class: "beside" }, figure("Blocks", grid), panel));
}

// Of these blocks, the one with the most co-occurrences above those expected under independence.
function strongest(rows, columns) {
  const { joint, log2 } = data.blocks;
  const part = (c, d) => joint[c][d] * (log2[c][d] ?? 0);
  const all = rows.flatMap((c) => columns.map((d) => [c, d]));
  return all.reduce((best, at) => (part(...at) > part(...best) ? at : best));
}

const tone = (c, d) => {
  const value = data.blocks.log2[c][d];
  if (value === null) return "t-3";
  return `t${Math.max(-3, Math.min(3, Math.round(value)))}`;
};

const ratio = (c, d) => (data.blocks.log2[c][d] === null ? "never observed" : `association ${small(2 ** data.blocks.log2[c][d])}`);
const blockText = (c, d) => `${capital(clusterText("row", c))} (${commonest("row", c, 2)}) and ${clusterText("column", d)} (${commonest("column", d, 2)}): ${ratio(c, d)}`;

function moved(event, choose, rows, columns) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Enter: [0, 0], " ": [0, 0] }[event.key];
  const at = event.target.getAttribute("data-at");
  if (!step || !at) return;
  event.preventDefault();
  const [i, j] = at.split(",").map(Number);
  choose(Math.max(0, Math.min(rows.length - 1, i + step[0])), Math.max(0, Math.min(columns.length - 1, j + step[1])));
}

function sideWords(left, top, cell, high, longest) {
  const cut = (text) => cutTo(text, longest);
  const { rows, columns } = data.blocks;
  return [
    ...rows.map((c, i) => high < 11 && i % Math.ceil(11 / high) ? null : svg("text", { x: left - 6, y: top + (i + 0.5) * high + 4, "text-anchor": "end", "aria-hidden": "true" }, cut(commonest("row", c, 1)))),
    ...columns.map((d, j) => cell < 11 && j % Math.ceil(11 / cell) ? null : svg("text", { "aria-hidden": "true",
      transform: `translate(${left + (j + 0.5) * cell + 4} ${top - 6}) rotate(-60)` }, cut(commonest("column", d, 1)))),
  ];
}

const scale = () => el("ul", { class: "scale", "aria-label": "Colours" }, [-3, -2, -1, 0, 1, 2, 3].map((t) =>
  el("li", {}, svg("svg", { width: 14, height: 14, "aria-hidden": "true" }, svg("rect", { width: 14, height: 14, class: `t${t}` })),
    ` ${t < 0 ? `1/${2 ** -t}` : 2 ** t}`)), el("li", { class: "quiet" }, "times as often as by chance"));

function block(c, d) {
  const { row_members, column_members, joint, pairs, columns } = data.blocks;
  const [total, examples] = pairs[c * columns.length + d];
  const lines = examples.map(([i, j, n]) => el("tr", {}, el("td", {}, row_members[c][1][i]),
    el("td", {}, column_members[d][1][j]), numberCell(n, count(n))));
  return el("div", {}, el("h2", {}, `${capital(clusterText("row", c))}, ${clusterText("column", d)}`),
    el("p", {}, `${capital(ratio(c, d))}; ${percent(joint[c][d])} of all ${units} by the model; ${plural(total, unit)} in the table.`),
    el("h3", {}, "Most frequent pairs"), lines.length
      ? table("Most frequent pairs", [rowNouns, columnNouns, [units, "number"]], lines)
      : el("p", { class: "quiet" }, "None of its pairs was observed."),
    el("div", { class: "sides" }, members("row", c), members("column", d)));
}
