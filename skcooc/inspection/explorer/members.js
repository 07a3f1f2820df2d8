// The members of the clusters of both sides: all of them on demand, and found by their letters.

const SIDES = { row: rowNouns, column: columnNouns };
const AT_FIRST = 40; // members that are shown before one asks for more

const clusterText = (side, c) => `${SIDES[side]} ${c}`;

// Those equal to what is wanted first, then those that begin with it; else in their order.
function rank(name, wanted) {
  const text = name.toLowerCase();
  return text === wanted ? 0 : text.startsWith(wanted) ? 1 : 2;
}

function members(side, c) {
  const [n, names] = data.blocks[`${side}_members`][c];
  const list = el("div", { class: "members" });
  const show = (text) => {
    const wanted = text.trim().toLowerCase();
    const found = names.filter((name) => name.toLowerCase().includes(wanted));
    clear(list, found.length ? paged(found, { first: AT_FIRST, more: 500, within: "ul" }, (name) => el("li", {}, breakable(name)))
      : el("p", { class: "quiet" }, "None."));
    return found.length;
  };
  const filter = el("input", { id: `of-${side}s`, type: "search", oninput: (event) => say(`${count(show(event.target.value))} ${SIDES[side]}`) });
  show("");
  return el("section", {}, el("h3", {}, `${capital(clusterText(side, c))}: `, side === "row" ? toTopic(c) : clusterName(side, c), ` (${count(n)})`),
    names.length > AT_FIRST ? field(`Filter ${SIDES[side]}`, filter) : null, list,
    n > names.length ? el("p", { class: "quiet" }, `${count(n - names.length)} seldom ones are left out.`) : null);
}

// Clusters of rows have names, which can be given; those of columns are called as their most frequent members.
const clusterName = (side, c) => (side === "row" ? nameOf(c) : commonest(side, c, 3) || "none");
const commonest = (side, c, n) => data.blocks[`${side}_members`][c][1].slice(0, n).join(", ");

// Members that hold some letters, and the blocks in which they are most of all.
function membersFound(wanted) {
  const { rows, columns } = data.blocks;
  return Object.keys(SIDES).map((side) => {
    const found = data.blocks[`${side}_members`].flatMap(([, names], c) =>
      names.filter((name) => name.toLowerCase().includes(wanted)).map((name) => [name, c]));
    found.sort(([a], [b]) => rank(a, wanted) - rank(b, wanted));
    const block = (c) => strongest(side === "row" ? [c] : rows, side === "row" ? columns : [c]).join("-");
    const lines = found.slice(0, 30).map(([name, c]) => el("tr", {}, el("th", { scope: "row" }, name),
      el("td", {}, link({ view: "blocks", block: block(c) }, {}, `${capital(clusterText(side, c))}: ${clusterName(side, c)}`))));
    return el("section", {}, el("h3", {}, `${count(found.length)} ${SIDES[side]} in clusters`),
      lines.length ? table(`${capital(SIDES[side])} in clusters`, [SIDES[side], "cluster"], lines) : null,
      found.length > 30 ? el("p", { class: "quiet" }, `The first 30 of ${count(found.length)}.`) : null);
  });
}
