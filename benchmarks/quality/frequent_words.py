"""Which words are in too many documents? The default of ``python -m skcooc --max-df``, apart.

It was chosen on other texts than these. The same observations are held out whatever is left out,
and words that are in more than a tenth of the documents are not scored: what is scored is
P(y given x) among all others, so that the vocabularies can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import mean, stdev
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from benchmarks import corpora, reporting
from skcooc import AspectModel
from skcooc.cli.texts import WORD
from skcooc.metrics import npmi_coherence, perplexity, unigram
from skcooc.model_selection import split_counts

TEXTS: dict[str, Callable[[], list[str]]] = {
    "Reuters": corpora.reuters_texts,
    "Bible, chapters": corpora.bible_chapters,
}
LIMITS = 0.1, 0.25, 0.5, 1.0
SCORED = 0.1  # largest share of documents
N_TOP = 10


def among(model: AspectModel, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of what a model predicts of rows, given that it is one of these columns.

    The unigram, which smooths the model, is one component more.
    """
    s = model.smoothing_
    mixtures = np.hstack([(1 - s) * model.embedding_, np.full((len(model.embedding_), 1), s)])
    components = np.vstack([model.components_, model.unigram_])[:, columns]
    mass = components.sum(axis=1)
    mixtures = mixtures * mass
    return mixtures / mixtures.sum(axis=1, keepdims=True), components / mass[:, None]


def measured(X: sp.csr_array, limit: float, n_components: int, seed: int) -> tuple[float, float]:
    """Perplexity of the words that all limits leave, and the coherence of the topics."""
    share = np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0]
    kept = share <= limit
    train, test = (part[:, kept] for part in split_counts(X, 0.1, seed))
    model = AspectModel(n_components, random_state=seed, n_jobs=1).fit(train)
    scored = share[kept] <= SCORED
    found = perplexity(test[:, scored], *among(model, scored))
    return found, float(npmi_coherence(model.components_, X[:, kept], n_features=N_TOP).mean())


def without_topics(X: sp.csr_array, seed: int) -> float:
    """Perplexity of the same words by their frequencies alone."""
    scored = np.bincount(X.indices, minlength=X.shape[1]) / X.shape[0] <= SCORED
    train, test = (part[:, scored] for part in split_counts(X, 0.1, seed))
    return perplexity(test, np.ones((X.shape[0], 1)), unigram(train)[None])


def rows(texts: list[str], n_components: int, n_seeds: int) -> Iterator[dict[str, Any]]:
    """Means and standard deviations over splits, which are also the seeds of the models."""
    counter = CountVectorizer(stop_words="english", token_pattern=WORD, min_df=5)
    X = sp.csr_array(counter.fit_transform(TEXTS[texts]()), dtype=float)
    none = [without_topics(X, seed) for seed in range(n_seeds)]
    yield {"texts": texts, "max_df": "no topics", "perplexity": mean(none), "sd": stdev(none)}
    for limit in LIMITS:
        found = [measured(X, limit, n_components, seed) for seed in range(n_seeds)]
        scores, coherences = zip(*found, strict=True)
        reporting.progress(texts, limit)
        yield {
            "texts": texts,
            "max_df": limit,
            "perplexity": mean(scores),
            "sd": stdev(scores),
            "coherence": mean(coherences),
            "sd of coherence": stdev(coherences),
        }


def main() -> None:
    parser = reporting.options(str(__doc__))
    parser.add_argument("--texts", choices=TEXTS, nargs="+", default=list(TEXTS))
    parser.add_argument("--components", type=int, default=32)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    asked = options.components, options.seeds
    found = (row for texts in options.texts for row in rows(texts, *asked))
    reporting.print_table(
        reporting.collect(found, options.output, reporting.given(options), "limits")
    )


if __name__ == "__main__":
    main()
