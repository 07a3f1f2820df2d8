"""
Adjectives and nouns, clustered at once
=======================================

Which adjectives are used alike, and with which nouns? The symmetric clustering model divides both
at the same time, so that the cluster of the adjective tells as much as possible about the cluster
of the noun. After figure 12 of Hofmann and Puzicha, *Statistical models for co-occurrence data*
(1998), who used the LOB corpus. Here are the pairs of the Brown corpus: an adjective and the common
noun right after it.
"""

# %%
# Most pairs were seen once, and most words in few pairs: nothing can be learned about them. We keep
# the words that occur at least ten times among those that are kept. With rarer words the groups are
# more mixed.
import numpy as np

from benchmarks import corpora

X, adjectives, _, nouns = corpora.brown_pairs()
print(f"{X.shape[0]} adjectives, {X.shape[1]} nouns, {X.sum()} pairs")

while min(X.sum(axis=0).min(), X.sum(axis=1).min()) < 10:
    rows, columns = X.sum(axis=1) >= 10, X.sum(axis=0) >= 10
    X, adjectives, nouns = X[rows][:, columns], adjectives[rows], nouns[columns]
print(f"{X.shape[0]} adjectives, {X.shape[1]} nouns, {X.sum()} pairs are kept")

# %%
# Clusters of both sides, the best of 20 random starts by the free energy, at the temperature that
# ``fit`` finds. Twenty clusters of each are a choice for the eye. What one cluster tells about the
# other, in nats:
from skcooc import SymmetricClustering

model = SymmetricClustering(20, 20, n_init=20, random_state=0).fit(X)
print(f"inverse temperature {model.beta_:.2f}, {model.mutual_information_:.3f} nats")

# %%
# The matrix, sorted by cluster. A word takes room in proportion to its pairs, so that the dots
# would be spread evenly if adjectives and nouns were independent. The colour of a block says how
# much more or less frequent its pairs are than that.
import matplotlib.pyplot as plt

from skcooc.plotting import AssociationDisplay

sides = "adjectives", "nouns"
display = AssociationDisplay.from_estimator(model, X, nouns, adjectives, sides=sides)
plt.show()

# %%
# Many groups on one side go with mainly one on the other, as the memo found: *old* and *young* with
# *man* and *woman*, *open* and *front* with *side* and *room*, *recent* and *early* with *year*.
# But many groups are mixed: with few pairs for a word, one frequent pair decides where it belongs,
# and brings in strangers. And some, such as that of *own* and *true*, go with almost everything.
# How particular a cluster of adjectives is can be measured: by the divergence of the clusters of
# its nouns from those of all adjectives, in nats.
share = model.joint_.sum(axis=1)
log_c = np.log(model.association_, out=np.zeros_like(model.joint_), where=model.joint_ > 0)
divergence = (model.joint_ * log_c).sum(axis=1) / share
partner = (model.joint_ * log_c).argmax(axis=1)

for c in np.argsort(-divergence):
    d = partner[c]
    print(
        f"{divergence[c]:.2f}  {', '.join(display.rows.words[c]):38} "
        f"{model.association_[c, d]:4.1f} x  {', '.join(display.columns.words[d])}"
    )
