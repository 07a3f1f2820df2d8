"""
Trees of books and words
========================

How many kinds of books does the Bible have, and which words tell them apart? Co-clustering with
``"auto"`` finds the numbers of clusters of both sides; the merges of these clusters are a tree of
the books and a tree of the words.
"""

# %%
# The table has the 66 books of the King James Bible and their words, without words that occur in
# more than four fifths of the books, or in fewer than five.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from skcooc.datasets import load_bible

bible = load_bible()
groups = np.array(bible.groups)
books = list(dict.fromkeys(bible.groups))
texts = [" ".join(np.array(bible.data)[groups == book]) for book in books]
vectorizer = CountVectorizer(stop_words="english", min_df=5, max_df=0.8)
X = vectorizer.fit_transform(texts)
words = vectorizer.get_feature_names_out()
print(f"{X.shape[0]} books, {X.shape[1]} words, {X.sum()} tokens")

# %%
# One search finds both numbers, those with the largest integrated likelihood.
from skcooc import SymmetricClustering

model = SymmetricClustering("auto", "auto", hard=True, random_state=0).fit(X)
print(f"{model.n_row_clusters_} clusters of books, {model.n_column_clusters_} of words")

# %%
# The table, reordered by both trees. Two branches meet at the integrated likelihood, in nats, that
# is lost by all merges up to theirs, of books and of words, so that both trees have one scale. Red
# blocks are words that occur in these books more often than under independence, blue ones less
# often.
from skcooc.plotting import AssociationDisplay

AssociationDisplay.from_estimator(
    model, None, words, books, n_features=2, dendrograms=True, sides=("books", "words")
)
plt.show()

# %%
# What the last merges lose, with the numbers of clusters that are left. The losses jump where three
# clusters of words become two.
sizes = np.array(model.joint_.shape)
for merge in model.merges_:
    sizes[merge.axis] -= 1
    if sizes.sum() <= 12:
        print(f"{sizes[0]} clusters of books, {sizes[1]} of words: {merge.loss:6.0f} nats")

# %%
# The trees, cut there: poetry and prophets, the New Testament, and the law with history. Jonah is
# among the Gospels, and Revelation among the histories.
from skcooc.inspection import merge_clusters

three = merge_clusters(model, 3, 3)
for c in range(3):
    members = np.array(books)[three.row_labels_ == c]
    print(f"{len(members)} books: {', '.join(members)}\n")

# %%
# The same table at this level.
AssociationDisplay.from_estimator(
    three, None, words, books, dendrograms=True, sides=("books", "words")
)
plt.show()
