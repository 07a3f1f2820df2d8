"""
Better predictions: averages and the cache
==========================================

EM depends on its initialisation. Averaging the predictions of many short fits
(:class:`~skcooc.AveragedModels`) lowers perplexity. And words that occur in a document tend to
occur there again: :class:`~skcooc.RowMemory` adds this within-document cache to any model.
"""

# %%
# A quarter of the chapters of the King James Bible. A tenth of the tokens of each is held out.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc import AspectModel, AveragedModels, Dyads, RowMemory
from skcooc.datasets import load_bible
from skcooc.metrics import perplexity, unigram
from skcooc.model_selection import split_counts

texts = load_bible().data[::4]
X = CountVectorizer(stop_words="english", min_df=3, max_df=0.25).fit_transform(texts)
train, test = split_counts(X, random_state=0)
held_out = Dyads(test)

# %%
# Without topics, one model, and an average of sixteen short fits; each without and with the cache.
models = {
    "one model": AspectModel(16, random_state=0),
    "average of 16": AveragedModels(AspectModel(16), n_jobs=2, random_state=0),
}

overall = perplexity(test, np.ones((len(texts), 1)), [unigram(train)])
scores = {"no topics": (overall, RowMemory(random_state=0).fit(train).perplexity(held_out))}
for name, model in models.items():
    cached = RowMemory(model, random_state=0).fit(train)
    scores[name] = cached.estimator_.perplexity(held_out), cached.perplexity(held_out)
for name, (alone, with_cache) in scores.items():
    print(f"{name:15} {alone:5.0f}, with cache {with_cache:5.0f}")

# %%
# The cache without topics is the baseline to beat: here it beats both models without a cache.
# Together with the cache, topics are better than the baseline, and the average is the best.
figure, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
places = np.arange(len(scores))
for shift, label, values in zip(
    (-0.19, 0.19), ("alone", "with cache"), zip(*scores.values(), strict=True), strict=True
):
    bars = ax.barh(places + shift, values, 0.36, label=label)
    ax.bar_label(bars, fmt="%.0f", padding=3)
ax.set_yticks(places, scores)
ax.invert_yaxis()
ax.set_xlabel("perplexity of held-out words (lower is better)")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower right")
plt.show()
