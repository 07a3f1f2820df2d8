// What the page shows, and what it leaves out.

function aboutView() {
  const f = data.facts;
  const shown = data.documents.length;
  const left = [];
  if (shown < f.n_rows - f.n_empty) {
    left.push(`Of ${rowCount(f.n_rows)}, ${count(shown)} are here: those most representative of the ${nouns}, those predicted ` +
      `best and worst, and a random sample of the others. Shares and the histogram are of all ${rowNouns}.`);
  }
  if (f.n_empty) left.push(`${rowCount(f.n_empty)} without any ${unit}: ${f.n_empty === 1 ? "it is" : "they are"} in no group, and not shown.`);
  if (f.cut) left.push(`Texts are cut after ${count(f.cut)} characters.`);
  if (f.cut === 0) left.push("There is no room for texts in a page of the size asked for.");
  if (f.too_large) left.push(`The page is larger than asked for: the ${nouns} and their most representative ${rowNouns} need that.`);
  if (f.n_features < f.n_columns) {
    left.push(`Of ${columnCount(f.n_columns)}, the search has the shares of ${count(f.n_features)}: those listed with a ${noun}, and the most frequent ones.`);
  }
  left.push(`${capital(columnNouns)} of a ${noun} are those that any place of the slider brings to the top. Those seen fewer than ` +
    `${f.least} times in a ${noun} are ranked by probability alone.`);
  for (const [side, names] of Object.entries(data.blocks ? SIDES : {})) {
    const [all, kept] = [0, 1].map((at) => data.blocks[`${side}_members`].reduce((sum, of) => sum + (at ? of[1].length : of[0]), 0));
    if (kept < all) left.push(`Of ${count(all)} ${names}, clusters list the ${count(kept)} most frequent.`);
  }
  if (data.groups && data.groups.n > data.groups.labels.length) left.push(`The largest ${data.groups.labels.length} of ${count(data.groups.n)} groups are shown.`);
  const how = [
    `The model is of the class ${f.model}. The ${rowNouns} are ${f.fitted ? "those that it was fitted to" : "new to it, and were folded in"}.`,
    data.facts.texts ? `A ${unit} is one occurrence of a ${feature}.` : null,
    `Perplexity is ${f.held_out ? "held out: half of each was folded in, and the other half scored" : "in sample"}. ` +
      `One of perplexity 100 is predicted as if each ${unit} were one of 100 equally likely ${columnNouns}.`,
    `In sample means on the ${units} that the model was fitted to, or that were folded in: new ones are predicted worse.`,
    `${capital(SHARE)}: ${lower(SHARE_MEANS)} It depends on how many ${nouns} there are: compare groups, not ${nouns}. ` +
      `${capital(LARGEST_IN)}: ${lower(LARGEST_MEANS)}`,
    `Probability of a ${feature}: its share in the ${units} of a ${noun}. Lift: this probability over that in all ${units}. ` +
      `Log-ratio: the natural logarithm of this probability over that in the other ${nouns}; 0 is as much, 0.69 twice as much.`,
    `The slider ranks by relevance (Sievert and Shirley, 2014). The map of ${nouns} shows Hellinger distances as closely as two dimensions allow; its axes have no meaning.`,
    `The colour of a ${feature} is its most probable ${noun} where it stands.`,
    "skcooc.inspection.compare_shares tests whether differences between groups are more than chance.",
    "Names that you give are kept in the address of the page: bookmark it, or export them.",
  ];
  return el("section", {}, el("h2", { tabindex: "-1", id: "heading" }, "About this page"),
    el("h3", {}, "How to read it"), el("ul", {}, how.filter(Boolean).map((line) => el("li", {}, line))),
    el("h3", {}, "How well it predicts"), errors(), el("h3", {}, "What is left out"), el("ul", {}, left.map((line) => el("li", {}, line))));
}
