"""
What rows repeat, and what topics add to it
===========================================

Much of what is held out of a text is words that the text has already. A line that only remembers
these tells how much of a perplexity is owed to topics. :class:`~skcooc.RowMemory` is that line, and
it goes around any model.
"""

# %%
# Every sixth of the docstrings of NumPy, SciPy and scikit-learn; a fifth of the words is held out.
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings
from skcooc.model_selection import split_counts

texts = load_docstrings().data[::6]
vectorizer = CountVectorizer(stop_words="english", min_df=5, token_pattern=r"[a-zA-Z]{3,}")
train, test = split_counts(vectorizer.fit_transform(texts), test_size=0.2, random_state=0)

# %%
# Four predictions: frequencies of words, clusters, aspects, and the mean of the last two, with
# weights that are found on what is held out inside ``fit``. Each is scored alone and with a memory.
import numpy as np

from skcooc import AspectModel, AsymmetricClustering, Dyads, InterpolatedModels, RowMemory
from skcooc.metrics import perplexity, unigram

aspects, clusters = AspectModel(16, random_state=0), AsymmetricClustering(16, random_state=0)
both = InterpolatedModels([("aspects", aspects), ("clusters", clusters)], random_state=0)
models = {"words alone": None, "clusters": clusters, "aspects": aspects, "their mean": both}
figures = {"words alone": [perplexity(test, np.ones((len(texts), 1)), [unigram(train)])]}
for name, model in models.items():
    memory = RowMemory(model, random_state=0).fit(train)
    if model is not None:
        figures[name] = [memory.estimator_.perplexity(Dyads(test))]
    figures[name].append(memory.perplexity(Dyads(test)))
    print(f"{name:11} {figures[name][0]:4.0f}, with memory {figures[name][1]:4.0f}")

# %%
# The light bar of "words alone" is the unigram, the dark one the line without topics. Alone, every
# model is behind this line here. With a memory they are ahead of it, and this is what they add.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
for place, (alone, remembered) in enumerate(figures.values()):
    ax.barh(place - 0.2, alone, 0.36, color="C0", alpha=0.5, label=None if place else "alone")
    ax.barh(place + 0.2, remembered, 0.36, color="C0", label=None if place else "with memory")
ax.axvline(figures["words alone"][1], color="C3", linewidth=1, label="no topics, with memory")
ax.set_yticks(range(len(figures)), figures)
ax.invert_yaxis()
ax.set_xlabel("perplexity of held-out words")
ax.legend(frameon=False)
plt.show()
