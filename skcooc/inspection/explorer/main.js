// Which view is shown, and where the focus is when it changes.

const VIEWS = {
  topics: [capital(nouns), topicsView],
  map: ["Map", mapView],
  documents: [capital(rowNouns), documentsView],
  ...(data.tree ? { tree: ["Tree", treeView] } : {}),
  ...(data.blocks ? { blocks: ["Blocks", blocksView] } : {}),
  about: ["About", aboutView],
};

const room = () => Math.max(280, Math.min(1100, byId("main").clientWidth));

function draw({ moved: elsewhere = false } = {}) {
  const focused = document.activeElement ? document.activeElement.id : "";
  const [label, view] = state.view === "search" ? ["Search", searchView] : VIEWS[state.view] ?? VIEWS.topics;
  clear(byId("views"), Object.entries(VIEWS).map(([key, [name]]) =>
    link({ view: key, topic: "", of: "", group: "" }, { id: `view-${key}`, "aria-current": key === state.view ? "page" : null }, name)));
  clear(byId("main"), view());
  document.title = `${state.topic !== "" && data.topics[state.topic] ? nameOf(state.topic) : label} – ${data.title}`;
  const same = focused && byId(focused);
  if (same) same.focus({ preventScroll: true });
  if (elsewhere && !(same && same.closest("header"))) {
    const heading = byId("heading") ?? byId("main");
    heading.focus({ preventScroll: true });
    if (!same || same.id !== "heading") window.scrollTo(0, 0);
  }
}

const { n_rows, n_columns, n_observations, model } = data.facts;
byId("summary").textContent = `${model}: ${plural(data.topics.length, noun)}, ${plural(n_rows, rowNoun)}, ` +
  `${plural(n_columns, "feature")}, ${plural(n_observations, "observation")}`;

byId("query").addEventListener("input", (event) => {
  keep({ view: event.target.value.trim() ? "search" : "topics", q: event.target.value });
  draw();
});
byId("search").addEventListener("submit", (event) => { event.preventDefault(); draw({ moved: true }); });
byId("skip").addEventListener("click", (event) => { event.preventDefault(); byId("main").focus(); });

function start() {
  readAddress();
  byId("query").value = state.view === "search" ? state.q : "";
  draw();
}
window.addEventListener("popstate", start);
window.addEventListener("hashchange", start);
let width = window.innerWidth;
window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; draw(); } });
start();
