"""
Strange documents
=================

Which documents do not belong to a collection? A model that has been fitted to the collection knows:
those that it holds unlikely, as a whole. Abstracts on aerodynamics, from Cranfield, and a few from
the machine learning conference NeurIPS, which use many of the same words.
"""

# %%
# Words are those of the Cranfield abstracts, so that none is strange in itself, and documents with
# at least 20 of them. A fifth of the usual documents is new, and the others are fitted. For seven
# new ones that are usual there is one that is strange. In a second round as many more are among the
# documents fitted, as where nobody has sorted them out.
import numpy as np

from benchmarks import corpora

X, titles, is_strange, words = corpora.cranfield_and_neurips()
long = np.flatnonzero(X.sum(axis=1) >= 20)
X, titles, is_strange = X[long].astype(float), titles[long], is_strange[long]
print(f"{sum(is_strange == 0)} usual documents, {sum(is_strange)} strange ones, {len(words)} words")


def divided(seed):
    """Positions of documents fitted, of strange ones to be put among them, and of new ones."""
    rng = np.random.default_rng(seed)
    usual, strange = (rng.permutation(np.flatnonzero(is_strange == c)) for c in (0, 1))
    n, m = len(usual) // 5, len(usual) // 35
    return usual[n:], strange[m : 2 * m], np.concatenate([usual[:n], strange[:m]])


# %%
# How likely is a new document? ``row_log_likelihood`` takes it as a whole, and sums over what is
# not known of it: its cluster, or its mixture of aspects. Long documents are less likely than short
# ones, so the figure is divided by the number of words. ``score_samples`` folds in one half of
# the words and asks how well the other half follows. For comparison: the same probabilities of
# words for all documents; the bound of scikit-learn's LDA, on whole documents too; and an
# isolation forest, on shares of the words.
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.ensemble import IsolationForest

from skcooc import AspectModel, AsymmetricClustering


def scores_of(known, new, seed):
    """Nats for each word of the new documents, or what a method has in their place."""
    n = new.sum(axis=1)
    models = {"aspects": AspectModel(16), "clusters": AsymmetricClustering(16)}
    for name, model in models.items():
        model.set_params(random_state=seed).fit(known)
        yield f"{name}, whole row", model.row_log_likelihood(new) / n
        yield f"{name}, completion", model.score_samples(new)
    yield "frequencies of words", new @ np.log(model.unigram_) / n
    lda = LatentDirichletAllocation(16, doc_topic_prior=0.5, topic_word_prior=0.2)
    lda.set_params(random_state=seed).fit(known)
    of_topics = lda.score(np.zeros((1, new.shape[1])))  # a part of all bounds
    bounds = np.array([lda.score(new[[i]]) for i in range(new.shape[0])]) - of_topics
    yield "LDA, bound", bounds / n
    forest = IsolationForest(random_state=seed)
    shares, new_shares = (counts / counts.sum(axis=1)[:, None] for counts in (known, new))
    yield "isolation forest", forest.fit(shares).score_samples(new_shares)


# %%
# The area under the ROC curve: how often a strange document has less than a usual one. Mean and
# standard deviation over three seeds.
from collections import defaultdict

from sklearn.metrics import roc_auc_score

areas = {"strange ones are all new": defaultdict(list), "some are fitted": defaultdict(list)}
for seed in range(3):
    usual, strange, new = divided(seed)
    for kind, known in zip(areas, (usual, np.concatenate([usual, strange])), strict=True):
        for name, scores in scores_of(X[known], X[new], seed):
            areas[kind][name].append(roc_auc_score(is_strange[new], -scores))
            if (kind, name, seed) == ("strange ones are all new", "aspects, whole row", 0):
                shown = new, scores

for kind, of_methods in areas.items():
    print(kind)
    for name, values in of_methods.items():
        print(f"  {name:22} {np.mean(values):.3f} ± {np.std(values):.3f}")

# %%
# Where all documents fitted are usual, a whole row says more than half of one. Aspects, clusters
# and LDA, which know what goes with what, do better than frequencies of words, and far better than
# the forest. Where strange documents are among those fitted, it is the other way round: they get an
# aspect or a cluster of their own, and the prior of whole rows has them, which makes others like
# them likely. Frequencies of words cannot do that. So fit what is known to be usual; where that is
# not known, look at frequencies.
#
# To the left are the new documents of the first seed, with aspects of usual ones.
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
new, scores = shown
for kind, label in enumerate(("usual", "strange")):
    some = is_strange[new] == kind
    left.plot(X[new[some]].sum(axis=1), scores[some], ".", label=label)
    extreme = new[some][scores[some].argmin() if kind == 0 else scores[some].argmax()]
    print(f"{label}, but least so: {titles[extreme]}")
left.set(xlabel="words", ylabel="aspects, whole row: nats for each word")
left.legend(frameon=False)
for place, (kind, of_methods) in enumerate(areas.items()):
    for row, values in enumerate(of_methods.values()):
        places = np.full(3, row + 0.15 * (2 * place - 1))
        right.plot(values, places, ".", color=f"C{2 + place}", label=None if row else kind)
right.set_yticks(range(len(of_methods)), of_methods)
right.invert_yaxis()
right.set(xlabel="area under the ROC curve")
right.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()
