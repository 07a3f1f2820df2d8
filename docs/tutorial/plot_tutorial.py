"""
Tutorial: ten minutes
=====================

From a pile of texts to topics, to predictions that can be trusted, and to a temperature and a
number of topics chosen by them. All that is printed or drawn on this page came from running it.
"""

# %%
# Counts
# ------
#
# Everything here is a table of counts: how often row i was observed together with column j. Rows
# can be documents and columns words; or users and items, adjectives and nouns, places and species.
# One such joint occurrence is an *observation*.
#
# The docstrings of NumPy, SciPy and scikit-learn are a corpus that is already installed. Every
# third of them will do.
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_docstrings

docstrings = load_docstrings()
texts, names = docstrings.data[::3], docstrings.names[::3]
vectorizer = CountVectorizer(
    stop_words="english", min_df=5, max_df=0.2, token_pattern=r"[a-zA-Z]{3,}"
)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} docstrings, {X.shape[1]} words, {X.sum()} observations")

# %%
# Counts stay counts: no tf-idf and no scaling. The models are about how often something was
# observed.
#
# Hold out observations
# ---------------------
#
# A model of co-occurrences is good if it predicts further observations of the rows it knows. So
# what is held out is a tenth of the *observations*: most documents are on both sides, with
# different words.
from skcooc.model_selection import split_counts

train, test = split_counts(X, test_size=0.1, random_state=0)
print(f"{train.sum():.0f} observations to fit, {test.sum():.0f} held out")

# %%
# A first model
# -------------
#
# The aspect model, also known as pLSA, explains every observation by one of K aspects: a document
# is a mixture of aspects, an aspect is a distribution over words.
from skcooc import AspectModel

model = AspectModel(n_components=20, random_state=0).fit(train)
print(f"inverse temperature {model.beta_:.2f}, {model.n_iter_} iterations")

# %%
# The aspects, by their most probable words:
from skcooc.inspection import top_features

topics = top_features(model, words, n_features=7)
for weight, top in list(zip(model.weights_, topics, strict=True))[:8]:
    print(f"{weight:.3f}  {', '.join(top)}")

# %%
# Is it any good?
# ---------------
#
# *Perplexity* is among how many words the model seems to guess. ``Dyads`` wraps counts as single
# observations: of the same documents, scored with the mixtures that ``fit`` found for them. The
# unigram, which knows how frequent words are and nothing of documents, is what to beat.
import numpy as np

from skcooc import Dyads
from skcooc.metrics import perplexity, unigram

alone = perplexity(test, np.ones((X.shape[0], 1)), [unigram(train)])
print(f"unigram {alone:.0f}, aspect model {model.perplexity(Dyads(test)):.0f}")

# %%
# Why a temperature
# -----------------
#
# Maximum likelihood is ``beta=1``. It overfits: both models explain the words that they were fitted
# to about equally well, but not those held out. ``beta="auto"``, the default, has tried several
# temperatures on observations that it held out itself, and then fitted all of ``train``. The weight
# of the unigram in what is scored, ``smoothing``, is chosen for each on such observations too.
from skcooc.metrics import best_smoothing

inner, validation = split_counts(train, test_size=0.1, random_state=1)
plain = AspectModel(20, beta=1.0, random_state=0).fit(inner)
s = best_smoothing(validation, plain.embedding_, plain.components_, unigram(inner))
plain = AspectModel(20, beta=1.0, smoothing=s, random_state=0).fit(train)
for name, fitted in (("beta = 1", plain), (f"beta = {model.beta_:.2f}", model)):
    print(
        f"{name:12} training words {fitted.perplexity(Dyads(train)):4.0f}, "
        f"held-out words {fitted.perplexity(Dyads(test)):4.0f}"
    )

# %%
import matplotlib.pyplot as plt

from skcooc.plotting import PerplexityDisplay

PerplexityDisplay.from_estimator(model)
plt.show()

# %%
# More about it: :doc:`/guide/annealing`.
#
# New documents
# -------------
#
# ``transform`` folds rows into the fitted model: it finds their mixtures, and leaves the aspects as
# they are.
new = vectorizer.transform(
    [
        "Solve a sparse linear system by conjugate gradients",
        "Draw samples from a gamma distribution",
    ]
)
for mixture in model.transform(new):
    first, second = np.argsort(-mixture)[:2]
    print(f"{mixture[first]:.2f} {', '.join(topics[first][:4])};  ", end="")
    print(f"{mixture[second]:.2f} {', '.join(topics[second][:4])}")

# %%
# Mixtures compare documents by what they are about:
from skcooc.inspection import nearest_rows

names = list(names)
row = next(i for i, name in enumerate(names) if name.startswith("scipy.sparse.linalg"))
distances, nearest = nearest_rows(model.embedding_, [row], 5)
print(f"nearest to {names[row]}:")
for distance, i in zip(distances[0], nearest[0], strict=True):
    print(f"  {distance:.2f}  {names[i]}")

# %%
# How many aspects?
# -----------------
#
# A search by cross-validation answers that; the temperature is searched with it, for the best one
# depends on the number of aspects.
from skcooc.model_selection import TemperatureSearchCV

search = TemperatureSearchCV(
    AspectModel(random_state=0), param_grid={"n_components": [10, 40]}, cv=3, n_jobs=2
).fit(train)
best = search.best_estimator_
print(search.best_params_, f"perplexity {best.perplexity(Dyads(test)):.0f}")

# %%
# Clusters instead of mixtures
# ----------------------------
#
# If every document belongs to one group, that is another model with the same methods, with
# ``labels_`` and ``predict`` as scikit-learn's k-means has, and with ``predict_proba``.
from skcooc import AsymmetricClustering

clusters = AsymmetricClustering(n_clusters=20, n_init=3, random_state=0).fit(train)
print(f"perplexity {clusters.perplexity(Dyads(test)):.0f}")
for cluster, top in enumerate(top_features(clusters, words, n_features=6)):
    print(f"{np.sum(clusters.labels_ == cluster):4} docstrings: {', '.join(top)}")

# %%
# Each document has one distribution over words, that of its cluster, so that twenty clusters
# predict less well than twenty aspects. They are easier to look at.
#
# Where to go on
# --------------
#
# * :doc:`/guide/index` says which model to choose.
# * :doc:`/guide/heldout` says what the perplexities mean, and what is easily done wrong.
# * :doc:`/howto/from_lda_and_nmf` has the same for those who come from there.
# * :doc:`/auto_examples/index` has pictures.
