"""
Documents in a plane, and features for a classifier
===================================================

:class:`~skcooc.MixtureFeatures` turns counts into a few features, without labels: square roots of
mixtures that are folded in at a lower inverse temperature. Two pictures: where docstrings lie, and
how well a classifier tells their libraries.
"""

# %%
# Every third of the docstrings of NumPy, SciPy and scikit-learn, one half to learn from.
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from skcooc import AspectModel, MixtureFeatures
from skcooc.datasets import load_docstrings

docstrings = load_docstrings()
libraries = np.array([name.split(".")[0] for name in docstrings.names[::3]])
vectorizer = CountVectorizer(
    stop_words=["numpy", "scipy", "sklearn"], min_df=5, max_df=0.2, token_pattern=r"[a-zA-Z]{3,}"
)
X = vectorizer.fit_transform(docstrings.data[::3])
train, test, y_train, y_test = train_test_split(X, libraries, test_size=0.5, random_state=0)

features = MixtureFeatures(AspectModel(20, random_state=0)).fit(train)
Z_train, Z_test = features.transform(train), features.transform(test)
print(f"{X.shape[1]} words, {Z_train.shape[1]} features")

# %%
# The two main directions of these features, of documents that were not fitted.
import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

plane = PCA(2).fit(Z_train).transform(Z_test)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for library in np.unique(libraries):
    ax.plot(*plane[y_test == library].T, ".", alpha=0.6, label=library)
ax.set(xticks=[], yticks=[])
ax.legend(frameon=False)
plt.show()

# %%
# A logistic regression with few and with many labelled docstrings: on the features, and on as many
# of latent semantic analysis, which has seen the same texts.
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

analysis = make_pipeline(TfidfTransformer(sublinear_tf=True), TruncatedSVD(20, random_state=0))
analysis.fit(train)
sides = {
    "MixtureFeatures": (Z_train, Z_test),
    "latent semantic analysis": (analysis.transform(train), analysis.transform(test)),
}
sizes = [20, 50, 100, 200, train.shape[0]]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, (of_train, of_test) in sides.items():
    accuracy = [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        .fit(of_train[:n], y_train[:n])
        .score(of_test, y_test)
        for n in sizes
    ]
    print(name, *(f"{a:.3f}" for a in accuracy))
    ax.plot(sizes, accuracy, "o-", label=name)
ax.set(xscale="log", xlabel="labelled docstrings", ylabel="accuracy")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# One division of one collection says little about which is better. :doc:`/howto/features` has
# figures of others: there latent semantic analysis is level or ahead, and cheaper.
