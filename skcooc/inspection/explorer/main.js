// Which view is shown, and where the focus is when it changes.

const VIEWS = {
  topics: [capital(nouns), topicsView],
  ...(data.groups ? { groups: [`By ${groupNoun}`, groupsView] } : {}),
  ...(data.times?.labels.length ? { times: ["Over time", timesView] } : {}),
  documents: [capital(rowNouns), documentsView],
  ...(data.tree ? { tree: ["Tree", treeView] } : {}),
  ...(data.blocks ? { blocks: ["Blocks", blocksView] } : {}),
  about: ["About", aboutView],
};

// The width of what is inside <main>, in pixels.
function room() {
  const { paddingLeft, paddingRight } = getComputedStyle(byId("main"));
  return Math.max(280, byId("main").clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight));
}

// The width of a map, which is beside a table where the style has room for both.
const mapWidth = () => Math.floor((window.matchMedia("(max-width: 955px)").matches ? 1 : 0.46) * room());

function draw({ moved: elsewhere = false } = {}) {
  const focused = document.activeElement ? document.activeElement.id : "";
  const [label, view] = state.view === "search" ? ["Search", searchView] : VIEWS[state.view];
  clear(byId("views"), Object.entries(VIEWS).map(([key, [name]]) =>
    link({ view: key, topic: "", of: "", group: "", time: "", doc: "" }, { id: `view-${key}`, "aria-current": key === state.view ? "page" : null }, name)));
  const scrolled = document.querySelector(".list")?.scrollTop ?? 0;
  clear(byId("main"), view());
  bringIntoView(document.querySelector(".list"), scrolled);
  document.title = `${state.topic !== "" ? nameOf(state.topic) : label} – ${data.title}`;
  const same = focused && byId(focused);
  if (same) same.focus({ preventScroll: true });
  if (elsewhere && !(same && same.closest("header"))) {
    const heading = byId("heading") ?? byId("main");
    heading.focus({ preventScroll: true });
    if (!same || same.id !== "heading") window.scrollTo(0, 0);
  }
}

// The list of topics where it was scrolled to, unless the chosen one is elsewhere.
function bringIntoView(list, scrolled) {
  if (!list) return;
  list.scrollTop = scrolled;
  const chosen = list.querySelector("[aria-current]");
  if (!chosen) return;
  const [around, box] = [list.getBoundingClientRect(), chosen.getBoundingClientRect()];
  const below = box.bottom > Math.min(around.bottom, window.innerHeight);
  if (box.top < around.top || below) list.scrollTop += box.top - around.top - 150;
}

const { n_rows, n_columns, n_tokens } = data.facts;
byId("summary").textContent = `${plural(data.topics.length, noun)} · ${rowCount(n_rows)} · ` +
  `${data.facts.sides ? columnCount(n_columns) : plural(n_columns, data.facts.texts ? "different word" : feature)} · ${plural(n_tokens, unit)}`;

byId("query").placeholder = `Search ${nouns}, ${columnNouns}, ${rowNouns}`;
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
