"""
Documents in a plane, and features for a classifier
===================================================

:class:`~skcooc.MixtureFeatures` turns thousands of word counts into a few features without labels:
the square roots of the topic mixture of a document. They are drawn in two dimensions, and given to
a classifier with few labelled documents.
"""

# %%
# Which section of the King James Bible is a chapter from? One half of the chapters trains the topic
# model; the other half is used for the picture and for the test.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from skcooc import AspectModel, MixtureFeatures
from skcooc.datasets import load_bible

bible = load_bible()
sections = np.array(bible.sections)
X = CountVectorizer(stop_words="english", min_df=5, max_df=0.25).fit_transform(bible.data)
train, test, y_train, y_test = train_test_split(X, sections, test_size=0.5, random_state=0)

features = MixtureFeatures(AspectModel(20, random_state=0)).fit(train)
Z_train, Z_test = features.transform(train), features.transform(test)
print(f"{X.shape[1]} words, {Z_train.shape[1]} features")

# %%
# Each dot is a chapter that the model has not seen. The plane is a linear discriminant analysis of
# the features, trained on the other half.
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

plane = LinearDiscriminantAnalysis(n_components=2).fit(Z_train, y_train).transform(Z_test)
figure, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
for section in dict.fromkeys(sections):
    ax.scatter(*plane[y_test == section].T, s=14, alpha=0.8, label=section)
ax.set_axis_off()
figure.legend(frameon=False, fontsize=10, loc="outside right center")
plt.show()

# %%
# Accuracy of a logistic regression over the number of labelled chapters. Latent semantic analysis
# with as many features has seen the same texts.
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

analysis = make_pipeline(TfidfTransformer(sublinear_tf=True), TruncatedSVD(20, random_state=0))
analysis.fit(train)
methods = {
    "MixtureFeatures": (Z_train, Z_test),
    "latent semantic analysis": (analysis.transform(train), analysis.transform(test)),
}
sizes = [20, 50, 100, 200, len(y_train)]
figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, (of_train, of_test) in methods.items():
    accuracy = [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        .fit(of_train[:n], y_train[:n])
        .score(of_test, y_test)
        for n in sizes
    ]
    print(f"{name:25}", *(f"{a:.3f}" for a in accuracy))
    ax.plot(sizes, accuracy, "o-", label=name)
ax.set(xscale="log", xlabel="labelled chapters", ylabel="accuracy")
ax.set_xticks(sizes, sizes)
ax.minorticks_off()
ax.legend(frameon=False)
plt.show()

# %%
# In this split latent semantic analysis is better from 50 labelled chapters on, and it is cheaper.
# How both compare on other collections: :doc:`/howto/features`.
