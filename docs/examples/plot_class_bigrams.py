"""
Classes of words from the words beside them
===========================================

In the class bigram model of Brown et al. (1992) every word has one class, whether it comes first or
second, and the class of a word tells what is known about the next:

.. math:: P(y \\mid x) = P(y \\mid c(y)) \\, P(c(y) \\mid c(x)).

It is symmetric clustering with both sides tied. Words are moved from class to class, one at a time,
as long as the mutual information of neighbouring classes grows.
"""

# %%
# The bigrams of the King James Bible among its 2000 most frequent words. Punctuation marks are left
# out, and the bigrams with one: they would be a class of their own, the most frequent.
import numpy as np

from benchmarks import corpora
from skcooc import SymmetricClustering

X, words, _, _ = corpora.bible()
spelt = np.array([word[0].isalpha() for word in words])
X, words = X[spelt][:, spelt], words[spelt]
among = X[:2000, :2000]
words = words[:2000]
print(f"{among.sum() / X.sum():.0%} of the bigrams of words")

model = SymmetricClustering(24, 24, hard=True, tied=True, n_init=5, random_state=0).fit(among)
print(f"{model.mutual_information_:.3f} nats")

# %%
# The classes, by their share of the bigrams. They are parts of speech, though nobody told the model
# what a verb is: prepositions, conjunctions, pronouns as subjects and as objects, auxiliary verbs,
# numbers. Nouns and verbs are divided into several classes, and rare words are put where they
# happen to fit: *nebuchadrezzar* is beside *the*, for *king* comes after both.
members = [words[model.labels_ == c] for c in range(24)]  # most frequent first, as all words
for c in np.argsort(-model.joint_.sum(axis=1)):
    print(f"{model.joint_[c].sum():.3f} {len(members[c]):4} words: {' '.join(members[c][:12])}")

# %%
# Rows are the classes of first words, columns those of second words, in another order: each comes
# where the class of first words comes that it has most to do with. Much of what is blue is what
# grammar forbids, such as *the* before *of*.
import matplotlib.pyplot as plt

from skcooc.plotting import AssociationDisplay

AssociationDisplay.from_estimator(model, None, words, words, n_features=3)
plt.show()

# %%
# The successions that make up most of the information:
parts = model.joint_ * np.log(np.maximum(model.association_, 1e-12))
for flat in np.argsort(-parts, axis=None)[:12]:
    c, d = np.unravel_index(flat, parts.shape)
    first, second = (" ".join(members[k][:4]) for k in (c, d))
    print(f"{parts[c, d]:.3f} nats, {model.association_[c, d]:5.1f} x  {first:32} -> {second}")
