// The tree of clusters: words at every node, documents at the leaves.

function treeView() {
  const children = data.tree.parents.map(() => []);
  for (const v of data.tree.order) if (data.tree.parents[v] >= 0) children[data.tree.parents[v]].push(v);
  const root = el("div", {}, node(data.tree.order[0], children, 0));
  const all = (open) => { for (const branch of root.querySelectorAll("details.inner")) branch.open = open; };
  return el("section", { class: "tree" }, el("h2", { tabindex: "-1", id: "heading" }, "Tree of clusters"),
    el("p", { class: "quiet" }, `${capital(columnNouns)} that a node generates, its share of the ${units}, and the number of ${rowNouns} below it. ${capital(rowNouns)} are at the leaves.`),
    el("div", { class: "bar" },
      el("button", { type: "button", id: "unfold", onclick: () => all(true) }, "Unfold all"),
      el("button", { type: "button", id: "fold", onclick: () => all(false) }, "Fold all")), root);
}

const rowsBelow = (v, children) => data.tree.leaves[v]?.n_rows ?? children[v].reduce((sum, child) => sum + rowsBelow(child, children), 0);

function node(v, children, depth) {
  const leaf = data.tree.leaves[v];
  const head = el("summary", { id: `node-${v}` },
    swatch(v), leaf ? el("b", {}, `Cluster ${leaf.cluster}: `) : null, el("span", {}, nameOf(v)),
    el("span", { class: "quiet" }, ` ${percent(data.topics[v].weight)}, ${rowCount(rowsBelow(v, children))}`));
  const more = el("p", { class: "words" }, topWords(v), " · ", link({ view: "topics", topic: String(v) }, {}, "more"));
  if (leaf) {
    const details = el("details", { class: "leaf" }, head, more);
    details.addEventListener("toggle", () => {
      if (details.open && details.children.length === 2) details.append(articles(leaf.rows, v));
    });
    return details;
  }
  const below = el("ul", {}, children[v].map((child) => el("li", {}, node(child, children, depth + 1))));
  return el("details", { class: "inner", open: depth < 2 }, head, more, below);
}
