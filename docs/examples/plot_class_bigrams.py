"""
Word classes from the words before and after
============================================

The class bigram model of Brown et al. (1992) gives every word one class, and the class of a word
predicts the class of the next word:

.. math:: P(y \\mid x) = P(y \\mid c(y)) \\, P(c(y) \\mid c(x)).

It is symmetric clustering with the same clusters on both sides (``tied=True``). The classes turn
out to be parts of speech.
"""

# %%
# The table of bigrams: how often is word y next to word x, in the same verse of the King James
# Bible? We take the 1,000 most frequent words.
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from skcooc import SymmetricClustering
from skcooc.datasets import load_bible

verses = [re.findall("[a-z]+", verse.lower()) for verse in load_bible(unit="verse").data]
words = np.array([w for w, _ in Counter(w for verse in verses for w in verse).most_common(1000)])
number = {word: i for i, word in enumerate(words)}
pairs = np.array(
    [(number[x], number[y]) for verse in verses for x, y in pairwise(verse)
     if x in number and y in number]
)  # fmt: skip
X = sp.csr_array((np.ones(len(pairs)), pairs.T), shape=(1000, 1000))

model = SymmetricClustering(16, 16, hard=True, tied=True, n_init=5, random_state=0).fit(X)
print(
    f"{len(pairs)} bigrams; mutual information of the classes {model.mutual_information_:.2f} nats"
)

# %%
# Rows are the classes of first words, columns the classes of second words. A red block is a
# succession that is more frequent than under independence, such as a preposition before *the*.
import matplotlib.pyplot as plt

from skcooc.plotting import AssociationDisplay

sides = "first word", "second word"
AssociationDisplay.from_estimator(model, None, words, words, n_features=3, sides=sides)
plt.show()

# %%
# All classes by their share of the bigrams. Possessives, prepositions, pronouns and auxiliary verbs
# have classes of their own. Nouns and verbs are divided into several, and some classes are mixed.
for c in np.argsort(-model.joint_.sum(axis=1)):
    members = words[model.labels_ == c]
    print(f"{model.joint_[c].sum():.2f} {len(members):4} words: {' '.join(members[:9])}")

# %%
# The successions that contribute most to the mutual information, with the ratio of their frequency
# to the one expected under independence.
parts = model.joint_ * np.log(np.maximum(model.association_, 1e-12))
for flat in np.argsort(-parts, axis=None)[:8]:
    c, d = np.unravel_index(flat, parts.shape)
    first, second = (" ".join(words[model.labels_ == k][:3]) for k in (c, d))
    print(f"{model.association_[c, d]:5.1f} x  {first:22} -> {second}")
