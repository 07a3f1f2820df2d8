"""
Co-clusters of adjectives and nouns
===================================

Which adjectives are used alike, and with which nouns? :class:`~skcooc.SymmetricClustering` divides
both sides of a table of pairs at once. The pairs are an adjective and the noun after it in the
Brown corpus, as in figure 12 of Hofmann and Puzicha (1998), who used the LOB corpus.
"""

# %%
# Most pairs occur once. We keep the adjectives and nouns that occur at least fifteen times; with
# rarer words the clusters are more mixed.
import numpy as np

from benchmarks import corpora

X, adjectives, _, nouns = corpora.brown_pairs()
while min(X.sum(axis=0).min(), X.sum(axis=1).min()) < 15:
    rows, columns = X.sum(axis=1) >= 15, X.sum(axis=0) >= 15
    X, adjectives, nouns = X[rows][:, columns], adjectives[rows], nouns[columns]
print(f"{X.shape[0]} adjectives, {X.shape[1]} nouns, {X.sum()} pairs")

# %%
# Sixteen clusters of each; the best of ten initialisations. The mutual information is what the
# cluster of an adjective says about the cluster of its noun, in nats.
from skcooc import SymmetricClustering

model = SymmetricClustering(16, 16, n_init=10, random_state=0).fit(X)
print(f"mutual information of the clusters: {model.mutual_information_:.2f} nats")

# %%
# The table, sorted by cluster. Red blocks are pairs of clusters that occur together more often than
# expected if adjectives and nouns were independent, blue ones less often. The size of a row or
# column is its share of the pairs, and each dot is a pair of words.
import matplotlib.pyplot as plt

from skcooc.plotting import AssociationDisplay

display = AssociationDisplay.from_estimator(
    model, X, nouns, adjectives, n_features=3, sides=("adjectives", "nouns")
)
plt.show()

# %%
# Most clusters of adjectives have one cluster of nouns of their own. For each, the divergence of
# its nouns from those of all adjectives, in nats, and that cluster of nouns. Clusters at the end of
# the list go with almost every noun.
ratio = np.log(np.maximum(model.association_, 1e-9))
divergence = (model.joint_ * ratio).sum(axis=1) / model.joint_.sum(axis=1)
partner = (model.joint_ * ratio).argmax(axis=1)

for c in np.argsort(-divergence):
    own, theirs = display.rows.words[c], display.columns.words[partner[c]]
    print(f"{divergence[c]:.2f}  {', '.join(own):32} {', '.join(theirs)}")
